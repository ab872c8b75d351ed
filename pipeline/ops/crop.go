package ops

import (
	"fmt"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// Bounds says what becomes of a region that reaches beyond the picture.
type Bounds uint8

const (
	BoundsError Bounds = iota // it is the sample's error
	BoundsPad                 // what lies outside is filled
	BoundsTrim                // the region is cut to the picture
)

// CropOptions configures Crop.
type CropOptions struct {
	Height, Width int            // of the region; 0 takes the whole extent
	PosY, PosX    pipeline.Value // where it lies, 0 (top, left) … 1 (bottom, right); default 0.5
	Truncate      bool           // round the place towards zero instead of to the nearest pixel
	OutOfBounds   Bounds         // default BoundsError
	Fill          []float64      // what fills under BoundsPad: one value or one per channel; default 0
}

// Crop cuts a region out of a picture H×W×C of any type. Type, channels and layout stay. A region
// that does not fit is an error, or what OutOfBounds says.
func Crop(g *pipeline.Graph, v pipeline.Value, o CropOptions) pipeline.Value {
	const name = "crop"
	spec := picture(g, name, v)
	if g.Err() != nil {
		return pipeline.Value{}
	}
	o.check(g, name, spec)
	a := newArgs(g, name, v)
	k := crop{o: o, window: newWindow(a, o)}
	h, w := k.window.known(spec)
	return one(g, pipeline.Op{
		Name: name, Inputs: a.inputs, Outputs: []datum.Spec{pictureSpec(spec.DType, h, w, spec.Shape[2])},
		New:    func() (datum.Kernel, error) { k := k; return &k, nil },
		Config: fmt.Sprintf("%+v fill=%v", k.window, o.Fill),
		Detail: k.window,
	})
}

// check reports options that cannot work on pictures of the given spec.
func (o *CropOptions) check(g *pipeline.Graph, op string, in datum.Spec) {
	h, w := in.Shape[0], in.Shape[1]
	switch {
	case o.Height < 0 || o.Width < 0:
		g.Fail(op, fmt.Errorf("the region is %d×%d; extents must not be negative", o.Height, o.Width))
	case o.OutOfBounds > BoundsTrim:
		g.Fail(op, fmt.Errorf("OutOfBounds is %d; it must be BoundsError, BoundsPad or BoundsTrim", o.OutOfBounds))
	case o.OutOfBounds == BoundsError && (h >= 0 && o.Height > h || w >= 0 && o.Width > w):
		g.Fail(op, fmt.Errorf("a region of %d×%d does not fit into %s; resize first, or set OutOfBounds", o.Height, o.Width, in))
	}
	perChannel(g, op, "Fill", o.Fill, in.Shape[2])
}

// window is the place of a region in a picture, as Crop and
// CropMirrorNormalize take it.
type window struct {
	height, width int
	posY, posX    arg
	truncate      bool
	bounds        imaging.Bounds
}

func newWindow(a *args, o CropOptions) window {
	return window{
		height: o.Height, width: o.Width,
		posY: a.number("PosY", o.PosY, 0.5), posX: a.number("PosX", o.PosX, 0.5),
		truncate: o.Truncate, bounds: imaging.Bounds(o.OutOfBounds),
	}
}

// whole reports whether the region is always the whole picture.
func (w window) whole() bool { return w.height == 0 && w.width == 0 }

// known returns the extents of the region as far as they are known of pictures
// of the given spec; -1 where they are not.
func (w window) known(s datum.Spec) (height, width int) {
	return w.extent(w.height, s.Shape[0]), w.extent(w.width, s.Shape[1])
}

func (w window) extent(want, have int) int {
	switch {
	case want == 0:
		return have
	case w.bounds == imaging.BoundsTrim && want > have:
		return -1
	}
	return want
}

// at returns the region in a picture of h×w pixels: first row and column, and
// extents.
func (w window) at(in []*datum.Tensor, h, wd int) (y, x, height, width int, err error) {
	if y, height, err = w.axis(w.posY, in, w.height, h); err == nil {
		x, width, err = w.axis(w.posX, in, w.width, wd)
	}
	return y, x, height, width, err
}

func (w window) axis(pos arg, in []*datum.Tensor, want, have int) (start, n int, err error) {
	if want == 0 {
		return 0, have, nil
	}
	p, err := pos.of(in)
	if err != nil {
		return 0, 0, err
	}
	if !(p >= 0 && p <= 1) {
		return 0, 0, fmt.Errorf("the position %g is outside 0 … 1", p)
	}
	start, n, err = w.bounds.Bound(imaging.CropAnchor(p, have, want, w.truncate), want, have)
	if err != nil {
		err = fmt.Errorf("a region of %d pixels does not fit into %d; resize first, or set OutOfBounds", want, have)
	}
	return start, n, err
}

type crop struct {
	o      CropOptions
	window window
	fill   []byte
	filled datum.DType // the type of fill
	src    [3]int
	start  [3]int
	shape  [3]int
}

func (k *crop) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	h, w, c, err := shape3(in[0])
	if err != nil {
		return err
	}
	y, x, height, width, err := k.window.at(in, h, w)
	if err != nil {
		return err
	}
	t := in[0].DType()
	dst, err := out[0].ResizeAs(t, height, width, c)
	if err != nil {
		return err
	}
	out[0].SetLayout(in[0].Layout())
	if len(k.o.Fill) > 0 && k.filled != t {
		k.fill, k.filled = make([]byte, len(k.o.Fill)*t.Size()), t
		if err := imaging.Cast(k.fill, t, datum.BytesOf(k.o.Fill), datum.Float64); err != nil {
			return err
		}
	}
	k.src, k.start, k.shape = [3]int{h, w, c}, [3]int{y, x, 0}, [3]int{height, width, c}
	return plain(imaging.Slice(dst, in[0].Bytes(), t.Size(), k.src[:], k.start[:], k.shape[:], k.fill, 2))
}
