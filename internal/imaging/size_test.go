package imaging

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestResolveSizes(t *testing.T) {
	const wide, tall = 1280, 720
	for _, c := range []struct {
		name string
		spec ResizeSpec
		want [2]int // height, width
	}{
		{"nothing asked for", ResizeSpec{}, [2]int{tall, wide}},
		{"exact", ResizeSpec{Size: [2]float64{100, 200}}, [2]int{100, 200}},
		{"height alone", ResizeSpec{Size: [2]float64{360, 0}}, [2]int{360, 640}},
		{"height alone, stretched", ResizeSpec{Size: [2]float64{360, 0}, Mode: ResizeStretch}, [2]int{360, wide}},
		{"not larger", ResizeSpec{Size: [2]float64{480, 640}, Mode: ResizeNotLarger}, [2]int{360, 640}},
		{"not smaller", ResizeSpec{Size: [2]float64{480, 640}, Mode: ResizeNotSmaller}, [2]int{480, 853}},
		{"shorter side, limited", ResizeSpec{Size: [2]float64{480, 480}, Mode: ResizeNotSmaller, MaxSize: [2]float64{640, 640}}, [2]int{360, 640}},
		{"limited", ResizeSpec{Size: [2]float64{480, 640}, MaxSize: [2]float64{0, 300}}, [2]int{480, 300}},
		{"mirrored", ResizeSpec{Size: [2]float64{-100, 200}}, [2]int{100, 200}},
		{"below half a sample", ResizeSpec{Size: [2]float64{0.3, 10}}, [2]int{1, 10}},
		{"half a sample rounds up", ResizeSpec{Size: [2]float64{2.5, 10}}, [2]int{3, 10}},
		{"region", ResizeSpec{Size: [2]float64{100, 0}, ROI: true, ROIStart: [2]float64{0, 0}, ROIEnd: [2]float64{200, 300}}, [2]int{100, 150}},
	} {
		p, err := c.spec.Resolve(tall, wide)
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, [2]int{p.Y.Out, p.X.Out}, c.name)
	}
}

func TestResolveRegions(t *testing.T) {
	spec := ResizeSpec{Size: [2]float64{3.4, -4}, ROI: true, ROIRelative: true, ROIStart: [2]float64{0.25, 0}, ROIEnd: [2]float64{0.75, 1}}
	p, err := spec.Resolve(40, 20)
	require.NoError(t, err)
	require.Equal(t, 3, p.Y.Out)
	require.InDelta(t, 20, (p.Y.Lo+p.Y.Hi)/2, 1e-5, "the centre of the region stays")
	require.InDelta(t, 20/3.4, (p.Y.Hi-p.Y.Lo)/3, 1e-5, "the scale is the one asked for")
	require.Equal(t, [2]float64{20, 0}, [2]float64{p.X.Lo, p.X.Hi}, "a negative extent mirrors")

	spec.WholePixels = true
	p, err = spec.Resolve(40, 20)
	require.NoError(t, err)
	require.Equal(t, [2]float64{10, 30}, [2]float64{p.Y.Lo, p.Y.Hi})

	spec = ResizeSpec{Size: [2]float64{10, 10}, ROI: true, ROIStart: [2]float64{30, 0}, ROIEnd: [2]float64{0, 20}, Min: Cubic, Mag: Nearest}
	p, err = spec.Resolve(40, 20)
	require.NoError(t, err)
	require.Equal(t, [2]float64{30, 0}, [2]float64{p.Y.Lo, p.Y.Hi}, "a region from the end to the start mirrors")
	require.Equal(t, [2]Filter{Cubic, Cubic}, [2]Filter{p.Y.Filter, p.X.Filter})
}

// TestRoundingIsDALIs has sizes and samples that DALI 2.4 was seen to choose where half a sample or the edge between two
// of them is missed by a rounding error of float32.
func TestRoundingIsDALIs(t *testing.T) {
	region := func(s ResizeSpec, y0, x0, y1, x1 float64) ResizeSpec {
		s.ROI, s.ROIRelative, s.ROIStart, s.ROIEnd = true, true, [2]float64{y0, x0}, [2]float64{y1, x1}
		return s
	}
	longer := ResizeSpec{Size: [2]float64{6, 6}, Mode: ResizeNotLarger}
	for _, c := range []struct {
		spec       ResizeSpec
		h, w       int
		rows, cols []int32
	}{
		{ResizeSpec{Size: [2]float64{1, 0}}, 9, 17, []int32{4}, []int32{4, 13}},
		{ResizeSpec{Size: [2]float64{0, 1}, MaxSize: [2]float64{5, 5}}, 7, 3, []int32{2, 5}, []int32{1}},
		{ResizeSpec{Size: [2]float64{2, 0}}, 12, 10, []int32{3, 9}, []int32{2, 8}},
		{region(longer, 0.27, 0.25, 0.8, 0.77), 1, 15, []int32{0}, []int32{4, 5, 6, 8, 9, 10}},
		{region(ResizeSpec{Size: [2]float64{0, 3}, MaxSize: [2]float64{20, 9}}, 0.25, 0.16, 0.63, 0.8), 9, 30, []int32{3}, []int32{7, 14, 20}},
	} {
		c.spec.Min, c.spec.Mag = Nearest, Nearest
		p, err := c.spec.Resolve(c.h, c.w)
		require.NoError(t, err)
		var y, x taps
		y.buildVertical(p.Y)
		x.buildVertical(p.X)
		require.Equal(t, [][]int32{c.rows, c.cols}, [][]int32{y.first, x.first}, "%+v of %d×%d", c.spec, c.h, c.w)
	}
	p, err := (&ResizeSpec{Size: [2]float64{11, 11}, Min: Nearest, Mag: Cubic}).Resolve(14, 4)
	require.NoError(t, err)
	var rows taps
	rows.buildVertical(p.Y)
	require.Equal(t, []int32{0, 1, 3, 4, 5, 6, 8, 9, 10, 12, 13}, rows.first, "whatever the filter of the other axis")
	p, err = new(region(ResizeSpec{Size: [2]float64{7.5, 7.5}, Mode: ResizeNotSmaller}, 0.368, 0.466, 0.802, 1.114)).Resolve(31, 11)
	require.NoError(t, err)
	require.Equal(t, [2]int{14, 8}, [2]int{p.Y.Out, p.X.Out})
}

func TestResolveKeepsAspect(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, w := rapid.IntRange(1, 1000).Draw(t, "h"), rapid.IntRange(1, 1000).Draw(t, "w")
		s := ResizeSpec{Size: [2]float64{rapid.Float64Range(1, 500).Draw(t, "y"), rapid.Float64Range(1, 500).Draw(t, "x")}, Mode: ResizeNotLarger}
		small, err := s.Resolve(h, w)
		require.NoError(t, err)
		s.Mode = ResizeNotSmaller
		large, err := s.Resolve(h, w)
		require.NoError(t, err)
		for d, a := range []struct{ small, large Axis }{{small.Y, large.Y}, {small.X, large.X}} {
			require.LessOrEqual(t, float64(a.small.Out), max(1, math.Round(s.Size[d]*1.0001)))
			require.GreaterOrEqual(t, float64(a.large.Out), math.Floor(s.Size[d]*0.9999))
		}
		scale := func(a Axis) float64 { return (a.Hi - a.Lo) / float64(a.Out) }
		if small.Y.Out > 1 && small.X.Out > 1 {
			require.InEpsilon(t, scale(small.Y), scale(small.X), 1e-4)
		}
		require.InEpsilon(t, scale(large.Y), scale(large.X), 1e-4)
	})
}

func TestResolveRefuses(t *testing.T) {
	for name, s := range map[string]ResizeSpec{
		"empty region":   {Size: [2]float64{4, 4}, ROI: true, ROIStart: [2]float64{3, 0}, ROIEnd: [2]float64{3, 5}},
		"huge output":    {Size: [2]float64{1e12, 4}},
		"not a number":   {Size: [2]float64{math.NaN(), 4}},
		"unknown mode":   {Mode: numResizeModes},
		"unknown filter": {Min: numFilters},
	} {
		_, err := s.Resolve(10, 10)
		var bad *ArgumentError
		require.ErrorAs(t, err, &bad, name)
	}
	_, err := new(ResizeSpec).Resolve(0, 10)
	require.Error(t, err)
}

func TestAxisCropIsPartOfTheWhole(t *testing.T) {
	whole := Axis{Out: 40, Lo: 3, Hi: 90, End: 100, Filter: Cubic, Antialias: true}
	var all, part taps
	for _, a := range []Axis{whole, whole.Mirror()} {
		all.buildVertical(a)
		part.buildVertical(a.Crop(11, 20))
		for i := range 20 {
			value := func(tp *taps, i int) (sum float64) {
				for k, w := range tp.weight[i*tp.n : (i+1)*tp.n] {
					sum += float64(w) * math.Sin(float64(tp.first[i])+float64(k))
				}
				return sum
			}
			require.InDelta(t, value(&all, 11+i), value(&part, i), 1e-5)
		}
	}
}
