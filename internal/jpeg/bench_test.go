package jpeg

import (
	"image"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/planktonml/plankton/internal/datatest"
)

// processCPU returns the CPU time that the process has used, where it is known: on a
// busy machine it says more than the clock.
var processCPU = func() time.Duration { return 0 }

// benchmarkFiles runs f over files, all in each iteration.
func benchmarkFiles(b *testing.B, files [][]byte, f func(data []byte, i int)) {
	var bytes int64
	for i, data := range files {
		bytes += int64(len(data))
		f(data, i)
	}
	b.SetBytes(bytes)
	b.ReportAllocs()
	cpu := processCPU()
	for b.Loop() {
		for i, data := range files {
			f(data, i)
		}
	}
	images := float64(b.N * len(files))
	if cpu = processCPU() - cpu; cpu > 0 {
		b.ReportMetric(float64(cpu.Nanoseconds())/1000/images, "cpu-µs/image")
	}
	b.ReportMetric(images/b.Elapsed().Seconds(), "images/s")
}

// workload is files and regions of them.
type workload struct {
	name    string
	files   [][]byte
	regions []image.Rectangle
}

// workloads are the sample photographs, whole and as random resized crops (8 to 100 %
// of the area, aspect ratio 3/4 to 4/3), and small pictures.
func workloads(b *testing.B) []workload {
	_, photographs := datatest.Photographs(b)
	whole := workload{name: "whole", files: photographs}
	crop := workload{name: "crop", files: photographs}
	small := workload{name: "small", files: smallPictures(b, 2000)}
	r := rand.New(rand.NewPCG(1, 1))
	for _, data := range photographs {
		h, err := new(Decoder).Header(data)
		if err != nil {
			b.Fatal(err)
		}
		whole.regions = append(whole.regions, image.Rect(0, 0, h.Width, h.Height))
		crop.regions = append(crop.regions, randomCrop(r, h.Width, h.Height))
	}
	for range small.files {
		small.regions = append(small.regions, image.Rect(0, 0, 32, 32))
	}
	return []workload{whole, crop, small}
}

func randomCrop(r *rand.Rand, width, height int) image.Rectangle {
	for range 10 {
		area := (0.08 + 0.92*r.Float64()) * float64(width*height)
		aspect := math.Exp((2*r.Float64() - 1) * math.Log(4.0/3))
		w, h := int(math.Sqrt(area*aspect)+0.5), int(math.Sqrt(area/aspect)+0.5)
		if w <= width && h <= height {
			return image.Rect(0, 0, w, h).Add(image.Pt(r.IntN(width-w+1), r.IntN(height-h+1)))
		}
	}
	return image.Rect(0, 0, width, height)
}

func BenchmarkHeader(b *testing.B) {
	_, files := datatest.Photographs(b)
	var d Decoder
	benchmarkFiles(b, files, func(data []byte, _ int) {
		if _, err := d.Header(data); err != nil {
			b.Fatal(err)
		}
	})
	b.SetBytes(0) // it reads but the start of each file
}

func BenchmarkPlanes(b *testing.B) {
	for _, w := range workloads(b) {
		b.Run(w.name, func(b *testing.B) {
			var d Decoder
			var p Planes
			benchmarkFiles(b, w.files, func(data []byte, i int) {
				if err := d.Planes(&p, data, w.regions[i], 1); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

func BenchmarkRGB(b *testing.B) {
	for _, w := range workloads(b) {
		b.Run(w.name, func(b *testing.B) {
			var d Decoder
			var pix []byte
			benchmarkFiles(b, w.files, func(data []byte, i int) {
				r := w.regions[i]
				pix = grow(pix, 3*r.Dx()*r.Dy())
				if err := d.RGB(pix, 3*r.Dx(), data, r); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

// BenchmarkReducedPlanes decodes at 1/2, 1/4 and 1/8 of the size.
func BenchmarkReducedPlanes(b *testing.B) {
	w := workloads(b)[0]
	for _, reduce := range []int{2, 4, 8} {
		b.Run(strconv.Itoa(reduce), func(b *testing.B) {
			var d Decoder
			var p Planes
			benchmarkFiles(b, w.files, func(data []byte, i int) {
				if err := d.Planes(&p, data, w.regions[i], reduce); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}
