package benchmarks

import (
	"archive/tar"
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/alloctest"
	"github.com/planktonml/plankton/internal/workload"
	"github.com/planktonml/plankton/pipeline"
)

// From the file to the loop's body and back a warm pipeline allocates nothing: not
// once in a batch of 64 pictures, over epochs. There is one worker, so that none
// meets its largest crop late. (The rows of decode still grow now and then.)
func TestWarmLoadersAllocateNothing(t *testing.T) {
	dir := t.TempDir()
	for i := range 96 {
		writePhoto(t, filepath.Join(dir, fmt.Sprintf("%d.jpeg", i)), 60+i%7, 50+i%5)
	}
	for _, of := range [][2]string{{"train", dir}, {"strong", dir}, {"eval", dir}, {"cifar", dir}, {"train", packed(t, dir)}} {
		for _, exact := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, %s, exact RGB %t", of[0], filepath.Base(of[1]), exact), func(t *testing.T) {
				l := open(t, workload.Config{
					Name: of[0], Data: of[1], Size: 32, Options: pipeline.Options{BatchSize: batchSize, Workers: 1, ExactRGB: exact},
				})
				next, stop := iter.Pull2(l.Epochs(t.Context(), 1<<30))
				defer stop()
				step := func() {
					if _, err, _ := next(); err != nil {
						panic(err)
					}
				}
				for range 20 {
					step()
				}
				alloctest.None(t, 20, step)
			})
		}
	}
}

// packed returns a tar archive of the files of a folder.
func packed(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shard.tar")
	f, err := os.Create(path)
	require.NoError(t, err)
	w := tar.NewWriter(f)
	require.NoError(t, w.AddFS(os.DirFS(dir)))
	require.NoError(t, w.Close())
	require.NoError(t, f.Close())
	return path
}

// writePhoto writes a picture with smooth colours.
func writePhoto(t *testing.T, path string, w, h int) {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.SetRGBA(x, y, color.RGBA{uint8(3 * x), uint8(4 * y), uint8(x * y / 16), 255})
		}
	}
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, m, nil))
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
}
