package jpeg

import (
	"image"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// What Growth says is what the buffers grow by, and 0 once they are large enough.
func TestGrowthIsWhatADecodeAllocates(t *testing.T) {
	for seed := range uint64(6) {
		f := encode(rand.New(rand.NewPCG(seed, 1)), fileSpec{
			width: 300, height: 200, sampling: []Sampling{{2, 2}, {1, 1}, {1, 1}},
			progressive: seed%2 == 1, adobe: -1, amplitude: 20, density: 0.1,
		})
		var d Decoder
		var planes Planes
		h, err := d.Header(f)
		require.NoError(t, err)
		for _, c := range []struct {
			region image.Rectangle
			reduce int
		}{{image.Rect(10, 10, 40, 40), 1}, {image.Rect(0, 0, h.Width, h.Height), 2}, {image.Rect(0, 0, h.Width, h.Height), 1}} {
			before := d.Reserved() + planes.Reserved()
			growth := d.Growth(&planes, &h, c.region, c.reduce)
			require.NoError(t, d.Planes(&planes, f, c.region, c.reduce))
			after := d.Reserved() + planes.Reserved()
			require.LessOrEqual(t, after-before, growth)
			require.GreaterOrEqual(t, growth, h.Bytes(c.region, c.reduce)-before)
			require.Zero(t, d.Growth(&planes, &h, c.region, c.reduce))

			var prepared Planes
			prepared.Prepare(&h, c.region, c.reduce)
			for i := range planes.Plane {
				want, got := planes.Plane[i], prepared.Plane[i]
				require.Len(t, got.Pix, len(want.Pix))
				want.Pix, got.Pix = nil, nil
				require.Equal(t, want, got)
			}
		}
		outside := image.Rect(0, h.Height, 10, h.Height+10)
		require.Zero(t, d.Growth(new(Planes), &h, outside, 1)+h.Bytes(outside, 1))
		planes.Release()
		d.Release()
		require.Zero(t, d.Reserved()+planes.Reserved())

		whole := image.Rect(0, 0, h.Width, h.Height)
		dst := make([]byte, 3*h.Width*h.Height)
		growth := d.PixelsGrowth(&h, whole)
		require.NoError(t, d.RGB(dst, 3*h.Width, f, whole))
		require.LessOrEqual(t, d.Reserved(), growth)
		require.LessOrEqual(t, growth, 2*d.Reserved())
		require.Zero(t, d.PixelsGrowth(&h, whole))
	}
}
