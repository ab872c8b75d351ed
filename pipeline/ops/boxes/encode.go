package boxes

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// EncodeOptions configures Encode.
type EncodeOptions struct {
	Anchors  []float64 // default boxes, left, top, right and bottom of each, 0 … 1
	Criteria float64   // a box and an anchor match from this IoU on, exclusively; default 0.5

	// Offsets gives boxes relative to their anchors: ((x − X)/W − Mean)/Std for the center, and
	// (ln(w/W) − Mean)/Std for the extents; anchors without a box are 0.
	Offsets bool
	Means   [4]float64 // of x, y, w, h
	Stds    [4]float64 // default 1
	Scale   float64    // boxes and anchors are multiplied by it before offsets are taken; default 1
}

// Encode assigns boxes to anchors as SSD does (Liu et al., "SSD: Single Shot MultiBox
// Detector", 2016): each box to the anchor that overlaps it most, and each anchor to the box
// that overlaps it most, if their IoU is above Criteria. Boxes are LTRB, labels integers, one
// per box. It returns a box per anchor, float32 M×4, center and extents, and a label per
// anchor, int32 M, 0 for none. DALI's box_encoder.
func Encode(g *pipeline.Graph, boxes, labels pipeline.Value, o EncodeOptions) (encoded, encodedLabels pipeline.Value) {
	const name = "box_encoder"
	boxSpec(g, name, boxes, LTRB)
	if o.Criteria == 0 {
		o.Criteria = 0.5
	}
	if o.Stds == [4]float64{} {
		o.Stds = [4]float64{1, 1, 1, 1}
	}
	if o.Scale == 0 {
		o.Scale = 1
	}
	switch l := labels.Spec(); {
	case !labels.Set():
		g.Fail(name, errors.New("the labels are missing"))
	case l.DType != datum.Int32 && l.DType != datum.Int64 && l.DType != datum.Uint8:
		g.Fail(name, fmt.Errorf("the labels are %s; integers, one per box, are wanted", l))
	case len(o.Anchors) == 0 || len(o.Anchors)%4 != 0:
		g.Fail(name, fmt.Errorf("Anchors has %d numbers; four for each anchor are wanted", len(o.Anchors)))
	case !(o.Criteria >= 0 && o.Criteria <= 1):
		g.Fail(name, fmt.Errorf("Criteria is %g; 0 … 1 is wanted", o.Criteria))
	case slices.Contains(o.Stds[:], 0):
		g.Fail(name, fmt.Errorf("Stds is %v; by 0 nothing can be divided", o.Stds))
	}
	if g.Err() != nil {
		return
	}
	k := encoder{o: o}
	for i := 0; i < len(o.Anchors); i += 4 {
		a := o.Anchors[i:]
		k.anchors = append(k.anchors, box{float32(a[0]), float32(a[1]), float32(a[2]), float32(a[3])})
	}
	vs := g.Add(pipeline.Op{
		Name: name, Inputs: []pipeline.Value{boxes, labels}, Config: fmt.Sprintf("%+v", o), Expensive: true,
		Outputs: []datum.Spec{{DType: datum.Float32, Shape: []int{len(k.anchors), 4}}, {DType: datum.Int32, Shape: []int{len(k.anchors)}}},
		New:     func() (datum.Kernel, error) { k := k; return &k, nil },
	})
	return vs[0], vs[1]
}

type encoder struct {
	o       EncodeOptions
	anchors []box
	best    []float32 // by anchor: the largest IoU so far
	match   []int     // and the box that has it
	ious    []float32 // of one box
}

func (k *encoder) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	boxes, err := boxesOf(in[0], LTRB)
	if err != nil {
		return err
	}
	n := len(boxes) / 4
	if in[1].Len() != n {
		return fmt.Errorf("%d labels for %d boxes; one for each is wanted", in[1].Len(), n)
	}
	m := len(k.anchors)
	k.best, k.match, k.ious = slices.Grow(k.best[:0], m)[:m], slices.Grow(k.match[:0], m)[:m], slices.Grow(k.ious[:0], m)[:m]
	for a := range k.anchors {
		k.best[a], k.match[a] = -1, -1
	}
	for b := range n {
		k.assign(b, edges(boxes[b*4:b*4+4], LTRB))
	}
	return k.write(in[1], boxes, out)
}

// assign offers box number b to all anchors. Of equals the last one counts, as in DALI.
func (k *encoder) assign(b int, box box) {
	most := 0
	for a, anchor := range k.anchors {
		k.ious[a] = box.iou(anchor)
		if k.ious[a] >= k.ious[most] {
			most = a
		}
	}
	k.ious[most] = 2 // which no IoU is: the box is sure of it
	for a, iou := range k.ious {
		if iou >= k.best[a] {
			k.best[a], k.match[a] = iou, b
		}
	}
}

func (k *encoder) write(labels *datum.Tensor, boxes []float32, out []*datum.Tensor) error {
	if _, err := out[0].Resize(len(k.anchors), 4); err != nil {
		return err
	}
	if _, err := out[1].Resize(len(k.anchors)); err != nil {
		return err
	}
	dst, to := out[0].Float32s(), out[1].Int32s()
	clear(to)
	for a, anchor := range k.anchors {
		d := dst[a*4 : a*4+4]
		b := k.match[a]
		if b < 0 || !(float64(k.best[a]) > k.o.Criteria) {
			center(d, anchor)
			if k.o.Offsets {
				clear(d)
			}
			continue
		}
		to[a] = label(labels, b)
		center(d, edges(boxes[b*4:b*4+4], LTRB))
		if k.o.Offsets {
			k.offsets(d, anchor)
		}
	}
	return nil
}

// label returns number i of integers.
func label(t *datum.Tensor, i int) int32 {
	switch t.DType() {
	case datum.Int64:
		return int32(t.Int64s()[i])
	case datum.Uint8:
		return int32(t.Uint8s()[i])
	}
	return t.Int32s()[i]
}

// center writes a box as center and extents.
func center(d []float32, b box) {
	d[0], d[1] = (b.left+b.right)*0.5, (b.top+b.bottom)*0.5
	d[2], d[3] = b.right-b.left, b.bottom-b.top
}

func (k *encoder) offsets(d []float32, anchor box) {
	var a [4]float32
	center(a[:], anchor)
	s := float32(k.o.Scale)
	for i := range 2 {
		x := (float32(d[i]*s) - float32(a[i]*s)) / (a[i+2] * s)
		d[i] = (x - float32(k.o.Means[i])) / float32(k.o.Stds[i])
		w := float32(math.Log(float64(d[i+2] / a[i+2])))
		d[i+2] = (w - float32(k.o.Means[i+2])) / float32(k.o.Stds[i+2])
	}
}
