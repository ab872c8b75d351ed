package imaging

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// closedForm is a filter without a table.
func closedForm(f Filter, x float64) float64 {
	x = math.Abs(x)
	switch {
	case f == Cubic && x < 1:
		return 1.5*x*x*x - 2.5*x*x + 1
	case f == Cubic && x < 2:
		return -0.5*x*x*x + 2.5*x*x - 4*x + 2
	case f == Lanczos3 && x < 3:
		return sinc(x) * sinc(x/3)
	case f == Gaussian && x < 1:
		return math.Exp(-4 * x * x)
	case (f == Linear || f == Triangular) && x < 1:
		return 1 - x
	}
	return 0
}

// reference resamples one axis in float64 without tables, with the border samples repeated.
func reference(a Axis, sample func(int) float64) []float64 {
	out := make([]float64, a.Out)
	scale := (a.Hi - a.Lo) / float64(a.Out)
	widen := 1.0
	if a.Antialias {
		widen = max(1, math.Abs(scale))
	}
	for i := range out {
		at := a.Lo + (float64(i)+0.5)*scale
		if a.Filter == Nearest {
			out[i] = sample(min(max(int(math.Floor(at)), a.Start), a.End-1))
			continue
		}
		sum, weights := 0.0, 0.0
		for k := int(math.Floor(at - 3*widen - 1)); k <= int(math.Ceil(at+3*widen+1)); k++ {
			w := closedForm(a.Filter, (float64(k)+0.5-at)/widen)
			sum += w * sample(min(max(k, a.Start), a.End-1))
			weights += w
		}
		out[i] = sum / weights
	}
	return out
}

// nearEdge reports whether a sample is so near an edge of the filter, where Nearest and Gaussian jump, that rounding or
// the table decides.
func nearEdge(a Axis) bool {
	scale := (a.Hi - a.Lo) / float64(a.Out)
	edge, near := 0.0, 1e-3
	switch a.Filter {
	case Gaussian:
		radius := 1.0
		if a.Antialias {
			radius = max(1, math.Abs(scale))
		}
		edge, near = radius+0.5, radius/32+1e-3 // a table entry
	case Nearest:
	default:
		return false
	}
	for i := range a.Out {
		for _, e := range []float64{-edge, edge} {
			at := a.Lo + (float64(i)+0.5)*scale + e
			if math.Abs(at-math.Round(at)) < near {
				return true
			}
		}
	}
	return false
}

func TestTapsAgreeWithClosedForms(t *testing.T) {
	var tp taps
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "n")
		a := drawAxis(t, n)
		if nearEdge(a) {
			t.Skip("rounding decides")
		}
		build := tp.buildVertical
		if rapid.Bool().Draw(t, "horizontal") {
			build = tp.buildHorizontal
		}
		tp.axis = Axis{}
		build(a)
		rng := random(t)
		samples := make([]float64, n)
		for i := range samples {
			samples[i] = float64(rng.IntN(256))
		}
		want := reference(a, func(i int) float64 { return samples[i] })
		require.Len(t, tp.first, a.Out)
		for i, first := range tp.first {
			require.GreaterOrEqual(t, int(first), a.Start)
			require.LessOrEqual(t, int(first)+tp.n, a.End)
			got, sum := 0.0, 0.0
			for k, w := range tp.weight[i*tp.n : (i+1)*tp.n] {
				got += float64(w) * samples[int(first)+k]
				sum += float64(w)
			}
			require.InDelta(t, 1, sum, 1e-5)
			require.InDelta(t, want[i], got, 0.25, "output %d", i) // tables of 32 entries per sample, float32 positions
		}
	})
}

func TestTapsKeepWhatIsNotScaled(t *testing.T) {
	for f := range numFilters {
		if f == Gaussian {
			continue // a blur at any scale
		}
		var tp taps
		tp.buildVertical(Axis{Out: 5, Lo: 2, Hi: 7, Start: 0, End: 9, Filter: f, Antialias: true})
		require.Equal(t, 1, tp.n, f.String())
		require.Equal(t, []int32{2, 3, 4, 5, 6}, tp.first, f.String())
	}
}

func TestTapsOfMirroredAxisAreReversed(t *testing.T) {
	var forward, backward taps
	a := Axis{Out: 7, Lo: 1.25, Hi: 18.5, Start: 0, End: 20, Filter: Cubic, Antialias: true}
	forward.buildVertical(a)
	backward.buildVertical(a.Mirror())
	require.Equal(t, forward.n, backward.n)
	for i := range a.Out {
		j := a.Out - 1 - i
		require.Equal(t, forward.first[i], backward.first[j])
		require.InDeltaSlice(t, forward.weight[i*forward.n:(i+1)*forward.n], backward.weight[j*forward.n:(j+1)*forward.n], 1e-5)
	}
}

// Rows are loaded in order, and each once: no window may begin before those that came earlier. All small crops of a
// source that is enlarged by whole factors are tried, where some outputs lie on a sample and the filter is zero at others.
func TestWindowsFollowOneAnother(t *testing.T) {
	var tp taps
	for _, f := range []Filter{Linear, Triangular, Cubic, Lanczos3, Gaussian} {
		for n := 1; n <= 6; n++ {
			for factor := 1; factor <= 6; factor++ {
				all := Axis{Out: n * factor, Hi: float64(n), End: n, Filter: f}
				for from := range all.Out {
					for out := 1; out <= min(8, all.Out-from); out++ {
						a := all.Crop(from, out)
						tp.buildVertical(a)
						for i := 1; i < out; i++ {
							require.GreaterOrEqual(t, tp.first[i], tp.first[i-1], "%+v", a)
						}
						require.LessOrEqual(t, int(tp.first[out-1])+tp.n, a.End, "%+v", a)
						tp.buildVertical(a.Mirror())
						for i := 1; i < out; i++ {
							require.LessOrEqual(t, tp.first[i], tp.first[i-1], "%+v, mirrored", a)
						}
						require.LessOrEqual(t, int(tp.first[0])+tp.n, a.End, "%+v, mirrored", a)
					}
				}
			}
		}
	}
}
