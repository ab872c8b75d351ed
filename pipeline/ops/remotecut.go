package ops

import (
	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// RemoteCut hands v on, of any type and shape, and cuts the definition in two for remote
// workers: they run what was added before it, and send what it made and the rest needs; the
// training program runs what is added behind it. Without one, remote workers run all
// operators for single samples. A definition that ends in
//
//	img = ops.Resize(g, img, ops.ResizeOptions{Height: 224, Width: 224})
//	img = ops.RemoteCut(g, img)
//	img = ops.CropMirrorNormalize(g, img, ops.CropMirrorNormalizeOptions{Mirror: mirror, …})
//
// has bytes cross the network, a quarter of the floats that leave a definition without a cut.
//
// The cut is part of the definition whether there are remote workers or not, so samples do
// not depend on them. No operators are fused across it: behind a Resize of uint8 pictures,
// results are rounded to uint8 before CropMirrorNormalize sees them. Before it, a Resize, with
// or without a Crop behind it, is fused with the decoder of its input as it is with a
// CropMirrorNormalize, so a cut there takes no time.
//
// A definition has one cut at most. It cannot be in a branch, a loop or a mix, and readers
// come before it.
func RemoteCut(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
	return g.AddCut(v, func(p *pipeline.Op) *pipeline.Op {
		return fuseCut(p, "remote_cut", window{}, []pipeline.Value{v}, v.Spec())
	})
}

// fuseCut returns one operator that makes a picture and ends at the cut: the chain of a
// resize, or what may become one with the resize in front of a crop. Window is that of the
// crop, whose inputs are given.
func fuseCut(p *pipeline.Op, name string, w window, inputs []pipeline.Value, spec datum.Spec) *pipeline.Op {
	if spec.DType != datum.Uint8 || len(spec.Shape) != 3 {
		return nil
	}
	if cropped, ok := p.Detail.(window); ok && w == (window{}) {
		op := *p
		op.Name = p.Name + "+" + name
		op.Detail = nil
		op.Fuse = func(resize *pipeline.Op) *pipeline.Op { return fuseCut(resize, op.Name, cropped, p.Inputs, spec) }
		return &op
	}
	k := cmn{name: name, window: w, to: datum.Uint8, layout: datum.HWC, spec: imaging.CMNSpec{Scale: 1}}
	return fuseResize(p, k, spec.Shape[2], inputs, spec)
}
