package imaging

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/pipeline/datum"
)

// drawMatrix returns a matrix of colours: one that operators make, or any, also with sums beyond 32 bits.
func drawMatrix(t *rapid.T) ColorMatrix {
	f := func(lo, hi float32) float32 { return rapid.Float32Range(lo, hi).Draw(t, "number") }
	if rapid.Bool().Draw(t, "twist") {
		return TwistColor(f(-360, 360), f(0, 3), f(0, 2), f(0, 2), 128)
	}
	var m ColorMatrix
	top := rapid.SampledFrom([]float32{0.01, 1, 7, 600, 1e9, 3e9}).Draw(t, "largest factor")
	for i := range m.M {
		for j := range m.M[i] {
			m.M[i][j] = f(-top, top)
		}
		m.Offset[i] = f(-300*top, 300*top)
	}
	return m
}

func TestTwistKernelsEqualTheirTwins(t *testing.T) {
	narrow := 0
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 90).Draw(t, "n")
		rng := random(t)
		m := drawMatrix(t)
		var twist byteTwist
		twist.set(&m)
		if twist.narrow {
			narrow++
		}
		src, _ := guarded[byte](t, 3*n, 0)
		for i := range src {
			src[i] = byte(rng.Uint32())
		}
		want := make([]byte, 3*n)
		dst, intact := guarded[byte](t, 3*n, 7)
		twistBytesGo(want, src, &twist)
		twistBytes(dst, src, &twist)
		require.Equal(t, want, dst)
		require.True(t, intact(), "twistBytes wrote beside its destination")

		var in, wantRows, rows [3][]float32
		var rowIntact [3]func() bool
		for c := range in {
			in[c], _ = guarded[float32](t, n, 0)
			fillRandom(rng, in[c])
			wantRows[c] = make([]float32, n)
			rows[c], rowIntact[c] = guarded[float32](t, n, 7)
		}
		var norm norms
		norm.set([3]float32{0.01, 0.02, -3}, [3]float32{1, -2, 0})
		twistRowsGo(wantRows, in, &twist, &norm)
		twistRows(rows, in, &twist, &norm, canStream(rows[0], n) && canStream(rows[1], n) && canStream(rows[2], n))
		for c := range rows {
			requireBits(t, wantRows[c], rows[c], "twistRows")
			require.True(t, rowIntact[c](), "twistRows wrote beside its destination")
		}
	})
	require.Positive(t, narrow)
}

// Rows of levels become what their bytes become, and the products are exact.
func TestTwistOfRowsIsThatOfBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMatrix(t)
		var twist byteTwist
		twist.set(&m)
		n := rapid.IntRange(1, 40).Draw(t, "n")
		src := noise(3*n, random(t).Uint64())
		dst := make([]byte, 3*n)
		twistBytes(dst, src, &twist)
		var in, out [3][]float32
		for c := range in {
			in[c], out[c] = make([]float32, n), make([]float32, n)
			for i := range in[c] {
				in[c][i] = float32(src[3*i+c])
			}
		}
		var one norms
		one.set([3]float32{1, 1, 1}, [3]float32{})
		twistRows(out, in, &twist, &one, false)
		for i, v := range dst {
			require.Equal(t, float32(v), out[i%3][i/3])
		}
	})
}

// A resize with a matrix of colours is a resize to bytes, the matrix and the normalisation one after the other, whatever
// the order of the output's elements and the number of the source's channels.
func TestResizeThatTwistsIsBothInTurn(t *testing.T) {
	var r Resampler
	rapid.Check(t, func(t *rapid.T) {
		h, w := rapid.IntRange(1, 60).Draw(t, "h"), rapid.IntRange(1, 60).Draw(t, "w")
		p := drawPlan(t, h, w)
		m := drawMatrix(t)
		src := &Image{Type: datum.Uint8, H: h, W: w, C: rapid.SampledFrom([]int{1, 3}).Draw(t, "c")}
		src.Pix = noise(h*w*src.C, 1)
		planar := gradient(h, w, rapid.IntRange(1, 2).Draw(t, "v"), rapid.IntRange(1, 2).Draw(t, "h"))
		resize := func(dst []byte, out *Output) error { return r.ResizeBytes(dst, src, p, out) }
		if rapid.Bool().Draw(t, "planar") {
			resize = func(dst []byte, out *Output) error { return r.ResizeYCbCr(dst, planar, p, out) }
		}
		n := p.Y.Out * p.X.Out
		plain := Output{Type: datum.Uint8, Channels: 3, Round: true}
		levels, twisted := make([]byte, 3*n), make([]byte, 3*n)
		require.NoError(t, resize(levels, &plain))
		require.NoError(t, m.Apply(twisted, datum.Uint8, levels, datum.Uint8))

		out := imageNet()
		out.Channels, out.Color, out.CHW, out.Round = 3, &m, rapid.Bool().Draw(t, "chw"), rapid.Bool().Draw(t, "round")
		out.Type = rapid.SampledFrom([]datum.DType{datum.Uint8, datum.Float32}).Draw(t, "type")
		dst := make([]float32, 3*n)
		bytes := datum.BytesOf(dst)[:3*n*out.Type.Size()]
		require.NoError(t, resize(bytes, &out))
		for i, v := range twisted {
			at := i
			if out.CHW {
				at = i%3*n + i/3
			}
			if out.Type == datum.Uint8 {
				require.Equal(t, v, bytes[at])
				continue
			}
			require.Equal(t, float32(float32(v)*out.Scale[i%3])+out.Bias[i%3], dst[at])
		}
	})
	one := Output{Type: datum.Uint8, Channels: 1, Color: &ColorMatrix{}}
	require.ErrorContains(t, r.ResizeBytes(make([]byte, 4), &Image{Pix: make([]byte, 4), Type: datum.Uint8, H: 2, W: 2, C: 1},
		Plan{Axis{Out: 2, End: 2, Hi: 2}, Axis{Out: 2, End: 2, Hi: 2}}, &one), "3 are wanted")
}
