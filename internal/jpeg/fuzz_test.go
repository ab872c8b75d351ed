package jpeg

import (
	"bytes"
	"image"
	"math/rand/v2"
	"testing"
)

// withTwins runs f with the plain Go twins of the assembly, where there is any.
var withTwins = func(f func()) { f() }

// seedFiles are small files of all kinds, some cut short or damaged.
func seedFiles() (files [][]byte) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, group := range []map[string][]Sampling{samplings, otherSamplings} {
		for _, sampling := range group {
			for range 3 {
				spec := randomSpec(r, sampling)
				spec.width, spec.height = 1+spec.width%40, 1+spec.height%40
				data := encode(r, spec)
				damaged := bytes.Clone(data)
				for range 1 + r.IntN(4) {
					damaged[r.IntN(len(damaged))] = byte(r.Uint32())
				}
				files = append(files, data, data[:r.IntN(len(data))], damaged)
			}
		}
	}
	return files
}

// checkDecoding decodes a region of anything. It must not panic; if it succeeds, the
// twins and the crop of the whole picture agree with it.
func checkDecoding(t *testing.T, data []byte, region image.Rectangle, reduce int, tolerant bool) {
	t.Helper()
	limits := Limits{MaxPixels: 1 << 18}
	d := Decoder{Limits: limits, Tolerant: tolerant}
	var p, q Planes
	if d.Planes(&p, data, region, reduce) != nil {
		return
	}
	damage := d.Damage()
	twin := Decoder{Limits: limits, Tolerant: tolerant}
	withTwins(func() {
		if err := twin.Planes(&q, data, region, reduce); err != nil {
			t.Fatalf("the twins fail: %v", err)
		}
	})
	requireSameRows(t, &p, &q)

	h := p.Header
	rgb := make([]byte, 3*p.Region.Dx()*p.Region.Dy())
	if err := d.RGB(rgb, 3*p.Region.Dx(), data, region); err != nil && damage == nil && d.Tolerant {
		t.Fatalf("planes decode, pixels do not: %v", err)
	}
	if damage == nil && d.Planes(&q, data, image.Rect(0, 0, h.Width, h.Height), reduce) == nil && d.Damage() == nil {
		requireSameRows(t, &p, &q)
	}
}

// requireSameRows compares a region with one that contains it.
func requireSameRows(t *testing.T, part, whole *Planes) {
	t.Helper()
	for i := range part.Header.Components {
		a, b := &part.Plane[i], &whole.Plane[i]
		x := a.Rect.Min.X - b.Rect.Min.X
		for y := a.Rect.Min.Y; y < a.Rect.Max.Y; y++ {
			if !bytes.Equal(a.Row(y), b.Row(y)[x:x+a.Rect.Dx()]) {
				t.Fatalf("row %d of plane %d is %v, want %v", y, i, a.Row(y), b.Row(y)[x:x+a.Rect.Dx()])
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	for i, data := range seedFiles() {
		f.Add(data, uint16(i%30), uint16(i%7*5), uint16(1+i%33), uint16(1+i%19), uint8(i), i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, data []byte, x, y, w, h uint16, reduce uint8, tolerant bool) {
		region := image.Rect(int(x), int(y), int(x)+int(w), int(y)+int(h))
		checkDecoding(t, data, region, 1<<(reduce%4), tolerant)
	})
}

// TestMutations decodes damaged files; it is what FuzzDecode does, in a few seconds.
func TestMutations(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for _, data := range seedFiles() {
		for range 20 {
			damaged := bytes.Clone(data)
			for range 1 + r.IntN(6) {
				if len(damaged) > 0 {
					damaged[r.IntN(len(damaged))] ^= 1 << r.IntN(8)
				}
			}
			checkDecoding(t, damaged, image.Rect(r.IntN(20), r.IntN(20), 20+r.IntN(30), 20+r.IntN(30)), 1<<r.IntN(4), r.IntN(2) == 0)
		}
	}
}
