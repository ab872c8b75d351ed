package ops

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline/datum"
)

// Orders are drawn equally often, and values evenly in their ranges: chi-square tests at a level
// of 0.1 %.
func TestColorJitterDraws(t *testing.T) {
	k := colorJitter{o: ColorJitterOptions{Brightness: [2]float64{0.6, 1.4}, Contrast: [2]float64{0.5, 1.5}, Saturation: [2]float64{0, 2}, Hue: [2]float64{-0.1, 0.1}}}
	orders, tenths := map[[4]tone]int{}, [4][10]int{}
	for i := range 24000 {
		s := datum.NewSample(t.Context(), nil, 1, 0, int64(i))
		r := datum.NewRandom(1).At(&s)
		j := k.draw(&r)
		orders[j.order]++
		for n, span := range [...][2]float64{k.o.Brightness, k.o.Contrast, k.o.Saturation, k.o.Hue} {
			tenths[n][int(10*(j.value[n]-span[0])/(span[1]-span[0]))]++
		}
	}
	var counts []int
	for _, n := range orders {
		counts = append(counts, n)
	}
	require.Len(t, counts, 24)
	require.Less(t, chiSquare(counts), 49.73) // 23 degrees of freedom
	for _, c := range tenths {
		require.Less(t, chiSquare(c[:]), 27.88) // 9
	}
}

// A jitter of one property makes what torchvision makes with the same value.
func TestColorJitterAsRecorded(t *testing.T) {
	r := recordedFigures(t)
	spec := pictureSpec(datum.Uint8, r.Height, r.Width, 3)
	var in, out datum.Tensor
	in.Declare(&spec)
	out.Declare(&spec)
	mem, err := in.Resize(spec.Shape...)
	require.NoError(t, err)
	copy(mem, toBytes(r.Picture))
	n := 0
	for _, c := range r.Calls {
		k, x := colorJitter{random: datum.NewRandom(1)}, 1+c.Magnitude
		switch c.Op {
		case "Brightness":
			k.o.Brightness = [2]float64{x, x}
		case "Contrast":
			k.o.Contrast = [2]float64{x, x}
		case "Color":
			k.o.Saturation = [2]float64{x, x}
		case "Hue":
			k.o.Hue = [2]float64{c.Magnitude, c.Magnitude}
		default:
			continue
		}
		n++
		s := datum.NewSample(t.Context(), nil, 1, 0, 0)
		require.NoError(t, k.Run(&s, []*datum.Tensor{&in}, []*datum.Tensor{&out}))
		for i, want := range c.Result {
			require.InDelta(t, want, out.Bytes()[i], 1, "%s %g", c.Op, c.Magnitude)
		}
	}
	require.Equal(t, 9, n)
}

// Regions are drawn as often as Probability says, of areas evenly in their range and of aspects
// evenly in the logarithm of theirs, and lie anywhere in the picture.
func TestRandomErasingDraws(t *testing.T) {
	const n, h, w = 20000, 2000, 3000
	k := erasing{probability: 0.25, area: [2]float64{0.02, 0.33}, aspect: [2]float64{0.5, 2}}
	areas, aspects, places := make([]int, 10), make([]int, 10), make([]int, 10)
	erased := 0
	for i := range n {
		s := datum.NewSample(t.Context(), nil, 1, 0, int64(i))
		r := datum.NewRandom(1).At(&s)
		c := k.draw(&r, h, w)
		require.True(t, c.y0 >= 0 && c.x0 >= 0 && c.y1 <= h && c.x1 <= w)
		dh, dw := float64(c.y1-c.y0), float64(c.x1-c.x0)
		if dh == 0 {
			continue
		}
		erased++
		tenth := func(x float64) int { return max(0, min(int(10*x), 9)) }
		areas[tenth((dh*dw/(h*w)-0.02)/0.31)]++
		aspects[tenth((math.Log(dh/dw)+math.Ln2)/(2*math.Ln2))]++
		places[tenth(float64(c.y0)/(h-dh+1))]++
	}

	require.InDelta(t, 0.25, float64(erased)/n, 4*math.Sqrt(0.25*0.75/n))
	for _, c := range [][]int{areas, aspects, places} {
		require.Less(t, chiSquare(c), 27.88) // 9 degrees of freedom
	}
	k.probability, k.area = 1, [2]float64{1, 1}
	s := datum.NewSample(t.Context(), nil, 1, 0, 0)
	r := datum.NewRandom(1).At(&s)
	require.Zero(t, k.draw(&r, h, w), "no region fits, and the picture stays as it is")
}
