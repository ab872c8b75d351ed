package ops

import (
	"errors"
	"fmt"
	"image"
	"math"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// DecodeCropOptions configures DecodeCrop. OutOfBounds is BoundsError or BoundsTrim.
type DecodeCropOptions struct {
	DecodeOptions
	CropOptions
}

// DecodeCrop decodes the region of a picture that Crop would cut out: uint8 H×W×C, as
// DecodeImage. What lies outside is not decoded where the format allows.
func DecodeCrop(g *pipeline.Graph, encoded pipeline.Value, o DecodeCropOptions) pipeline.Value {
	const name = "decoders.image_crop"
	if o.OutOfBounds == BoundsPad || len(o.Fill) > 0 {
		g.Fail(name, errors.New("beyond a picture there is nothing to decode: for BoundsPad and Fill, use DecodeImage and Crop"))
	}
	o.CropOptions.check(g, name, pictureSpec(datum.Uint8, -1, -1, -1))
	a := newArgs(g, name, encoded)
	return addDecode(g, name, encoded, o.DecodeOptions, &windowCut{newWindow(a, o.CropOptions)}, a)
}

// windowCut is the region of Crop.
type windowCut struct{ window }

func (c *windowCut) config() string { return fmt.Sprintf("%+v", c.window) }
func (c *windowCut) own() cut       { return c }
func (c *windowCut) known() (h, w int) {
	return c.window.known(pictureSpec(datum.Uint8, -1, -1, -1))
}

func (c *windowCut) region(_ *datum.Sample, in []*datum.Tensor, h, w int) (image.Rectangle, error) {
	y, x, dh, dw, err := c.at(in, h, w)
	if err == nil && (dh == 0 || dw == 0) {
		err = errors.New("the region is empty")
	}
	return image.Rect(x, y, x+dw, y+dh), plain(err)
}

// DecodeSliceOptions configures DecodeSlice. Its values are numbers per sample, one for
// each of Axes; what is called Rel are shares of the picture's extents. A region has a
// start, or begins with the picture, and an end or a shape, or ends with it.
type DecodeSliceOptions struct {
	DecodeOptions
	Start, RelStart pipeline.Value
	End, RelEnd     pipeline.Value
	Shape, RelShape pipeline.Value
	Axes            []int // 0 for rows, 1 for columns, in the order of the numbers; default 1, 0
}

// DecodeSlice decodes a region of a picture: uint8 H×W×C, as DecodeImage. Places are rounded to
// whole pixels; what lies outside is not decoded where the format allows. A region that is empty
// or does not fit is the sample's error.
func DecodeSlice(g *pipeline.Graph, encoded pipeline.Value, o DecodeSliceOptions) pipeline.Value {
	const name = "decoders.image_slice"
	if o.Axes == nil {
		o.Axes = []int{1, 0}
	}
	a := newArgs(g, name, encoded)
	c := &sliceCut{axes: someDims(g, name, datum.Spec{Shape: []int{-1, -1}}, o.Axes, "")}
	c.start = a.either("Start", o.Start, o.RelStart)
	ends := 0
	for _, v := range []pipeline.Value{o.End, o.RelEnd, o.Shape, o.RelShape} {
		if v.Set() {
			ends++
		}
	}
	if ends > 1 {
		g.Fail(name, errors.New("give one of End, RelEnd, Shape and RelShape"))
	}
	c.fromStart = o.Shape.Set() || o.RelShape.Set()
	if c.end = a.either("End", o.End, o.RelEnd); c.fromStart {
		c.end = a.either("Shape", o.Shape, o.RelShape)
	}
	return addDecode(g, name, encoded, o.DecodeOptions, c, a)
}

// places are where something lies along some axes, in pixels or in shares of extents.
type places struct {
	list     listArg
	relative bool
}

// either adds a value that is absolute, or one that is relative.
func (a *args) either(name string, absolute, relative pipeline.Value) places {
	switch {
	case absolute.Set() && relative.Set():
		a.g.Fail(a.op, fmt.Errorf("give %s or Rel%s, not both", name, name))
	case relative.Set():
		return places{a.list("Rel"+name, relative), true}
	}
	return places{list: a.list(name, absolute)}
}

// of returns the number for axis i of n, or def where there is none.
func (p *places) of(in []*datum.Tensor, i, n int, def float32) (float32, error) {
	if !p.list.given() {
		return def, nil
	}
	xs, err := p.list.exactly(in, n, false)
	if err != nil {
		return 0, err
	}
	return float32(xs[i]), nil
}

// pixels returns a place in pixels, of a picture of so many.
func (p *places) pixels(x float32, extent int) float32 {
	if p.relative {
		return x * float32(extent)
	}
	return x
}

// sliceCut is the region of DecodeSlice.
type sliceCut struct {
	axes       []int
	start, end places
	fromStart  bool // end counts from start
}

func (c *sliceCut) config() string    { return fmt.Sprintf("%+v", *c) }
func (c *sliceCut) known() (h, w int) { return -1, -1 }

func (c *sliceCut) own() cut {
	o := *c
	return &o
}

func (c *sliceCut) region(_ *datum.Sample, in []*datum.Tensor, h, w int) (image.Rectangle, error) {
	extents := [2]int{h, w}
	first, last := [2]int{}, extents
	for i, axis := range c.axes {
		n := extents[axis]
		start, end, err := c.along(in, i, n)
		if err != nil {
			return image.Rectangle{}, err
		}
		a, b := math.Round(float64(start)), math.Round(float64(end))
		if !(a >= 0 && a < b && b <= float64(n)) {
			return image.Rectangle{}, fmt.Errorf("a region from %g to %g does not fit into %d pixels, or is empty", start, end, n)
		}
		first[axis], last[axis] = int(a), int(b)
	}
	return image.Rect(first[1], first[0], last[1], last[0]), nil
}

// along returns where the region starts and ends along axis i, of n pixels, with the
// roundings of DALI's float32.
func (c *sliceCut) along(in []*datum.Tensor, i, n int) (start, end float32, err error) {
	if start, err = c.start.of(in, i, len(c.axes), 0); err != nil {
		return 0, 0, err
	}
	from := c.start.pixels(start, n)
	if !c.end.list.given() {
		return from, float32(n), nil
	}
	if end, err = c.end.of(in, i, len(c.axes), 0); err != nil {
		return 0, 0, err
	}
	switch {
	case !c.fromStart:
		return from, c.end.pixels(end, n), nil
	case c.start.relative && c.end.relative:
		return from, c.end.pixels(start+end, n), nil
	}
	return from, from + c.end.pixels(end, n), nil
}

// PeekImageShapeOptions configures PeekImageShape.
type PeekImageShapeOptions struct {
	Type              ColorType   // of the picture; default RGB
	IgnoreOrientation bool        // as for DecodeImage
	Formats           []Format    // likewise
	DType             datum.DType // default Int64
}

// PeekImageShape reads height, width and channels that a picture would have if it were
// decoded: an array of three numbers. The pixels are not decoded, and may be damaged.
func PeekImageShape(g *pipeline.Graph, encoded pipeline.Value, o PeekImageShapeOptions) pipeline.Value {
	const name = "peek_image_shape"
	if o.DType == 0 {
		o.DType = datum.Int64
	}
	element(g, name, o.DType)
	d := DecodeOptions{Type: o.Type, IgnoreOrientation: o.IgnoreOrientation, MaxPixels: math.MaxInt64, Formats: o.Formats}
	d.check(g, name, encoded)
	k := peek{o: d, to: o.DType}
	config := (&decode{o: d}).config()
	return one(g, pipeline.Op{
		Name: name, Inputs: []pipeline.Value{encoded}, Outputs: []datum.Spec{{DType: o.DType, Shape: []int{3}}},
		New:    func() (datum.Kernel, error) { k := k; return &k, nil },
		Config: fmt.Sprintf("%s %v", config, o.DType),
	})
}

type peek struct {
	o    DecodeOptions
	to   datum.DType
	file picturefile
}

// Release gives up what the kernel keeps from sample to sample.
func (k *peek) Release() { k.file.release() }

func (k *peek) Run(s *datum.Sample, in, out []*datum.Tensor) error {
	if err := k.file.open(s, in[0].Bytes(), &k.o); err != nil {
		return err
	}
	dst, err := out[0].Resize(3)
	if err != nil {
		return err
	}
	shape := [3]int64{int64(k.file.h), int64(k.file.w), int64(k.file.channels(k.o.Type))}
	return plain(imaging.Cast(dst, k.to, datum.BytesOf(shape[:]), datum.Int64))
}
