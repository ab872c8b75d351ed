package benchmarks

import (
	"bytes"
	"image"
	"image/jpeg"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/image/draw"

	"github.com/planktonml/plankton/pipeline/ops"
)

// BenchmarkLoop is the train workload as Go programs write it today: decode
// with the standard library, crop and resize with x/image, normalise in a loop.
// One goroutine as most examples have it, and one per processor.
func BenchmarkLoop(b *testing.B) {
	files, err := filepath.Glob(filepath.Join(data(b, "imagenet-sample"), "*.JPEG"))
	if err != nil || len(files) == 0 {
		b.Fatal("no JPEG files", err)
	}
	for _, w := range []struct {
		name    string
		workers int
	}{{"train-1", 1}, {"train-all", runtime.GOMAXPROCS(0)}} {
		b.Run(w.name, func(b *testing.B) {
			b.ReportAllocs()
			var wg sync.WaitGroup
			for k := range w.workers {
				wg.Go(func() {
					batch := make([]float32, batchSize*3*224*224)
					rnd := rand.New(rand.NewPCG(1, uint64(k)))
					for i := k; i < b.N; i += w.workers {
						row := i / w.workers % batchSize
						if err := loopSample(batch[row*3*224*224:][:3*224*224], files[rnd.IntN(len(files))], rnd); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "images/s")
		})
	}
}

func loopSample(dst []float32, file string, rnd *rand.Rand) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	img, err := jpeg.Decode(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	r := img.Bounds()
	w, h := max(1, int(float64(r.Dx())*(0.3+0.7*rnd.Float64()))), max(1, int(float64(r.Dy())*(0.3+0.7*rnd.Float64())))
	x, y := rnd.IntN(r.Dx()-w+1), rnd.IntN(r.Dy()-h+1)
	out := image.NewRGBA(image.Rect(0, 0, 224, 224))
	draw.BiLinear.Scale(out, out.Bounds(), img, image.Rect(x, y, x+w, y+h), draw.Src, nil)
	mirror := rnd.IntN(2) == 1
	for c := range 3 {
		for y := range 224 {
			for x := range 224 {
				from := x
				if mirror {
					from = 223 - x
				}
				v := float32(out.Pix[out.PixOffset(from, y)+c])
				dst[(c*224+y)*224+x] = (v - float32(ops.ImageNetMean[c])) / float32(ops.ImageNetStd[c])
			}
		}
	}
	return nil
}
