//go:build turbojpeg

package turbo

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/alloctest"
	"github.com/planktonml/plankton/internal/datatest"
	"github.com/planktonml/plankton/internal/jpeg"
)

// A pair is the decoder under test and the oracle.
type pair struct {
	ours   jpeg.Decoder
	theirs Decoder
	pixels [2][]byte
	planes [2]jpeg.Planes
}

func newPair(tb testing.TB) *pair {
	p := &pair{}
	tb.Cleanup(p.theirs.Close)
	return p
}

// requireSame decodes a damaged file with both: either both yield the same pixels, or both
// refuse it.
func (p *pair) requireSame(t *testing.T, data []byte, region image.Rectangle, name string) {
	t.Helper()
	p.theirs.Close() // libjpeg keeps tables from file to file
	pix := make([]byte, 3*region.Dx()*region.Dy())
	if err := p.theirs.Pixels(pix, 3*region.Dx(), data, region, jpeg.FormatRGB, 1); err != nil {
		require.Error(t, p.ours.Pixels(pix, 3*region.Dx(), data, region, jpeg.FormatRGB), "%s: %v", name, err)
		return
	}
	p.requireEqual(t, data, region, jpeg.FormatRGB, name)
	p.requireEqual(t, data, region, jpeg.FormatGray, name)
}

// equal decodes a region with both and reports whether the pixels are the same.
func (p *pair) equal(t *testing.T, data []byte, region image.Rectangle, format jpeg.Format, name string) bool {
	t.Helper()
	stride := region.Dx() * format.Channels()
	for i := range p.pixels {
		p.pixels[i] = make([]byte, stride*region.Dy())
	}
	require.NoError(t, p.ours.Pixels(p.pixels[0], stride, data, region, format), name)
	require.NoError(t, p.theirs.Pixels(p.pixels[1], stride, data, region, format, 1), name)
	return bytes.Equal(p.pixels[0], p.pixels[1])
}

func (p *pair) requireEqual(t *testing.T, data []byte, region image.Rectangle, format jpeg.Format, name string) {
	t.Helper()
	if p.equal(t, data, region, format, name) {
		return
	}
	stride := region.Dx() * format.Channels()
	for i, v := range p.pixels[0] {
		if w := p.pixels[1][i]; v != w {
			t.Fatalf("%s, region %v: row %d, byte %d: got %d, libjpeg has %d", name, region, i/stride, i%stride, v, w)
		}
	}
}

func (p *pair) requireEqualPlanes(t *testing.T, data []byte, region image.Rectangle, reduce int, name string) {
	t.Helper()
	require.NoError(t, p.ours.Planes(&p.planes[0], data, region, reduce), name)
	require.NoError(t, p.theirs.Planes(&p.planes[1], data, region, reduce), name)
	for i := range p.planes[0].Header.Components {
		a, b := &p.planes[0].Plane[i], &p.planes[1].Plane[i]
		require.Equal(t, a.Rect, b.Rect, name)
		for y := a.Rect.Min.Y; y < a.Rect.Max.Y; y++ {
			if !bytes.Equal(a.Row(y), b.Row(y)) {
				t.Fatalf("%s: region %v, reduced by %d: row %d of plane %d is %d, libjpeg has %d", name, region, reduce, y, i, a.Row(y), b.Row(y))
			}
		}
	}
}

func randomRegion(r *rand.Rand, h jpeg.Header) image.Rectangle {
	x, y := r.IntN(h.Width), r.IntN(h.Height)
	return image.Rect(x, y, x+1+r.IntN(h.Width-x), y+1+r.IntN(h.Height-y))
}

func TestSamplesEqual(t *testing.T) {
	names, files := datatest.Photographs(t)
	p := newPair(t)
	r := rand.New(rand.NewPCG(1, 2))
	for i, data := range files {
		h, err := p.theirs.Header(data)
		require.NoError(t, err)
		p.requireEqual(t, data, image.Rect(0, 0, h.Width, h.Height), jpeg.FormatRGB, names[i])
		p.requireEqual(t, data, randomRegion(r, h), jpeg.FormatRGB, names[i])
		p.requireEqual(t, data, randomRegion(r, h), jpeg.FormatGray, names[i])
		p.requireEqualPlanes(t, data, randomRegion(r, h), 1<<(i%4), names[i])
	}
}

// picture makes pixels with edges, gradients and noise.
func picture(r *rand.Rand, width, height, channels int) []byte {
	pix := make([]byte, width*height*channels)
	fx, fy, noise := r.Float64()*9, r.Float64()*9, 1+r.IntN(120)
	for i := range pix {
		x, y, c := i/channels%width, i/channels/width, i%channels
		v := int(fx*float64(x)) + int(fy*float64(y))*(c+1) + r.IntN(noise)
		if (x/5+y/7)%3 == c {
			v += 90
		}
		pix[i] = byte(v)
	}
	return pix
}

func TestGeneratedEqual(t *testing.T) {
	p := newPair(t)
	r := rand.New(rand.NewPCG(3, 4))
	const rounds = 4000
	for range rounds {
		how := Encoding{
			Quality: 1 + r.IntN(100), Components: []int{1, 3, 3, 3}[r.IntN(4)], H: 1 + r.IntN(4), V: 1 + r.IntN(4),
			Optimize: r.IntN(2) == 0, KeepSpace: r.IntN(8) == 0,
		}
		if how.H*how.V > 8 {
			how.V = 2
		}
		if r.IntN(3) == 0 {
			how.RestartInterval = 1 + r.IntN(20)
		}
		switch r.IntN(4) {
		case 0:
			how.Progressive = true
		case 1:
			how.Separate = true
		}
		width, height := 1+r.IntN(70), 1+r.IntN(70)
		data, err := p.theirs.Encode(picture(r, width, height, how.Components), width, height, how)
		name := fmt.Sprintf("%d×%d %+v", width, height, how)
		require.NoError(t, err, name)
		h, err := p.ours.Header(data)
		require.NoError(t, err, name)
		p.requireEqual(t, data, image.Rect(0, 0, width, height), jpeg.FormatRGB, name)
		p.requireEqual(t, data, randomRegion(r, h), jpeg.Format(2*r.IntN(2)), name)
		p.requireEqualPlanes(t, data, randomRegion(r, h), 1<<r.IntN(4), name)
	}
}

// damage ends a file early, takes a piece out or flips a bit of its coded data.
func damage(r *rand.Rand, data []byte, kind int) []byte {
	scan := bytes.LastIndex(data, []byte{0xFF, 0xDA})
	scan += 2 + int(data[scan+3])
	at := scan + r.IntN(len(data)-2-scan)
	switch kind {
	case 0:
		return append(data[:at:at], 0xFF, 0xD9)
	case 1:
		end := len(data) - 2
		return append(data[:at:at], data[min(end, at+1+r.IntN(60)):]...)
	}
	data[at] ^= 1 << r.IntN(8)
	return data
}

// TestDamagedEqual compares tolerant decoding of files that are cut, lack a piece or have a
// bit flipped in the coded data of their last scan.
func TestDamagedEqual(t *testing.T) {
	p := newPair(t)
	p.ours.Tolerant, p.theirs.Tolerant = true, true
	r := rand.New(rand.NewPCG(5, 6))
	const rounds = 3000
	damaged := 0
	for i := range rounds {
		how := Encoding{Quality: 96 + r.IntN(5), Components: 1 + 2*r.IntN(2), H: 1 + r.IntN(2), V: 1 + r.IntN(2), Progressive: r.IntN(4) == 0}
		width, height := 9+r.IntN(60), 9+r.IntN(60)
		if r.IntN(2) == 0 {
			how.RestartInterval = 1 + r.IntN(5)
		}
		data, err := p.theirs.Encode(picture(r, width, height, how.Components), width, height, how)
		require.NoError(t, err)
		data = damage(r, data, i%3)
		name := fmt.Sprintf("kind %d, %d×%d %+v", i%3, width, height, how)
		p.requireSame(t, data, image.Rect(0, 0, width, height), name)
		if p.ours.Damage() != nil {
			damaged++
		}
	}
	require.Greater(t, damaged, rounds/2)
}

func TestErrors(t *testing.T) {
	p := newPair(t)
	data, err := p.theirs.Encode(make([]byte, 3*40*40), 40, 40, Encoding{Quality: 80, Components: 3, H: 2, V: 2})
	require.NoError(t, err)
	pix := make([]byte, 3*40*40)
	whole := image.Rect(0, 0, 40, 40)
	require.ErrorContains(t, p.theirs.Pixels(pix, 120, data[:len(data)-10], whole, jpeg.FormatRGB, 1), "Premature end")
	require.ErrorContains(t, p.theirs.Pixels(pix, 120, data, whole, jpeg.FormatBGR, 1), "want FormatRGB or FormatGray")
	require.ErrorContains(t, p.theirs.Pixels(pix[:99], 120, data, whole, jpeg.FormatRGB, 1), "does not fit")
	inks, err := p.theirs.Encode(make([]byte, 4*40*40), 40, 40, Encoding{Quality: 80, Components: 4, H: 1, V: 1})
	require.NoError(t, err)
	require.ErrorIs(t, p.theirs.Pixels(pix, 120, inks, whole, jpeg.FormatRGB, 1), jpeg.ErrUnsupported)
	_, err = p.theirs.Encode(pix[:5], 40, 40, Encoding{Components: 3})
	require.Error(t, err)
	require.NoError(t, p.theirs.Pixels(pix, 120, data, whole, jpeg.FormatRGB, 1), "the decoder goes on after errors")
}

// TestInkPlanesEqual compares the planes of CMYK and YCCK files.
func TestInkPlanesEqual(t *testing.T) {
	p := newPair(t)
	r := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		how := Encoding{Quality: 50 + r.IntN(50), Components: 4, H: 1 + r.IntN(2), V: 1 + r.IntN(2), KeepSpace: r.IntN(2) == 0, Progressive: r.IntN(2) == 0}
		width, height := 1+r.IntN(60), 1+r.IntN(60)
		data, err := p.theirs.Encode(picture(r, width, height, 4), width, height, how)
		require.NoError(t, err)
		p.requireEqualPlanes(t, data, image.Rect(0, 0, width, height), 1<<r.IntN(4), fmt.Sprintf("%d×%d %+v", width, height, how))
	}
}

func TestNoAllocationWhenWarm(t *testing.T) {
	p := newPair(t)
	data, err := p.theirs.Encode(make([]byte, 3*40*40), 40, 40, Encoding{Quality: 80, Components: 3, H: 2, V: 2})
	require.NoError(t, err)
	pix := make([]byte, 3*40*40)
	alloctest.None(t, 10, func() {
		err := p.theirs.Pixels(pix, 120, data, image.Rect(0, 0, 40, 40), jpeg.FormatRGB, 1)
		if err = errors.Join(err, p.theirs.Planes(&p.planes[1], data, image.Rect(0, 0, 40, 40), 1)); err != nil {
			panic(err)
		}
	})
}
