package gpu

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/nvjpeg"
)

// photographs writes files that cost a decoder about what photographs of 500×375 do:
// soft shapes with noise.
func photographs(t *testing.T, files int) (dir string, bytesPerFile int) {
	rng := rand.New(rand.NewPCG(3, 3))
	w, h := 500, 375
	picture := image.NewRGBA(image.Rect(0, 0, w, h))
	for i := range w * h {
		x, y := float64(i%w), float64(i/w)
		noise := rng.Float64() * 24
		picture.SetRGBA(i%w, i/w, color.RGBA{
			uint8(110 + 100*math.Sin(x/23+y/41) + noise), uint8(110 + 100*math.Sin(x/37-y/29) + noise), uint8(110 + 100*math.Cos(x/61+y/17) + noise), 255,
		})
	}
	var file bytes.Buffer
	require.NoError(t, jpeg.Encode(&file, picture, &jpeg.Options{Quality: 90}))
	dir = t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "all"), 0o777))
	for i := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "all", fmt.Sprintf("%05d.jpg", i)), file.Bytes(), 0o666))
	}
	return dir, file.Len()
}

// TestImages compares pipelines for training with and without the GPU. All take a random
// region of the picture and make 224×224 float32 of it. Where there is no nvJPEG, nothing is
// decoded on the GPU.
func TestImages(t *testing.T) {
	d := open(t, cuda.Primary)
	dir, perFile := photographs(t, size(1024, 16))
	decoder, err := nvjpeg.New(nvjpeg.Options{})
	if err == nil {
		defer func() { require.NoError(t, decoder.Close()) }()
	} else {
		require.ErrorIs(t, err, nvjpeg.ErrNoNVJPEG)
	}
	normalise := func(g *pipeline.Graph) ops.CropMirrorNormalizeOptions {
		return ops.CropMirrorNormalizeOptions{Mean: ops.ImageNetMean, Std: ops.ImageNetStd, Mirror: ops.CoinFlip(g, 0.5)}
	}
	small := ops.ResizeOptions{Height: 224, Width: 224}
	square := func(g *pipeline.Graph, file pipeline.Value) pipeline.Value {
		return ops.Crop(g, ops.DecodeImage(g, file, ops.DecodeOptions{}), ops.CropOptions{Height: 352, Width: 352, PosX: ops.Uniform(g, 0, 1)})
	}
	for _, c := range []struct {
		name  string
		line  string // of the table, "" for none
		image func(g *pipeline.Graph, file pipeline.Value) pipeline.Value
	}{
		{"squares, all on the host", "", func(g *pipeline.Graph, file pipeline.Value) pipeline.Value {
			return ops.CropMirrorNormalize(g, ops.Resize(g, square(g, file), small), normalise(g))
		}},
		{"squares, normalise on the GPU", "", func(g *pipeline.Graph, file pipeline.Value) pipeline.Value {
			return ops.DeviceCropMirrorNormalize(g, ops.ToDevice(g, ops.Resize(g, square(g, file), small)), normalise(g))
		}},
		{"squares, resize and normalise on the GPU", "", func(g *pipeline.Graph, file pipeline.Value) pipeline.Value {
			return ops.DeviceCropMirrorNormalize(g, ops.DeviceResize(g, ops.ToDevice(g, square(g, file)), small), normalise(g))
		}},
		{"random crops, all on the host", "images-host", func(g *pipeline.Graph, file pipeline.Value) pipeline.Value {
			return ops.CropMirrorNormalize(g, ops.Resize(g, ops.DecodeRandomCrop(g, file, ops.RandomCropOptions{}), small), normalise(g))
		}},
		{"random crops, decode, resize and normalise on the GPU", "images-device", func(g *pipeline.Graph, file pipeline.Value) pipeline.Value {
			o := ops.DeviceDecodeResizeOptions{Resize: small, Decoder: decoder}
			return ops.DeviceCropMirrorNormalize(g, ops.DeviceDecodeResize(g, file, o), normalise(g))
		}},
	} {
		if c.line == "images-device" && decoder == nil {
			on.NotRun(t, c.line, err)
			continue
		}
		p, err := pipeline.New(pipeline.Options{BatchSize: size(64, 4), Device: d, StreamPolicy: streams.PerBackend}, func(g *pipeline.Graph) {
			file, _ := readers.File(g, readers.FileOptions{Root: dir, Shuffle: true})
			g.Output("image", c.image(g, file))
		})
		require.NoError(t, err)
		l, err := iterator.New(iterator.Options{}, p)
		require.NoError(t, err)
		images, began := 0, time.Now()
		for epoch := 0; epoch < size(3, 2) || time.Since(began) < time.Duration(size(5, 0))*time.Second; epoch++ {
			if epoch == 1 { // the first one warms up
				images, began = 0, time.Now()
			}
			for b, err := range l.Epoch(t.Context()) {
				require.NoError(t, err)
				images += b.NumValid()
			}
		}
		figures := fmt.Sprintf("%.0f images/s on %d processors, JPEG files of %d bytes", float64(images)/time.Since(began).Seconds(), runtime.GOMAXPROCS(0), perFile)
		fmt.Printf("images, %s: %s\n", c.name, figures)
		if c.line != "" {
			on.Judge(t, c.line, images > 0, "%s", figures)
		}
		require.NoError(t, l.Close())
	}
}
