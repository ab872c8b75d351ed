//go:build turbojpeg

package turbo

import (
	"image"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/planktonml/plankton/internal/datatest"
	"github.com/planktonml/plankton/internal/jpeg"
)

// randomCrop is a random resized crop: 8 to 100 % of the area, aspect ratio 3/4 to 4/3.
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

// BenchmarkEngines sets the engines side by side on the sample photographs. An
// iteration decodes all of them with both, one after the other, so that what else the
// machine does hits both alike; the ratio is ours to theirs in images per second.
func BenchmarkEngines(b *testing.B) {
	_, files := datatest.Photographs(b)
	p := newPair(b)
	r := rand.New(rand.NewPCG(1, 1))
	var wholes, crops []image.Rectangle
	for _, data := range files {
		h, err := p.ours.Header(data)
		if err != nil {
			b.Fatal(err)
		}
		wholes = append(wholes, image.Rect(0, 0, h.Width, h.Height))
		crops = append(crops, randomCrop(r, h.Width, h.Height))
	}
	var pix []byte
	rgb := func(decode func(dst []byte, stride int, data []byte, region image.Rectangle) error) func([]byte, image.Rectangle) error {
		return func(data []byte, region image.Rectangle) error {
			if n := 3 * region.Dx() * region.Dy(); len(pix) < n {
				pix = make([]byte, n)
			}
			return decode(pix, 3*region.Dx(), data, region)
		}
	}
	theirRGB := func(dst []byte, stride int, data []byte, region image.Rectangle) error {
		return p.theirs.Pixels(dst, stride, data, region, jpeg.FormatRGB, 1)
	}
	planes := func(decode func(dst *jpeg.Planes, data []byte, region image.Rectangle, reduce int) error) func([]byte, image.Rectangle) error {
		return func(data []byte, region image.Rectangle) error { return decode(&p.planes[0], data, region, 1) }
	}
	for _, c := range []struct {
		name         string
		regions      []image.Rectangle
		ours, theirs func(data []byte, region image.Rectangle) error
	}{
		{"rgb/whole", wholes, rgb(p.ours.RGB), rgb(theirRGB)},
		{"rgb/crop", crops, rgb(p.ours.RGB), rgb(theirRGB)},
		{"planes/whole", wholes, planes(p.ours.Planes), planes(p.theirs.Planes)},
		{"planes beside rgb/crop", crops, planes(p.ours.Planes), rgb(theirRGB)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var seconds [2]float64
			for b.Loop() {
				for i, data := range files {
					for e, decode := range []func([]byte, image.Rectangle) error{c.ours, c.theirs} {
						start := b.Elapsed()
						if err := decode(data, c.regions[i]); err != nil {
							b.Fatal(err)
						}
						seconds[e] += (b.Elapsed() - start).Seconds()
					}
				}
			}
			n := float64(b.N * len(files))
			b.ReportMetric(n/seconds[0], "images/s")
			b.ReportMetric(n/seconds[1], "libjpeg-images/s")
			b.ReportMetric(seconds[1]/seconds[0], "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}
