package ops

import (
	"errors"
	"fmt"
	"math"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// WarpAffineOptions configures WarpAffine.
type WarpAffineOptions struct {
	// Matrix are six numbers per sample, 2×3, that map a point x, y of the result to a
	// point of the picture: M00·x + M01·y + M02, M10·x + M11·y + M12. The first pixel
	// reaches from 0, 0 to 1, 1. RotationMatrix and others make such matrices.
	Matrix pipeline.Value

	Forward bool           // Matrix maps points of the picture to points of the result
	Size    pipeline.Value // height and width of the result, two numbers per sample; default those of the picture
	Interp  Interp         // Linear, the default, or Nearest
	Fill    pipeline.Value // what lies outside of the picture, a number per sample; default: its border is repeated
	DType   datum.DType    // default that of the input
}

// RotateOptions configures Rotate.
type RotateOptions struct {
	Angle    pipeline.Value // degrees, counter-clockwise; a number per sample
	KeepSize bool           // the result has the size of the picture; default: what the rotated picture needs
	Size     pipeline.Value // height and width of the result, two numbers per sample
	Interp   Interp         // Linear, the default, or Nearest
	Fill     pipeline.Value // what lies outside of the picture, a number per sample; default: its border is repeated
	DType    datum.DType    // default that of the input
}

// WarpAffine moves the pixels of a picture by an affine transform. Sizes are rounded to
// whole pixels.
func WarpAffine(g *pipeline.Graph, v pipeline.Value, o WarpAffineOptions) pipeline.Value {
	const name = "warp_affine"
	if !o.Matrix.Set() {
		g.Fail(name, errors.New("Matrix is missing; give six numbers per sample"))
	}
	a := newArgs(g, name, v)
	k := warp{matrix: a.list("Matrix", o.Matrix), forward: o.Forward, keep: true}
	return k.add(a, v, o.Size, o.Fill, o.Interp, o.DType)
}

// Rotate turns a picture around its middle. Without KeepSize and Size the result is as
// large as it must be to hold all of the picture, one pixel more where that keeps the
// middle where it is between pixels.
func Rotate(g *pipeline.Graph, v pipeline.Value, o RotateOptions) pipeline.Value {
	const name = "rotate"
	if !o.Angle.Set() {
		g.Fail(name, errors.New("Angle is missing; give a number of degrees per sample"))
	}
	a := newArgs(g, name, v)
	k := warp{rotate: true, angle: a.number("Angle", o.Angle, 0), keep: o.KeepSize}
	return k.add(a, v, o.Size, o.Fill, o.Interp, o.DType)
}

// warp is the kernel of WarpAffine and Rotate.
type warp struct {
	rotate  bool
	angle   arg
	matrix  listArg
	forward bool
	keep    bool // the size of the picture where none is given
	size    listArg
	filled  bool
	fill    arg
	nearest bool
	to      datum.DType
	work    imaging.Warper
}

func (k warp) add(a *args, v, size, fill pipeline.Value, interp Interp, to datum.DType) pipeline.Value {
	g, name := a.g, a.op
	spec := picture(g, name, v)
	if g.Err() != nil {
		return pipeline.Value{}
	}
	if spec.DType == datum.Float16 {
		g.Fail(name, fmt.Errorf("the input is %s; cast it to float32 first", spec))
	}
	k.nearest = nearest(g, name, interp, InterpDefault)
	k.size, k.filled, k.fill = a.list("Size", size), fill.Set(), a.number("Fill", fill, 0)
	k.to = wanted(g, name, to, spec)
	h, w := knownSize(g, name, "Size", size)
	if k.keep && !k.size.given() {
		h, w = spec.Shape[0], spec.Shape[1]
	}
	return one(g, pipeline.Op{
		Name: name, Inputs: a.inputs, Outputs: []datum.Spec{pictureSpec(k.to, h, w, spec.Shape[2])}, Expensive: true,
		New:    func() (datum.Kernel, error) { k := k; return &k, nil },
		Config: fmt.Sprintf("%t %+v %+v %t %t %+v %t %+v %t %v", k.rotate, k.angle, k.matrix, k.forward, k.keep, k.size, k.filled, k.fill, k.nearest, k.to),
	})
}

// nearest reports whether i is Nearest, for operators that have Linear besides; def is their
// default where it is not Linear.
func nearest(g *pipeline.Graph, name string, i, def Interp) bool {
	if i == InterpDefault {
		i = def
	}
	if i != Nearest && i != Linear && i != InterpDefault {
		g.Fail(name, fmt.Errorf("Interp is %d; it must be Nearest or Linear", i))
	}
	return i == Nearest
}

// Release gives up what the kernel keeps from sample to sample.
func (k *warp) Release() { k.work.Release() }

func (k *warp) Run(s *datum.Sample, in, out []*datum.Tensor) error {
	h, w, c, err := shape3(in[0])
	if err != nil {
		return err
	}
	spec := imaging.WarpSpec{Nearest: k.nearest, Constant: k.filled}
	if spec.Fill, err = k.fill.finite("Fill", in); err != nil {
		return err
	}
	var dh, dw int
	if k.rotate {
		dh, dw, err = k.rotation(in, h, w, &spec.M)
	} else {
		dh, dw, err = k.affine(in, h, w, &spec.M)
	}
	if err != nil {
		return err
	}
	to := k.to
	if to == 0 {
		to = in[0].DType()
	}
	src := imaging.Image{Pix: in[0].Bytes(), Type: in[0].DType(), H: h, W: w, C: c}
	if n := k.work.Growth(to, dw, &src, k.nearest); n > 0 {
		if err := s.Reserve(k.work.Reserved() + n); err != nil {
			return err
		}
	}
	dst, err := out[0].ResizeAs(to, dh, dw, c)
	if err != nil {
		return err
	}
	out[0].SetLayout(datum.HWC)
	return plain(k.work.Apply(dst, to, dh, dw, &src, &spec))
}

// extents returns the size that is given for a sample; zeros where none is.
func (k *warp) extents(in []*datum.Tensor) (h, w int, err error) {
	if !k.size.given() {
		return 0, 0, nil
	}
	xs, err := k.size.exactly(in, 2, false)
	if err != nil {
		return 0, 0, err
	}
	return extents(k.size.name, xs)
}

// extents rounds a height and a width, which must be those of a picture.
func extents(name string, hw []float64) (h, w int, err error) {
	if y, x := math.Round(hw[0]), math.Round(hw[1]); y >= 1 && x >= 1 && y*x <= maxPixels {
		return int(y), int(x), nil
	}
	return 0, 0, fmt.Errorf("%s is %g×%g; a height and a width of 1 or more are wanted, and at most %d pixels", name, hw[0], hw[1], maxPixels)
}

// knownSize returns the extents of a size that is the same for all samples, -1 for others.
func knownSize(g *pipeline.Graph, op, name string, size pipeline.Value) (h, w int) {
	xs := constants(size)
	if len(xs) != 2 {
		return -1, -1
	}
	h, w, err := extents(name, xs)
	g.Fail(op, err)
	return h, w
}

func (k *warp) affine(in []*datum.Tensor, h, w int, m *[6]float64) (dh, dw int, err error) {
	xs, err := k.matrix.exactly(in, 6, false)
	if err != nil {
		return 0, 0, err
	}
	for i, x := range xs {
		m[i] = float64(float32(x))
	}
	if k.forward {
		var ok bool
		if *m, ok = imaging.Inverse(*m); !ok {
			return 0, 0, errors.New("Matrix has no inverse, which Forward asks for")
		}
	}
	if dh, dw, err = k.extents(in); dh == 0 {
		dh, dw = h, w
	}
	return dh, dw, err
}

func (k *warp) rotation(in []*datum.Tensor, h, w int, m *[6]float64) (dh, dw int, err error) {
	angle, err := k.angle.finite("Angle", in)
	if err != nil {
		return 0, 0, err
	}
	// In float32, as in DALI: whether 45° is more or less than that decides on the size.
	sin, cos := math.Sincos(float64(float32(math.Mod(float64(angle), 360)) * float32(math.Pi/180)))
	switch dh, dw, err = k.extents(in); {
	case err != nil:
		return 0, 0, err
	case dh != 0:
	case k.keep:
		dh, dw = h, w
	default:
		if dh, dw = imaging.RotatedSize(h, w, sin, cos); dh*dw > maxPixels {
			return 0, 0, fmt.Errorf("a picture of %d×%d pixels takes %d×%d when it is rotated, more than %d; set KeepSize", h, w, dh, dw, maxPixels)
		}
	}
	*m = imaging.Rotation(h, w, dh, dw, sin, cos)
	return dh, dw, nil
}
