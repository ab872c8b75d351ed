package jpeg

import (
	"bytes"
	"image"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/datatest"
)

// newSkips returns empty Skips for a file, with an entry for every so many pixels.
func newSkips(h *Header, pixels int) Skips {
	every, n := h.SkipEntries(pixels)
	return Skips{Every: every, Entries: make([]atomic.Uint64, n)}
}

// filled returns how many entries a decoder has come by.
func (k *Skips) filled() (n int) {
	for i := range k.Entries {
		if k.Entries[i].Load() != 0 {
			n++
		}
	}
	return n
}

// somewhere returns a random region of a picture, mostly not all of it.
func somewhere(r *rand.Rand, h *Header) image.Rectangle {
	w, ht := 1+r.IntN(h.Width), 1+r.IntN(h.Height)
	return image.Rect(0, 0, w, ht).Add(image.Pt(r.IntN(h.Width-w+1), r.IntN(h.Height-ht+1)))
}

// requireSkipsChangeNothing decodes regions of a file, with Skips that grow and without,
// and compares the samples, or the errors to the letter.
func requireSkipsChangeNothing(t *testing.T, r *rand.Rand, data []byte, regions int) (leapt bool) {
	t.Helper()
	limits := Limits{MaxPixels: 1 << 24}
	with, without := Decoder{Limits: limits}, Decoder{Limits: limits}
	h, err := with.Header(data)
	if err != nil {
		return false
	}
	with.Skips = newSkips(&h, 8<<r.IntN(9))
	var p, q Planes
	for range regions {
		region, reduce := somewhere(r, &h), 1<<(r.IntN(4)*r.IntN(2))
		filled := with.Skips.filled()
		err := with.Planes(&p, data, region, reduce)
		want := without.Planes(&q, data, region, reduce)
		if want != nil {
			require.EqualError(t, err, want.Error(), "%v after %d entries", region, filled)
			continue
		}
		require.NoError(t, err)
		requireSameRows(t, &p, &q)
		leapt = leapt || filled > 0
		rgb, wantRGB := make([]byte, 3*region.Dx()*region.Dy()), make([]byte, 3*region.Dx()*region.Dy())
		require.Equal(t, without.RGB(wantRGB, 3*region.Dx(), data, region), with.RGB(rgb, 3*region.Dx(), data, region))
		require.True(t, bytes.Equal(rgb, wantRGB), "pixels of %v", region)
	}
	return leapt
}

func TestSkipsChangeNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 1))
	for _, group := range []map[string][]Sampling{samplings, otherSamplings} {
		for name, sampling := range group {
			leapt := false
			for i := range 4 {
				spec := randomSpec(r, sampling)
				spec.width, spec.height = 100+r.IntN(150), 100+r.IntN(150)
				if i < 2 {
					spec.width, spec.height, spec.progressive, spec.separate, spec.restart = 230, 210, false, false, 0
				}
				leapt = requireSkipsChangeNothing(t, r, encode(r, spec), 5) || leapt
			}
			require.Equal(t, len(sampling) <= skipComponents, leapt, name)
		}
	}
}

// TestSkipsOfDamagedFiles damages files beforehand: entries are those of the damaged file.
func TestSkipsOfDamagedFiles(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 1))
	for _, sampling := range samplings {
		for range 3 {
			spec := randomSpec(r, sampling)
			spec.width, spec.height, spec.progressive, spec.restart = 100+r.IntN(120), 100+r.IntN(120), false, 0
			data := encode(r, spec)
			for range 4 {
				damaged := bytes.Clone(data)
				for range 1 + r.IntN(3) {
					damaged[len(damaged)/8+r.IntN(len(damaged)*7/8)] = []byte{0xFF, 0, 0xD3, byte(r.Uint32())}[r.IntN(4)]
				}
				requireSkipsChangeNothing(t, r, damaged, 4)
			}
		}
	}
}

// TestSkipsOfAnotherFile decodes with entries that mean nothing for the file, and with ones
// that mean nothing at all: errors and wrong pixels are allowed, other memory is not.
func TestSkipsOfAnotherFile(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 1))
	var p Planes
	for range 60 {
		spec := randomSpec(r, samplings["4:2:0"])
		spec.width, spec.height, spec.progressive, spec.restart = 200, 200, false, 0
		data := encode(r, spec)
		var d Decoder
		h, err := d.Header(data)
		require.NoError(t, err)
		d.Skips = newSkips(&h, 1<<(4+r.IntN(6)))
		for i := range d.Skips.Entries {
			d.Skips.Entries[i].Store(r.Uint64() >> r.IntN(64))
		}
		for range 4 {
			_ = d.Planes(&p, data, somewhere(r, &h), 1)
		}
	}
}

// TestSkipsOfPhotographs compares random crops of the sample photographs.
func TestSkipsOfPhotographs(t *testing.T) {
	names, files := datatest.Photographs(t)
	r := rand.New(rand.NewPCG(14, 1))
	with, without := new(Decoder), new(Decoder)
	var p, q Planes
	leapt := 0
	if testing.Short() {
		files = files[:len(files)/8]
	}
	for i, data := range files {
		h, err := with.Header(data)
		require.NoError(t, err, names[i])
		with.Skips = newSkips(&h, 128)
		for range 2 {
			region := somewhere(r, &h)
			require.NoError(t, with.Planes(&p, data, region, 1), names[i])
			require.NoError(t, without.Planes(&q, data, region, 1), names[i])
			requireSameRows(t, &p, &q)
		}
		if with.Skips.filled() > 0 {
			leapt++
		}
		fixed := with.Skips
		fixed.Fixed = true
		before := fixed.filled()
		with.Skips = fixed
		require.NoError(t, with.Planes(&p, data, image.Rect(0, 0, h.Width, h.Height), 1))
		require.Equal(t, before, fixed.filled(), "fixed entries were written")
	}
	require.Greater(t, leapt, len(files)/2)
}

// TestSkipsAreShared has several decoders fill the same Skips at the same time.
func TestSkipsAreShared(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 1))
	spec := randomSpec(r, samplings["4:2:0"])
	spec.width, spec.height, spec.progressive, spec.restart, spec.separate = 500, 400, false, 0, false
	data := encode(r, spec)
	var d Decoder
	h, err := d.Header(data)
	require.NoError(t, err)
	var whole Planes
	require.NoError(t, d.Planes(&whole, data, image.Rect(0, 0, h.Width, h.Height), 1))
	for range 20 {
		skips := newSkips(&h, 32)
		var wg sync.WaitGroup
		for range 4 {
			r := rand.New(rand.NewPCG(r.Uint64(), 1))
			wg.Go(func() {
				d := Decoder{Skips: skips}
				var p Planes
				for range 3 {
					region := somewhere(r, &h)
					if err := d.Planes(&p, data, region, 1); err != nil {
						t.Error(err)
						return
					}
					requireSameRows(t, &p, &whole)
				}
			})
		}
		wg.Wait()
	}
}

func FuzzSkips(f *testing.F) {
	for i, data := range seedFiles() {
		f.Add(data, uint64(i))
	}
	r := rand.New(rand.NewPCG(16, 1))
	for _, sampling := range samplings {
		spec := randomSpec(r, sampling)
		spec.width, spec.height, spec.progressive, spec.restart = 120+r.IntN(40), 120+r.IntN(40), false, 0
		f.Add(encode(r, spec), r.Uint64())
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		requireSkipsChangeNothing(t, rand.New(rand.NewPCG(seed, 2)), data, 4)
	})
}

// BenchmarkSkips is BenchmarkPlanes with full Skips, and with Skips that are filled anew for
// every picture.
func BenchmarkSkips(b *testing.B) {
	for _, w := range workloads(b)[:2] {
		skips := make([]Skips, len(w.files))
		for i, data := range w.files {
			h, err := new(Decoder).Header(data)
			require.NoError(b, err)
			skips[i] = newSkips(&h, 128)
		}
		for _, mode := range []string{"without", "with", "filling"} {
			b.Run(w.name+"/"+mode, func(b *testing.B) {
				var d Decoder
				var p Planes
				benchmarkFiles(b, w.files, func(data []byte, i int) {
					if mode != "without" {
						d.Skips = skips[i]
					}
					if mode == "filling" {
						for k := range d.Skips.Entries {
							d.Skips.Entries[k].Store(0)
						}
					}
					if err := d.Planes(&p, data, w.regions[i], 1); err != nil {
						b.Fatal(err)
					}
				})
			})
		}
	}
}
