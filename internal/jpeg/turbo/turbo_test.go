//go:build turbojpeg

package turbo

import (
	"bytes"
	"fmt"
	"image"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/jpeg"
)

func samples(tb testing.TB) (names []string, files [][]byte) {
	tb.Helper()
	dir := os.Getenv("PLANKTON_DATA")
	if dir == "" {
		tb.Skip("PLANKTON_DATA is not set: no sample photographs")
	}
	names, err := filepath.Glob(filepath.Join(dir, "imagenet-sample", "*.JPEG"))
	require.NoError(tb, err)
	require.NotEmpty(tb, names)
	for _, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(tb, err)
		files = append(files, data)
	}
	return names, files
}

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

// requireEqual compares the pixels of a region and the planes of the picture.
func (p *pair) requireEqual(t *testing.T, data []byte, region image.Rectangle, format jpeg.Format, name string) {
	t.Helper()
	stride := region.Dx() * format.Channels()
	for i := range p.pixels {
		if cap(p.pixels[i]) < stride*region.Dy() {
			p.pixels[i] = make([]byte, stride*region.Dy())
		}
		p.pixels[i] = p.pixels[i][:stride*region.Dy()]
	}
	require.NoError(t, p.ours.Pixels(p.pixels[0], stride, data, region, format), name)
	require.NoError(t, p.theirs.Pixels(p.pixels[1], stride, data, region, format, 1), name)
	if !bytes.Equal(p.pixels[0], p.pixels[1]) {
		for i, v := range p.pixels[0] {
			if w := p.pixels[1][i]; v != w {
				t.Fatalf("%s, region %v: row %d, byte %d: got %d, libjpeg has %d", name, region, i/stride, i%stride, v, w)
			}
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
	names, files := samples(t)
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
