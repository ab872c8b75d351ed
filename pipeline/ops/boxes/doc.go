// Package boxes holds operators on bounding boxes and points, under the names of NVIDIA DALI's:
// flips, linear maps, SSD's random crop and its encoding of boxes by anchors.
//
// Boxes are float32 N×4, or a single one of shape [4], in the coordinates of their picture: 0 …
// 1 from left to right and from top to bottom. They are left, top, right and bottom (LTRB) or
// left, top, width and height (XYWH). A box that is not inside its picture, or whose ends are
// turned around, is its sample's error: such a box is a mistake in the data set, and what an
// operator makes of it would be one, too.
package boxes

import (
	"errors"
	"fmt"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// Layout says what the four numbers of a box are.
type Layout uint8

const (
	LTRB Layout = iota // left, top, right, bottom; DALI's xyXY
	XYWH               // left, top, width, height; DALI's xyWH
)

// slack is by how much rounding may put a box outside its picture.
const slack = 1e-5

// Check returns an error for the first of boxes in a layout, four numbers each, that is not
// inside its picture.
func Check(boxes []float32, l Layout) error {
	for i := 0; i+4 <= len(boxes); i += 4 {
		b := edges(boxes[i:i+4], l)
		if !(b.left >= -slack && b.top >= -slack && b.right <= 1+slack && b.bottom <= 1+slack && b.left <= b.right && b.top <= b.bottom) {
			return fmt.Errorf("box %d is %v, which does not lie in its picture (0 … 1, left before right, top before bottom); correct the annotation, divide pixels by the picture's extents, or set the layout", i/4, boxes[i:i+4:i+4])
		}
	}
	return nil
}

// box is a rectangle by its edges.
type box struct{ left, top, right, bottom float32 }

func edges(b []float32, l Layout) box {
	if l == XYWH {
		return box{b[0], b[1], b[0] + b[2], b[1] + b[3]}
	}
	return box{b[0], b[1], b[2], b[3]}
}

func (b box) area() float32 { return (b.right - b.left) * (b.bottom - b.top) }

// overlap returns the area that two boxes share.
func (b box) overlap(o box) float32 {
	w := min(b.right, o.right) - max(b.left, o.left)
	h := min(b.bottom, o.bottom) - max(b.top, o.top)
	if w <= 0 || h <= 0 {
		return 0
	}
	return w * h
}

// iou returns the shared area of two boxes over that of both together, 0 where both are empty.
func (b box) iou(o box) float32 {
	shared := b.overlap(o)
	if shared == 0 {
		return 0
	}
	return shared / (b.area() + o.area() - shared)
}

// boxSpec checks that a value holds boxes.
func boxSpec(g *pipeline.Graph, op string, v pipeline.Value, l Layout) datum.Spec {
	s := v.Spec()
	n := len(s.Shape)
	switch {
	case !v.Set():
		g.Fail(op, errors.New("the boxes are missing"))
	case s.DType != datum.Float32 || n < 1 || n > 2 || s.Shape[n-1] >= 0 && s.Shape[n-1] != 4:
		g.Fail(op, fmt.Errorf("the boxes are %s; float32 N×4 is wanted", s))
	case l > XYWH:
		g.Fail(op, fmt.Errorf("the layout is %d; LTRB or XYWH is wanted", l))
	}
	return s
}

// boxesOf returns the boxes of a sample, with what is wrong with one of them, or nil where they
// are none.
func boxesOf(t *datum.Tensor, l Layout) ([]float32, error) {
	b := t.Float32s()
	if s := t.Shape(); s[len(s)-1] != 4 {
		return nil, fmt.Errorf("boxes of shape %v; four numbers for each are wanted", append([]int{}, s...))
	}
	return b, Check(b, l)
}
