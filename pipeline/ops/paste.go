package ops

import (
	"errors"
	"fmt"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// PasteOptions configures Paste. All are numbers per sample.
type PasteOptions struct {
	Ratio         pipeline.Value // of the canvas's extents to the picture's, 1 or more
	MinCanvasSize pipeline.Value // least extent of the canvas; default 0
	X, Y          pipeline.Value // where the picture lies, 0 (left, top) … 1 (right, bottom); default 0.5
	Fill          pipeline.Value // the rest of the canvas: one number, or one per channel; default 0
}

// Paste puts a picture H×W×C on a canvas of the same type, whose extents are Ratio times the
// picture's, but MinCanvasSize pixels at least. A Ratio below 1, or a place outside 0 … 1, is the
// sample's error.
func Paste(g *pipeline.Graph, v pipeline.Value, o PasteOptions) pipeline.Value {
	const name = "paste"
	spec := picture(g, name, v)
	if !o.Ratio.Set() {
		g.Fail(name, errors.New("Ratio is missing; give a number of 1 or more per sample"))
	}
	if g.Err() != nil {
		return pipeline.Value{}
	}
	if spec.DType == datum.Float16 {
		g.Fail(name, fmt.Errorf("the input is %s; cast it to float32 first", spec))
	}
	a := newArgs(g, name, v)
	k := paste{
		ratio: a.number("Ratio", o.Ratio, 1), least: a.number("MinCanvasSize", o.MinCanvasSize, 0),
		x: a.number("X", o.X, 0.5), y: a.number("Y", o.Y, 0.5), fill: fills{list: a.list("Fill", o.Fill, 0)},
	}
	return one(g, pipeline.Op{
		Name: name, Inputs: a.inputs, Outputs: []datum.Spec{pictureSpec(spec.DType, -1, -1, spec.Shape[2])}, Expensive: true,
		New:    func() (datum.Kernel, error) { k := k; return &k, nil },
		Config: fmt.Sprintf("%+v", k),
	})
}

type paste struct {
	ratio, least, x, y arg
	fill               fills
	src, start, shape  [3]int
}

func (k *paste) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	h, w, c, err := shape3(in[0])
	if err != nil {
		return err
	}
	ratio, err := k.ratio.finite("Ratio", in)
	if err != nil {
		return err
	}
	least, err := k.least.finite("MinCanvasSize", in)
	if err != nil {
		return err
	}
	x, err := k.x.finite("X", in)
	if err != nil {
		return err
	}
	y, err := k.y.finite("Y", in)
	if err != nil {
		return err
	}
	ch, cw := max(float64(ratio*float32(h)), float64(least)), max(float64(ratio*float32(w)), float64(least))
	switch {
	case ratio < 1:
		return fmt.Errorf("Ratio is %g; it must be 1 or more", ratio)
	case x < 0 || x > 1 || y < 0 || y > 1:
		return fmt.Errorf("the place %g, %g is outside 0 … 1", x, y)
	case ch*cw > maxPixels:
		return fmt.Errorf("the canvas has %.0f×%.0f pixels; at most %d are possible: give a smaller Ratio or MinCanvasSize", ch, cw, maxPixels)
	}
	t := in[0].DType()
	fill, err := k.fill.of(in, t, c)
	if err != nil {
		return err
	}
	k.src, k.shape = [3]int{h, w, c}, [3]int{int(ch), int(cw), c}
	k.start = [3]int{-int(y * float32(k.shape[0]-h)), -int(x * float32(k.shape[1]-w)), 0}
	dst, err := out[0].ResizeAs(t, k.shape[:]...)
	if err != nil {
		return err
	}
	out[0].SetLayout(in[0].Layout())
	return plain(imaging.Slice(dst, in[0].Bytes(), t.Size(), k.src[:], k.start[:], k.shape[:], fill, 2))
}
