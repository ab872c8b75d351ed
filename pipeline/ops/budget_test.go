package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// A few large pictures among small ones come out the same under a budget that has
// room for one of them at a time, what decoders hold included.
func TestLargePicturesUnderABudget(t *testing.T) {
	var files [][]byte
	for i := range 24 {
		switch {
		case i%8 == 3:
			files = append(files, encodeJPEG(t, smooth(900, 700)))
		case i%8 == 6:
			files = append(files, encodePNG(t, smooth(600, 500)))
		case i%2 == 0:
			files = append(files, encodeJPEG(t, smooth(40+i, 50)))
		default:
			files = append(files, encodePNG(t, smooth(30, 20+i)))
		}
	}
	train := func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
		v = ops.DecodeRandomCrop(g, v, ops.RandomCropOptions{Area: [2]float64{0.5, 1}})
		v = ops.Resize(g, v, ops.ResizeOptions{Height: 300, Width: 300})
		return ops.CropMirrorNormalize(g, v, ops.CropMirrorNormalizeOptions{CropOptions: ops.CropOptions{Height: 16, Width: 16}})
	}
	decode := func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
		return ops.DecodeImage(g, v, ops.DecodeOptions{})
	}
	for _, c := range []struct {
		name   string
		exact  bool
		define func(g *pipeline.Graph, v pipeline.Value) pipeline.Value
		budget int64
		beside int64 // less than the decoder holds
	}{
		{"decode", false, decode, 4 << 20, 300_000},
		{"train", false, train, 2 << 20, 50_000}, // regions of the pictures
		{"train exactly", true, train, 7 << 19, 50_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			var want []array
			for _, budget := range []int64{0, c.budget} {
				checked := memstats.NewChecked(memstats.Heap{})
				p, err := pipeline.New(pipeline.Options{
					BatchSize: 4, Workers: 3, ExactRGB: c.exact, MemoryBudget: budget, Allocator: checked, EnableMemoryStats: true,
				}, func(g *pipeline.Graph) {
					g.Output("out", c.define(g, readers.Slices(g, readers.SlicesOptions{}, readers.Ragged(files))[0]))
				})
				require.NoError(t, err)
				got, err := run(t, p)
				require.NoError(t, err)
				require.NoError(t, checked.Check())
				require.Zero(t, p.Memory().Live)
				if budget == 0 {
					want = got["out"]
					continue
				}
				require.Equal(t, want, got["out"])
				require.LessOrEqual(t, p.Memory().Peak, budget)
				s := p.OperatorMemory()
				require.Greater(t, s[1].MaxBeside, c.beside, "of the decoder")
			}
		})
	}
}

// A picture that needs more than the budget is named, with the bytes.
func TestAPictureThatIsTooLargeForTheBudget(t *testing.T) {
	for _, file := range [][]byte{encodeJPEG(t, smooth(900, 700)), encodePNG(t, smooth(900, 700))} {
		_, err := epoch(t, pipeline.Options{MemoryBudget: 1 << 20}, func(g *pipeline.Graph) {
			v := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged([][]byte{file}))[0]
			g.Output("out", ops.DecodeImage(g, v, ops.DecodeOptions{}))
		})
		var bad *pipeline.SampleError
		require.ErrorAs(t, err, &bad)
		require.Equal(t, "decoders.image", bad.Op)
		var over *memstats.BudgetError
		require.ErrorAs(t, err, &over)
		require.Greater(t, over.Need+over.Used, int64(1<<20))
		require.EqualValues(t, 1<<20, over.Limit)
	}
}
