package nvjpeg_test

import (
	"errors"
	"image"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/jpeg"
	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/cudatest"
	"github.com/planktonml/plankton/streams/cuda/nvjpeg"
)

// TestPixelsOnAGPU compares the library's pixels with those of libjpeg-turbo, which
// package internal/jpeg has to the bit. PLANKTON_CUDA=1 makes it a failure that there
// is no GPU.
func TestPixelsOnAGPU(t *testing.T) {
	d := cudatest.OpenGPU(t, cuda.Options{})
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	for _, backend := range []nvjpeg.Backend{nvjpeg.Default, nvjpeg.Hybrid, nvjpeg.GPUHybrid} {
		dec, err := nvjpeg.Open(d, nvjpeg.Options{Backend: backend})
		if errors.Is(err, nvjpeg.ErrNoNVJPEG) {
			t.Skip(err)
		}
		require.NoError(t, err)
		t.Logf("%s, backend %d", dec.Name(), backend)
		comparePixels(t, d, dec)
		require.NoError(t, dec.Close())
	}
}

// pictures returns files of ordinary kinds: made up ones, and those of the data set
// where PLANKTON_DATA says that there is one.
func pictures(t *testing.T) map[string][]byte {
	files := map[string][]byte{
		"grey":   encode(t, 67, 129, true),
		"colour": encode(t, 240, 321, false),
		"tiny":   encode(t, 1, 1, false),
	}
	root := os.Getenv("PLANKTON_DATA")
	if root == "" {
		return files
	}
	const most = 60
	require.NoError(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if ext := strings.ToLower(filepath.Ext(path)); err != nil || e.IsDir() || len(files) > most || ext != ".jpg" && ext != ".jpeg" {
			return err
		}
		files[path], err = os.ReadFile(path)
		return err
	}))
	return files
}

// comparePixels decodes all files in one batch and states how far they may be from
// the host's.
func comparePixels(t *testing.T, d *cuda.Device, dec *nvjpeg.Decoder) {
	t.Helper()
	const most, mean = 4, 2.0 // levels
	var batch []nvjpeg.Picture
	var names []string
	var want [][]byte
	var full []bool // chroma at full resolution, or none
	var host jpeg.Decoder
	for name, file := range pictures(t) {
		h, err := host.Header(file)
		if err != nil || h.Space != jpeg.Gray && h.Space != jpeg.YCbCr {
			continue
		}
		pixels := make([]byte, h.Height*h.Width*3)
		if err := host.Pixels(pixels, h.Width*3, file, image.Rect(0, 0, h.Width, h.Height), jpeg.FormatRGB); err != nil || host.Damage() != nil {
			continue
		}
		mem, err := d.Memory().Alloc(len(pixels))
		require.NoError(t, err)
		defer d.Memory().Free(mem)
		batch = append(batch, nvjpeg.Picture{File: file, H: h.Height, W: h.Width, Pixels: mem})
		names, want = append(names, name), append(want, pixels)
		full = append(full, h.Components == 1 || h.Sampling[0] == h.Sampling[1] && h.Sampling[0] == h.Sampling[2])
	}
	s := cudatest.Stream(t, d)
	require.NoError(t, decode(t, s, dec, nvjpeg.RGB, batch))
	for i, p := range batch {
		if errors.Is(p.Err, errors.ErrUnsupported) {
			t.Logf("%s: %v", names[i], p.Err)
			continue
		}
		require.NoError(t, p.Err, names[i])
		largest, sum := 0, 0
		for k, v := range cudatest.Download(t, s, p.Pixels) {
			diff := int(v) - int(want[i][k])
			diff = max(diff, -diff)
			largest, sum = max(largest, diff), sum+diff
		}
		average := float64(sum) / float64(len(want[i]))
		t.Logf("%s: largest difference %d, on average %.3f", names[i], largest, average)
		require.LessOrEqual(t, average, mean, names[i])
		if full[i] {
			require.LessOrEqual(t, largest, most, names[i])
		}
	}
}
