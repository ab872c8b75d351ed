package ops

import (
	"errors"
	"fmt"
	"math"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// MultiPasteOptions configures MultiPaste. All but DType are numbers per sample, rows and
// columns of region after region. What is called Rel are shares of the picture's extents;
// places are rounded down and extents up.
type MultiPasteOptions struct {
	InIDs                     pipeline.Value // which picture each region comes from, from 0; default the i-th from the i-th
	InAnchors, InAnchorsRel   pipeline.Value // where regions begin; default the corner
	Shapes, ShapesRel         pipeline.Value // extents of regions; default all of the picture behind their anchors
	OutAnchors, OutAnchorsRel pipeline.Value // where they go; default the corner; Rel are shares of the result's extents
	OutputSize                pipeline.Value // height and width of the result; default those of the first picture
	DType                     datum.DType    // default that of the first picture
}

// MultiPaste makes a picture of regions of others, each put over those before it. What no
// region covers is 0. The pictures, H×W×C of any types and of as many channels, are those of the
// same sample: operators for samples see no other. Places are in pixels. A region that does not
// fit into its picture or the result is the sample's error.
func MultiPaste(g *pipeline.Graph, vs []pipeline.Value, o MultiPasteOptions) pipeline.Value {
	const name = "multi_paste"
	if len(vs) == 0 {
		g.Fail(name, errors.New("there is no picture; give one or more"))
		return pipeline.Value{}
	}
	first := picture(g, name, vs[0])
	for _, v := range vs[1:] {
		picture(g, name, v)
	}
	if g.Err() != nil {
		return pipeline.Value{}
	}
	a := newArgs(g, name, vs...)
	k := multiPaste{pictures: len(vs), to: wanted(g, name, o.DType, first), ids: a.list("InIDs", o.InIDs), size: a.list("OutputSize", o.OutputSize)}
	k.from.set(a, "InAnchors", o.InAnchors, o.InAnchorsRel)
	k.shape.set(a, "Shapes", o.Shapes, o.ShapesRel)
	k.into.set(a, "OutAnchors", o.OutAnchors, o.OutAnchorsRel)
	h, w := knownSize(g, name, "OutputSize", o.OutputSize)
	if !o.OutputSize.Set() {
		h, w = first.Shape[0], first.Shape[1]
	}
	return one(g, pipeline.Op{
		Name: name, Inputs: a.inputs, Outputs: []datum.Spec{pictureSpec(k.to, h, w, first.Shape[2])}, Expensive: true,
		New:    func() (datum.Kernel, error) { k := k; return &k, nil },
		Config: fmt.Sprintf("%+v", k),
	})
}

// pairs are a row and a column for every region.
type pairs struct {
	list     listArg
	relative bool
}

func (p *pairs) set(a *args, name string, absolute, relative pipeline.Value) {
	switch {
	case absolute.Set() && relative.Set():
		a.g.Fail(a.op, fmt.Errorf("give %s or %sRel, not both", name, name))
	case relative.Set():
		p.list, p.relative = a.list(name+"Rel", relative), true
	default:
		p.list = a.list(name, absolute)
	}
}

// of returns the pair for region i of n in a picture of h×w pixels; where none is given, def.
func (p *pairs) of(in []*datum.Tensor, i, n, h, w int, round func(float64) float64, def [2]int) ([2]int, error) {
	if !p.list.given() {
		return def, nil
	}
	xs, err := p.list.exactly(in, 2*n, false)
	if err != nil {
		return def, err
	}
	y, x := xs[2*i], xs[2*i+1]
	if p.relative {
		y, x = round(float64(float32(y)*float32(h))), round(float64(float32(x)*float32(w)))
	}
	if y < 0 || x < 0 || y > maxPixels || x > maxPixels || y != math.Trunc(y) || x != math.Trunc(x) {
		return def, fmt.Errorf("%s of region %d are %g, %g; whole numbers are wanted that are not negative", p.list.name, i, y, x)
	}
	return [2]int{int(y), int(x)}, nil
}

type multiPaste struct {
	pictures          int
	to                datum.DType
	ids, size         listArg
	from, shape, into pairs
}

// extents returns the size of the result.
func (k *multiPaste) extents(in []*datum.Tensor) (h, w, c int, err error) {
	if h, w, c, err = shape3(in[0]); err != nil || !k.size.given() {
		return h, w, c, err
	}
	xs, err := k.size.exactly(in, 2, false)
	if err == nil {
		h, w, err = extents(k.size.name, xs)
	}
	return h, w, c, err
}

func (k *multiPaste) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	h, w, c, err := k.extents(in)
	if err != nil {
		return err
	}
	to := k.to
	if to == 0 {
		to = in[0].DType()
	}
	dst, err := out[0].ResizeAs(to, h, w, c)
	if err != nil {
		return err
	}
	out[0].SetLayout(datum.HWC)
	clear(dst)
	ids, err := k.ids.of(in)
	if err != nil {
		return err
	}
	n := k.pictures
	if k.ids.given() {
		n = len(ids)
	}
	for i := range n {
		id := i
		if k.ids.given() {
			if id = int(ids[i]); float64(id) != ids[i] || id < 0 || id >= k.pictures {
				return fmt.Errorf("InIDs holds %g; there are pictures 0 … %d", ids[i], k.pictures-1)
			}
		}
		if err := k.paste(dst, to, h, w, c, in, i, n, in[id]); err != nil {
			return err
		}
	}
	return nil
}

// paste puts region i of n from a picture on the result.
func (k *multiPaste) paste(dst []byte, to datum.DType, h, w, c int, in []*datum.Tensor, i, n int, src *datum.Tensor) error {
	sh, sw, sc, err := shape3(src)
	if err != nil {
		return err
	}
	if sc != c {
		return fmt.Errorf("region %d comes from a picture of %d channels, the first picture has %d", i, sc, c)
	}
	from, err := k.from.of(in, i, n, sh, sw, math.Floor, [2]int{})
	if err != nil {
		return err
	}
	shape, err := k.shape.of(in, i, n, sh, sw, math.Ceil, [2]int{sh - from[0], sw - from[1]})
	if err != nil {
		return err
	}
	into, err := k.into.of(in, i, n, h, w, math.Floor, [2]int{})
	switch {
	case err != nil:
		return err
	case from[0]+shape[0] > sh || from[1]+shape[1] > sw:
		return fmt.Errorf("region %d of %d×%d pixels at %d, %d does not fit into the picture of %d×%d", i, shape[0], shape[1], from[0], from[1], sh, sw)
	case into[0]+shape[0] > h || into[1]+shape[1] > w:
		return fmt.Errorf("region %d of %d×%d pixels does not fit at %d, %d into the result of %d×%d; set OutputSize", i, shape[0], shape[1], into[0], into[1], h, w)
	case shape[0] <= 0 || shape[1] <= 0:
		return nil
	}
	m := imaging.Image{Pix: src.Bytes(), Type: src.DType(), H: sh, W: sw, C: sc}
	return plain(imaging.Paste(dst, to, w, into[0], into[1], &m, from[0], from[1], shape[0], shape[1]))
}
