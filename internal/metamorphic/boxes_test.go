package metamorphic

import (
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/ops/boxes"
)

// boxed adds operators on boxes and points, which follow from a value.
func (b *builder) boxed() {
	salt := b.d.Uint64()
	specs := []datum.Spec{{DType: datum.Float32, Shape: []int{-1, 4}}, {DType: datum.Int32, Shape: []int{-1}}}
	vs := ops.Func(b.g, ops.FuncOptions{Name: "boxes", Outputs: specs}, func(_ *datum.Sample, in, out []*datum.Tensor) error {
		h := digest(salt, in)
		n := int(h%6) + 1
		mem, err := out[0].Resize(n, 4)
		if err != nil {
			return err
		}
		labels, err := out[1].Resize(n)
		if err != nil {
			return err
		}
		for i := range n {
			h = hash(h)
			x, y := float32(h%700)/1000, float32(h>>16%700)/1000
			copy(datum.View[float32](mem)[4*i:], []float32{x, y, x + float32(h>>32%300)/1000, y + float32(h>>48%300)/1000})
			datum.View[int32](labels)[i] = int32(h%9) + 1
		}
		return nil
	}, b.any())
	v, labels := boxes.Flip(b.g, vs[0], boxes.FlipOptions{Horizontal: ops.CoinFlip(b.g, 0.5), Vertical: ops.CoinFlip(b.g, 0.5)}), vs[1]
	switch b.d.IntN(4) {
	case 0:
		c := boxes.RandomCrop(b.g, v, labels, boxes.RandomCropOptions{
			Thresholds: []float64{0, 0.3, 0.7}, Scaling: [2]float64{0.3, 1}, AspectRatio: [2]float64{0.5, 2}, TotalAttempts: 20, AnyBox: b.d.oneIn(2),
		})
		b.values = append(b.values, c.Anchor, c.Shape, c.Boxes, c.Labels, c.Indices)
	case 1:
		encoded, classes := boxes.Encode(b.g, v, labels, boxes.EncodeOptions{
			Anchors: []float64{0, 0, 0.5, 0.5, 0.5, 0.5, 1, 1, 0.25, 0.25, 0.75, 0.75}, Criteria: 0.1, Offsets: b.d.oneIn(2),
		})
		b.values = append(b.values, encoded, classes)
	case 2:
		points := ops.Subscript(b.g, v, ops.All(), ops.Range(0, 2))
		b.values = append(b.values, boxes.CoordFlip(b.g, points, boxes.CoordFlipOptions{FlipY: ops.CoinFlip(b.g, 0.5)}))
	case 3:
		turn := ops.RotationMatrix(b.g, ops.RotationMatrixOptions{Angle: b.uniform(-180, 180)})
		points := ops.Subscript(b.g, v, ops.All(), ops.Range(2, 4))
		b.values = append(b.values, boxes.CoordTransform(b.g, points, boxes.CoordTransformOptions{MT: turn}))
	}
	b.values = append(b.values, v)
}
