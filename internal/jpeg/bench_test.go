package jpeg

import (
	"image"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// processCPU returns the CPU time that the process has used, where it is known: on a
// busy machine it says more than the clock.
var processCPU = func() time.Duration { return 0 }

// benchmarkFiles runs f over the sample photographs, all in each iteration.
func benchmarkFiles(b *testing.B, f func(data []byte, i int)) {
	_, files := samples(b)
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
	if cpu = processCPU() - cpu; cpu > 0 {
		b.ReportMetric(float64(cpu.Microseconds())/float64(b.N*len(files)), "cpu-µs/image")
	}
	b.ReportMetric(float64(b.N*len(files))/b.Elapsed().Seconds(), "images/s")
}

// wholes and crops are the regions of the sample photographs: everything, and random
// resized crops (8 to 100 % of the area, aspect ratio 3/4 to 4/3).
func regions(b *testing.B) (wholes, crops []image.Rectangle) {
	_, files := samples(b)
	r := rand.New(rand.NewPCG(1, 1))
	for _, data := range files {
		h, err := new(Decoder).Header(data)
		if err != nil {
			b.Fatal(err)
		}
		whole := image.Rect(0, 0, h.Width, h.Height)
		crop := whole
		for range 10 {
			area := (0.08 + 0.92*r.Float64()) * float64(h.Width*h.Height)
			aspect := math.Exp((2*r.Float64() - 1) * math.Log(4.0/3))
			cw, ch := int(math.Sqrt(area*aspect)+0.5), int(math.Sqrt(area/aspect)+0.5)
			if cw <= h.Width && ch <= h.Height {
				crop = image.Rect(0, 0, cw, ch).Add(image.Pt(r.IntN(h.Width-cw+1), r.IntN(h.Height-ch+1)))
				break
			}
		}
		wholes, crops = append(wholes, whole), append(crops, crop)
	}
	return wholes, crops
}

func BenchmarkHeader(b *testing.B) {
	var d Decoder
	benchmarkFiles(b, func(data []byte, _ int) {
		if _, err := d.Header(data); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkPlanes(b *testing.B) {
	wholes, crops := regions(b)
	for name, regions := range map[string][]image.Rectangle{"whole": wholes, "crop": crops} {
		b.Run(name, func(b *testing.B) {
			var d Decoder
			var p Planes
			benchmarkFiles(b, func(data []byte, i int) {
				if err := d.Planes(&p, data, regions[i], 1); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

func BenchmarkRGB(b *testing.B) {
	wholes, crops := regions(b)
	for name, regions := range map[string][]image.Rectangle{"whole": wholes, "crop": crops} {
		b.Run(name, func(b *testing.B) {
			var d Decoder
			var pix []byte
			benchmarkFiles(b, func(data []byte, i int) {
				r := regions[i]
				pix = grow(pix, 3*r.Dx()*r.Dy())
				if err := d.RGB(pix, 3*r.Dx(), data, r); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}
