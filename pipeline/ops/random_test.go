package ops_test

import (
	"image"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// draws returns what random operators yield for the samples 0 … n-1.
func draws(t *testing.T, n int, o pipeline.Options, define func(g *pipeline.Graph) []pipeline.Value) [][]float64 {
	t.Helper()
	o.BatchSize = 64
	names := []string{"a", "b", "c"}
	got, err := epoch(t, o, func(g *pipeline.Graph) {
		readers.Slices(g, readers.SlicesOptions{}, readers.Rows(make([]uint8, n)))
		for i, v := range define(g) {
			g.Output(names[i], v)
		}
	})
	require.NoError(t, err)
	var all [][]float64
	for _, name := range names {
		if got[name] == nil {
			break
		}
		row := make([]float64, n)
		for i, a := range got[name] {
			require.Empty(t, a.shape)
			row[i] = a.data[0]
		}
		all = append(all, row)
	}
	return all
}

func sum(x []float64) (s float64) {
	for _, v := range x {
		s += v
	}
	return s
}

func TestCoinFlip(t *testing.T) {
	const n = 10000
	for _, p := range []float64{0, 0.1, 0.5, 1} {
		got := draws(t, n, pipeline.Options{Seed: 3}, func(g *pipeline.Graph) []pipeline.Value {
			return []pipeline.Value{ops.CoinFlip(g, p), ops.CoinFlip(g, p)}
		})
		both := 0.
		for i, x := range got[0] {
			require.True(t, x == 0 || x == 1)
			both += x * got[1][i]
		}
		require.InDelta(t, n*p, sum(got[0]), 4*math.Sqrt(n*p*(1-p)))
		require.InDelta(t, n*p*p, both, 4*math.Sqrt(n*p*p*(1-p*p)), "two flips are independent")
		require.Equal(t, p == 0 || p == 1, slices.Equal(got[0], got[1]), "two flips differ")
	}
}

func TestUniform(t *testing.T) {
	const n = 10000
	got := draws(t, n, pipeline.Options{}, func(g *pipeline.Graph) []pipeline.Value {
		return []pipeline.Value{ops.Uniform(g, -2, 6), ops.Uniform(g, 1, math.Nextafter(1, 2)), ops.Constant(g, 0.1)}
	})
	require.InDelta(t, 2, sum(got[0])/n, 4*8/math.Sqrt(12*n))
	var counts [8]int
	for _, x := range got[0] {
		require.True(t, -2 <= x && x < 6)
		counts[int(x+2)]++
	}
	for _, c := range counts {
		require.InDelta(t, n/8, c, 4*math.Sqrt(n/8))
	}
	for _, x := range got[1] {
		require.LessOrEqual(t, x, 1., "rounding to float32 must not reach the end")
	}
	require.Equal(t, slices.Repeat([]float64{0.1}, n), got[2])
}

func TestRandomNumbersDependOnTheSeedAlone(t *testing.T) {
	define := func(g *pipeline.Graph) []pipeline.Value {
		return []pipeline.Value{ops.CoinFlip(g, 0.5), ops.Uniform(g, 0, 1)}
	}
	want := draws(t, 500, pipeline.Options{Seed: 9, Workers: 1, PrefetchDepth: 1}, define)
	require.Equal(t, want, draws(t, 500, pipeline.Options{Seed: 9, Workers: 7, PrefetchDepth: 3}, define))
	other := draws(t, 500, pipeline.Options{Seed: 10}, define)
	require.NotEqual(t, want[0], other[0])
	require.NotEqual(t, want[1], other[1])
}

// coordinates is a picture whose red and green are the column and the row.
func coordinates(h, w int) image.Image {
	m := smooth(h, w)
	for y := range h {
		for x := range w {
			m.Pix[y*m.Stride+4*x], m.Pix[y*m.Stride+4*x+1] = uint8(x), uint8(y)
		}
	}
	return m
}

// regions returns the regions that DecodeRandomCrop takes of n copies of a
// picture made by coordinates.
func regions(t *testing.T, h, w, n int, o ops.RandomCropOptions) []image.Rectangle {
	t.Helper()
	file := encodePNG(t, coordinates(h, w))
	got, err := epoch(t, pipeline.Options{BatchSize: 50, Seed: 2}, func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged(slices.Repeat([][]byte{file}, n)))[0]
		g.Output("crop", ops.DecodeRandomCrop(g, v, o))
	})
	require.NoError(t, err)
	all := make([]image.Rectangle, n)
	for i, a := range got["crop"] {
		x, y := int(a.data[0]), int(a.data[1])
		all[i] = image.Rect(x, y, x+a.shape[1], y+a.shape[0])
		last := a.data[len(a.data)-3:]
		require.Equal(t, image.Pt(int(last[0])+1, int(last[1])+1), all[i].Max, "the region is one piece of the picture")
		require.True(t, all[i].In(image.Rect(0, 0, w, h)))
	}
	return all
}

func TestRandomCropStaysWithinItsBounds(t *testing.T) {
	const h, w = 150, 200
	within := func(r image.Rectangle, lo, hi float64) (share, aspect float64) {
		share, aspect = float64(r.Dx()*r.Dy())/(h*w), float64(r.Dx())/float64(r.Dy())
		require.True(t, lo-0.01 < share && share < hi+0.01, "%v", r) // half a pixel more or less
		require.True(t, 0.75*0.97 < aspect && aspect < 4./3*1.03, "%v", r)
		return share, aspect
	}
	for _, r := range regions(t, h, w, 300, ops.RandomCropOptions{}) {
		within(r, 0.08, 1)
	}

	// Areas of which every shape fits, so that none is drawn again.
	const n = 600
	var area, shape, left, top float64
	for _, r := range regions(t, h, w, n, ops.RandomCropOptions{Area: [2]float64{0.1, 0.3}}) {
		share, aspect := within(r, 0.1, 0.3)
		area += share / n
		shape += math.Log(aspect) / n
		left += float64(r.Min.X) / float64(w-r.Dx()) / n
		top += float64(r.Min.Y) / float64(h-r.Dy()) / n
	}
	sigma := 4 / math.Sqrt(12*n)
	require.InDelta(t, 0.2, area, 0.2*sigma)
	require.InDelta(t, 0, shape, 2*math.Log(4./3)*sigma)
	require.InDelta(t, 0.5, left, sigma)
	require.InDelta(t, 0.5, top, sigma)

	for _, r := range regions(t, h, w, 200, ops.RandomCropOptions{Area: [2]float64{0.25, 0.25}, Aspect: [2]float64{1, 1}}) {
		require.Equal(t, image.Pt(87, 87), r.Size())
	}
}

func TestRandomCropOfOddPictures(t *testing.T) {
	for _, c := range []struct {
		name string
		h, w int
		opt  ops.RandomCropOptions
		want image.Rectangle // of every sample; empty: any
	}{
		{"one pixel", 1, 1, ops.RandomCropOptions{}, image.Rect(0, 0, 1, 1)},
		{"two pixels", 1, 2, ops.RandomCropOptions{}, image.Rectangle{}},
		{"very wide", 2, 250, ops.RandomCropOptions{Area: [2]float64{0.5, 1}}, image.Rect(123, 0, 126, 2)},
		{"very high", 250, 2, ops.RandomCropOptions{Area: [2]float64{0.5, 1}}, image.Rect(0, 123, 2, 126)},
		{"nothing but the whole", 10, 10, ops.RandomCropOptions{Area: [2]float64{1, 1}, Aspect: [2]float64{1, 1}}, image.Rect(0, 0, 10, 10)},
		{"never fitting", 10, 10, ops.RandomCropOptions{Area: [2]float64{1, 1}, Aspect: [2]float64{4, 5}, Attempts: 1}, image.Rect(0, 3, 10, 6)},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, r := range regions(t, c.h, c.w, 50, c.opt) {
				if !c.want.Empty() {
					require.Equal(t, c.want, r)
				}
			}
		})
	}
}

func TestRandomCropsAreRepeatable(t *testing.T) {
	file := encodePNG(t, coordinates(60, 80))
	crops := func(seed uint64, workers int) map[string][]array {
		got, err := epoch(t, pipeline.Options{BatchSize: 8, Seed: seed, Workers: workers}, func(g *pipeline.Graph) {
			v := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged(slices.Repeat([][]byte{file}, 40)))[0]
			g.Output("a", ops.DecodeRandomCrop(g, v, ops.RandomCropOptions{}))
			g.Output("b", ops.DecodeRandomCrop(g, v, ops.RandomCropOptions{}))
		})
		require.NoError(t, err)
		return got
	}
	one := crops(1, 1)
	require.Equal(t, one, crops(1, 5))
	require.NotEqual(t, one["a"], one["b"], "two operators crop differently")
	require.NotEqual(t, one["a"], crops(2, 1)["a"])
	require.NotEqual(t, one["a"][0], one["a"][1], "samples are cropped differently")
}
