package main

import (
	"fmt"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops/boxes"
)

var _ = applies(map[string]applyOp{
	"bb_flip": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		o := boxes.FlipOptions{Layout: boxes.XYWH, Anywhere: true, Horizontal: a.value("horizontal"), Vertical: a.value("vertical")}
		if a.yes("ltrb", false) {
			o.Layout = boxes.LTRB
		}
		return boxes.Flip(g, v, o)
	}),
	"coord_flip": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		return boxes.CoordFlip(g, v, boxes.CoordFlipOptions{
			Layout: a.text("layout"),
			FlipX:  a.value("flip_x"), FlipY: a.value("flip_y"), FlipZ: a.value("flip_z"),
			CenterX: a.value("center_x"), CenterY: a.value("center_y"), CenterZ: a.value("center_z"),
		})
	}),
	"coord_transform": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		return boxes.CoordTransform(g, v, boxes.CoordTransformOptions{M: a.list("M"), T: a.list("T"), MT: a.list("MT"), DType: a.dtype()})
	}),
	"box_encoder": func(g *pipeline.Graph, in []pipeline.Value, a *applyArgs) []pipeline.Value {
		if len(in) != 2 {
			a.fail(fmt.Errorf("%d inputs; boxes and labels are wanted", len(in)))
			return nil
		}
		o := boxes.EncodeOptions{Anchors: a.numbers("anchors"), Criteria: a.number("criteria", 0.5), Offsets: a.yes("offset", false), Scale: a.scale()}
		a.four("means", &o.Means)
		a.four("stds", &o.Stds)
		encoded, labels := boxes.Encode(g, in[0], in[1], o)
		return []pipeline.Value{encoded, labels}
	},
})

// four reads four numbers, where they are given.
func (a *applyArgs) four(name string, to *[4]float64) {
	xs := a.numbers(name)
	if copied := copy(to[:], xs); len(xs) != 0 && len(xs) != copied || copied%4 != 0 {
		a.fail(fmt.Errorf("%s has %d values; four are wanted", name, len(xs)))
	}
}
