package boxes_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/ops/boxes"
	"github.com/planktonml/plankton/pipeline/readers"
)

// epoch runs a pipeline over columns and hands every sample of its first epoch to see.
func epoch(t *testing.T, o pipeline.Options, columns []readers.Column, define func(g *pipeline.Graph, in []pipeline.Value), see func(b *iterator.Batch, row int)) error {
	t.Helper()
	o.BatchSize = 3
	p, err := pipeline.New(o, func(g *pipeline.Graph) { define(g, readers.Slices(g, readers.SlicesOptions{}, columns...)) })
	if err != nil {
		return err
	}
	l, err := iterator.New(iterator.Options{}, p)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	for b, err := range l.Epoch(t.Context()) {
		if err != nil {
			return err
		}
		for row, ok := range b.Mask() {
			if ok {
				see(b, row)
			}
		}
	}
	return nil
}

// one is epoch for an operator of one input and one output on one sample.
func one(t *testing.T, data []float32, shape []int, define func(g *pipeline.Graph, v pipeline.Value) pipeline.Value) (got []float32, err error) {
	t.Helper()
	err = epoch(t, pipeline.Options{}, []readers.Column{readers.Rows(data, shape...)}, func(g *pipeline.Graph, in []pipeline.Value) {
		g.Output("out", define(g, in[0]))
	}, func(b *iterator.Batch, row int) { got = append(got, b.Sample("out", row).Float32s()...) })
	return got, err
}

func TestFlip(t *testing.T) {
	for _, c := range []struct {
		name     string
		o        func(g *pipeline.Graph) boxes.FlipOptions
		in, want []float32
	}{
		{"edges", func(*pipeline.Graph) boxes.FlipOptions { return boxes.FlipOptions{} }, []float32{0.125, 0.25, 0.5, 1}, []float32{0.5, 0.25, 0.875, 1}},
		{"extents", func(*pipeline.Graph) boxes.FlipOptions { return boxes.FlipOptions{Layout: boxes.XYWH} }, []float32{0.125, 0.25, 0.5, 0.75}, []float32{0.375, 0.25, 0.5, 0.75}},
		{"upside down", func(g *pipeline.Graph) boxes.FlipOptions {
			return boxes.FlipOptions{Horizontal: ops.Constant(g, 0), Vertical: ops.Constant(g, 1)}
		}, []float32{0.125, 0.25, 0.5, 1}, []float32{0.125, 0, 0.5, 0.75}},
	} {
		got, err := one(t, c.in, []int{1, 4}, func(g *pipeline.Graph, v pipeline.Value) pipeline.Value { return boxes.Flip(g, v, c.o(g)) })
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, got, c.name)
	}
}

// A box that is not in its picture is an error that names it and its sample.
func TestABoxOutsideItsPicture(t *testing.T) {
	for _, b := range [][]float32{{0, 0, 1.1, 1}, {-0.1, 0, 1, 1}, {0.5, 0, 0.4, 1}, {0, 0, float32(math.NaN()), 1}} {
		_, err := one(t, append([]float32{0, 0, 1, 1}, b...), []int{2, 4}, func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			return boxes.Flip(g, v, boxes.FlipOptions{})
		})
		require.ErrorContains(t, err, "readers.Slices[0]: bb_flip: box 1 is [", b)
		require.ErrorContains(t, err, "which does not lie in its picture")
	}
}

func TestCoordTransform(t *testing.T) {
	list := func(g *pipeline.Graph, xs ...float64) pipeline.Value { return ops.Constants(g, datum.Float64, xs...) }
	for _, c := range []struct {
		name string
		o    func(g *pipeline.Graph) boxes.CoordTransformOptions
		want []float32
	}{
		{"matrix", func(g *pipeline.Graph) boxes.CoordTransformOptions {
			return boxes.CoordTransformOptions{M: list(g, 1, 2, 3, 4), T: list(g, 10, 20)}
		}, []float32{15, 31}},
		{"both", func(g *pipeline.Graph) boxes.CoordTransformOptions {
			return boxes.CoordTransformOptions{MT: list(g, 1, 2, 10, 3, 4, 20)}
		}, []float32{15, 31}},
		{"diagonal", func(g *pipeline.Graph) boxes.CoordTransformOptions {
			return boxes.CoordTransformOptions{M: list(g, 2)}
		}, []float32{2, 4}},
		{"to one coordinate", func(g *pipeline.Graph) boxes.CoordTransformOptions {
			return boxes.CoordTransformOptions{M: list(g, 1, 1)}
		}, []float32{3}},
		{"nothing", func(*pipeline.Graph) boxes.CoordTransformOptions { return boxes.CoordTransformOptions{} }, []float32{1, 2}},
	} {
		got, err := one(t, []float32{1, 2}, []int{1, 2}, func(g *pipeline.Graph, v pipeline.Value) pipeline.Value { return boxes.CoordTransform(g, v, c.o(g)) })
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, got, c.name)
	}
	got, err := one(t, []float32{1, 2, 3, 4}, []int{2, 2}, func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
		return boxes.CoordFlip(g, v, boxes.CoordFlipOptions{CenterX: ops.Constant(g, 10), FlipY: ops.Constant(g, 1)})
	})
	require.NoError(t, err)
	require.Equal(t, []float32{19, -1, 17, -3}, got)
}

// Every anchor and every box meet as the definition says: a box's best anchor is its own.
func TestEncode(t *testing.T) {
	anchors := []float64{0, 0, 0.5, 0.5, 0.5, 0.5, 1, 1, 0, 0, 1, 1}
	columns := []readers.Column{readers.Rows([]float32{0.1, 0.1, 0.4, 0.4}, 1, 4), readers.Rows([]int32{7}, 1)}
	for _, offsets := range []bool{false, true} {
		var got []float32
		var labels []int32
		require.NoError(t, epoch(t, pipeline.Options{}, columns, func(g *pipeline.Graph, in []pipeline.Value) {
			b, l := boxes.Encode(g, in[0], in[1], boxes.EncodeOptions{Anchors: anchors, Offsets: offsets})
			g.Output("boxes", b)
			g.Output("labels", l)
		}, func(b *iterator.Batch, row int) {
			got, labels = append(got, b.Sample("boxes", row).Float32s()...), append(labels, b.Sample("labels", row).Int32s()...)
		}))
		require.Equal(t, []int32{7, 0, 0}, labels)
		want := []float32{0.25, 0.25, 0.3, 0.3, 0.75, 0.75, 0.5, 0.5, 0.5, 0.5, 1, 1}
		if offsets {
			want = make([]float32, 12)
			want[2], want[3] = float32(math.Log(0.6)), float32(math.Log(0.6))
		}
		require.InDeltaSlice(t, want, got, 1e-6)
	}
}

// What RandomCrop promises holds for every crop, and the same sample gets the same one.
func TestRandomCrop(t *testing.T) {
	const n = 200
	var data []float32
	var labels []int32
	for i := range n {
		x := float32(i%10) / 20
		data = append(data, x, 0.1, x+0.3, 0.4, 0.55, 0.6, 0.95, 0.9)
		labels = append(labels, int32(i), int32(-i))
	}
	columns := []readers.Column{readers.Rows(data, 2, 4), readers.Rows(labels, 2)}
	prune := 0.25
	for name, o := range map[string]boxes.RandomCropOptions{
		"SSD":     {Scaling: [2]float64{0.3, 1}, AspectRatio: [2]float64{0.5, 2}, Thresholds: []float64{0, 0.1, 0.3}, AlwaysCrop: true},
		"covered": {Scaling: [2]float64{0.5, 1}, AspectRatio: [2]float64{0.5, 2}, Thresholds: []float64{0.5}, Covered: true, AnyBox: true},
		"pruned":  {Scaling: [2]float64{0.3, 0.9}, AspectRatio: [2]float64{0.5, 2}, AlwaysCrop: true, Prune: &prune},
	} {
		t.Run(name, func(t *testing.T) {
			var first [][]float32
			for workers := 1; workers <= 2; workers++ {
				i, whole := 0, 0
				require.NoError(t, epoch(t, pipeline.Options{Workers: workers, Seed: 5}, columns, func(g *pipeline.Graph, in []pipeline.Value) {
					c := boxes.RandomCrop(g, in[0], in[1], o)
					for name, v := range map[string]pipeline.Value{"anchor": c.Anchor, "shape": c.Shape, "boxes": c.Boxes, "labels": c.Labels, "indices": c.Indices} {
						g.Output(name, v)
					}
				}, func(b *iterator.Batch, row int) {
					a, s := b.Sample("anchor", row).Float32s(), b.Sample("shape", row).Float32s()
					kept, index := b.Sample("boxes", row).Float32s(), b.Sample("indices", row).Int32s()
					require.NotEmpty(t, index)
					require.NoError(t, boxes.Check(kept, boxes.LTRB))
					require.LessOrEqual(t, a[0]+s[0], float32(1.00001))
					if s[0] == 1 && s[1] == 1 {
						whole++
					} else {
						require.InDelta(t, 1.25, s[0]/s[1], 0.76)
						require.GreaterOrEqual(t, s[0], float32(o.Scaling[0])-1e-5)
					}
					for j, n := range index {
						require.Equal(t, labels[2*i+int(n)], b.Sample("labels", row).Int32s()[j])
						box := data[8*i+4*int(n):][:4]
						left := min(max((box[0]-a[0])/s[0], 0), 1)
						require.InDelta(t, left, kept[4*j], 1e-5)
					}
					if workers == 1 {
						first = append(first, append(append([]float32{}, a...), s...))
					} else {
						require.Equal(t, first[i], append(append([]float32{}, a...), s...))
					}
					i++
				}))
				require.Equal(t, n, i)
				require.Less(t, whole, n)
			}
		})
	}
}

// A crop of fixed extents lies on whole pixels inside the picture.
func TestRandomCropOfFixedShape(t *testing.T) {
	columns := []readers.Column{readers.Rows([]float32{0.4, 0.4, 0.6, 0.6}, 1, 4)}
	require.NoError(t, epoch(t, pipeline.Options{}, columns, func(g *pipeline.Graph, in []pipeline.Value) {
		two := func(a, b float64) pipeline.Value { return ops.Constants(g, datum.Int32, a, b) }
		c := boxes.RandomCrop(g, in[0], pipeline.Value{}, boxes.RandomCropOptions{InputShape: two(200, 100), CropShape: two(150, 70)})
		g.Output("anchor", c.Anchor)
		g.Output("shape", c.Shape)
		g.Output("boxes", c.Boxes)
	}, func(b *iterator.Batch, row int) {
		a := b.Sample("anchor", row).Float32s()
		require.Equal(t, []float32{150, 70}, b.Sample("shape", row).Float32s())
		require.Equal(t, float32(int(a[0])), a[0])
		require.InDelta(t, (80-a[0])/150, b.Sample("boxes", row).Float32s()[0], 1e-5)
	}))
}

func TestMistakes(t *testing.T) {
	for want, define := range map[string]func(g *pipeline.Graph, v pipeline.Value){
		"bb_flip: the boxes are float32 1×3; float32 N×4 is wanted": func(g *pipeline.Graph, v pipeline.Value) {
			boxes.Flip(g, ops.Slice(g, v, ops.SliceOptions{End: ops.Constant(g, 3), Axes: []int{1}}), boxes.FlipOptions{})
		},
		"coord_flip: Layout is \"xq\"; x, y and z are wanted, each at most once": func(g *pipeline.Graph, v pipeline.Value) { boxes.CoordFlip(g, v, boxes.CoordFlipOptions{Layout: "xq"}) },
		"coord_transform: a matrix of 3 numbers for points of 4 coordinates; rows of 4 are wanted": func(g *pipeline.Graph, v pipeline.Value) {
			boxes.CoordTransform(g, v, boxes.CoordTransformOptions{M: ops.Constants(g, datum.Float32, 1, 2, 3)})
		},
		"random_bbox_crop: a threshold is 2; 0 … 1 is wanted": func(g *pipeline.Graph, v pipeline.Value) {
			boxes.RandomCrop(g, v, pipeline.Value{}, boxes.RandomCropOptions{Thresholds: []float64{2}})
		},
		"random_bbox_crop: CropShape is given without InputShape; set both": func(g *pipeline.Graph, v pipeline.Value) {
			boxes.RandomCrop(g, v, pipeline.Value{}, boxes.RandomCropOptions{CropShape: ops.Constants(g, datum.Int32, 2, 2)})
		},
		"box_encoder: the labels are missing": func(g *pipeline.Graph, v pipeline.Value) { boxes.Encode(g, v, pipeline.Value{}, boxes.EncodeOptions{}) },
	} {
		_, err := pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
			define(g, readers.Slices(g, readers.SlicesOptions{}, readers.Rows([]float32{0, 0, 1, 1}, 1, 4))[0])
		})
		require.EqualError(t, err, "pipeline: "+want)
	}
}
