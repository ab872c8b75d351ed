package ops

import (
	"fmt"
	"math"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// Interp is an interpolation filter.
type Interp uint8

const (
	InterpDefault Interp = iota // Linear
	Nearest                     // the pixel whose cell holds the centre of the output pixel
	Linear                      // triangle
	Triangular                  // the same as Linear
	Cubic                       // Keys' cubic convolution, a = -1/2
	Lanczos3                    // windowed sinc of radius 3
	Gaussian
)

var imagingFilters = [...]imaging.Filter{
	InterpDefault: imaging.Linear, Nearest: imaging.Nearest, Linear: imaging.Linear, Triangular: imaging.Triangular,
	Cubic: imaging.Cubic, Lanczos3: imaging.Lanczos3, Gaussian: imaging.Gaussian,
}

// ResizeMode says how the wanted extents become those of the output.
type ResizeMode uint8

const (
	ModeDefault ResizeMode = iota // as given; one that is not given keeps the aspect ratio
	Stretch                       // as given; one that is not given stays as it is
	NotLarger                     // aspect ratio kept, no extent above the wanted one
	NotSmaller                    // aspect ratio kept, no extent below the wanted one
)

// ResizeOptions configures Resize: an extent, a limit or a region must be given.
// Extents may be fractions; the output is rounded and the scale kept. A negative
// extent mirrors.
type ResizeOptions struct {
	Height, Width       float64    // wanted extents; 0 leaves one open
	Shorter, Longer     float64    // extent of the shorter or the longer side instead; the aspect ratio is kept
	Mode                ResizeMode // default ModeDefault
	MaxHeight, MaxWidth float64    // upper limits of the output; 0 means none

	Interp      Interp // filter; default Linear
	Min, Mag    Interp // filters for axes that shrink and that grow; default Interp
	NoAntialias bool   // filters keep their width when they shrink a picture

	DType       datum.DType // Uint8 or Float32; default that of the input
	WholePixels bool        // map exactly the source region to the rounded output

	ROIStart, ROIEnd [2]float64 // part of the source that is read: y, x of its edges; all of it where both are zero
	ROIRelative      bool       // they are fractions of the extents
}

// Resize resamples a picture. When it shrinks one, the filter widens so that
// every source pixel counts (antialias). Channels and layout stay.
func Resize(g *pipeline.Graph, v pipeline.Value, o ResizeOptions) pipeline.Value {
	const name = "resize"
	in := picture(g, name, v)
	spec, err := o.spec()
	g.Fail(name, err)
	if g.Err() != nil {
		return pipeline.Value{}
	}
	to := o.DType
	if to == 0 {
		to = in.DType
	}
	// What fails for one pixel fails for every picture of an unknown size.
	plan, err := spec.Resolve(max(in.Shape[0], 1), max(in.Shape[1], 1))
	g.Fail(name, plain(err))
	h, w := -1, -1
	if in.Shape[0] >= 0 && in.Shape[1] >= 0 || o.fixed() {
		h, w = plan.Y.Out, plan.X.Out
	}
	return one(g, pipeline.Op{
		Name: name, Inputs: []pipeline.Value{v}, Outputs: []datum.Spec{pictureSpec(to, h, w, in.Shape[2])},
		New:       func() (datum.Kernel, error) { return &resize{spec: spec, to: to}, nil },
		Expensive: true,
		Config:    fmt.Sprintf("%+v", spec),
		Detail:    resizeDetail{spec, to},
	})
}

// fixed reports whether the output has the same extents whatever the input.
func (o *ResizeOptions) fixed() bool {
	return o.Height != 0 && o.Width != 0 && (o.Mode == ModeDefault || o.Mode == Stretch)
}

func (o *ResizeOptions) spec() (imaging.ResizeSpec, error) {
	s := imaging.ResizeSpec{
		Size: [2]float64{o.Height, o.Width}, MaxSize: [2]float64{o.MaxHeight, o.MaxWidth},
		WholePixels: o.WholePixels, NoAntialias: o.NoAntialias,
		ROI: o.ROIStart != [2]float64{} || o.ROIEnd != [2]float64{}, ROIStart: o.ROIStart, ROIEnd: o.ROIEnd, ROIRelative: o.ROIRelative,
	}
	given := 0
	for _, set := range []bool{o.Height != 0 || o.Width != 0, o.Shorter != 0, o.Longer != 0} {
		if set {
			given++
		}
	}
	if given > 1 {
		return s, fmt.Errorf("give Height and Width, or Shorter, or Longer: only one of them")
	}
	if o.Mode > NotSmaller || int(max(o.Interp, o.Min, o.Mag)) >= len(imagingFilters) {
		return s, fmt.Errorf("unknown mode %d or filter %d, %d, %d", o.Mode, o.Interp, o.Min, o.Mag)
	}
	for _, x := range []float64{o.Height, o.Width, o.Shorter, o.Longer, o.MaxHeight, o.MaxWidth} {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return s, fmt.Errorf("an extent is %g; it must be finite", x)
		}
	}
	if o.MaxHeight < 0 || o.MaxWidth < 0 {
		return s, fmt.Errorf("MaxHeight is %g and MaxWidth %g; they must not be negative", o.MaxHeight, o.MaxWidth)
	}
	if o.DType != 0 && o.DType != datum.Uint8 && o.DType != datum.Float32 {
		return s, fmt.Errorf("the output type is %s; uint8 and float32 are possible", o.DType)
	}
	if given == 0 && !s.ROI && o.MaxHeight == 0 && o.MaxWidth == 0 {
		return s, fmt.Errorf("no size is given: set Height and Width, or Shorter, or Longer")
	}
	s.Mode = imaging.ResizeMode(o.Mode)
	switch {
	case o.Shorter != 0:
		s.Size, s.Mode = [2]float64{o.Shorter, o.Shorter}, imaging.ResizeNotSmaller
	case o.Longer != 0:
		s.Size, s.Mode = [2]float64{o.Longer, o.Longer}, imaging.ResizeNotLarger
	}
	s.Min, s.Mag = imagingFilters[o.Interp], imagingFilters[o.Interp]
	if o.Min != 0 {
		s.Min = imagingFilters[o.Min]
	}
	if o.Mag != 0 {
		s.Mag = imagingFilters[o.Mag]
	}
	return s, nil
}

// maxPixels is the size of the largest result. A thin picture with a wanted
// shorter side would otherwise take all memory there is.
const maxPixels = 1 << 28

func checkPixels(p *imaging.Plan) error {
	if n := int64(p.Y.Out) * int64(p.X.Out); n > maxPixels {
		return fmt.Errorf("the result has %d×%d = %d pixels; at most %d are possible: limit it with MaxHeight and MaxWidth", p.Y.Out, p.X.Out, n, maxPixels)
	}
	return nil
}

type resize struct {
	spec      imaging.ResizeSpec
	to        datum.DType
	resampler imaging.Resampler
}

func (k *resize) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	h, w, c, err := shape3(in[0])
	if err != nil {
		return err
	}
	plan, err := k.spec.Resolve(h, w)
	if err != nil {
		return plain(err)
	}
	if err := checkPixels(&plan); err != nil {
		return err
	}
	to := k.to
	if to == 0 {
		to = in[0].DType()
	}
	dst, err := out[0].ResizeAs(to, plan.Y.Out, plan.X.Out, c)
	if err != nil {
		return err
	}
	out[0].SetLayout(in[0].Layout())
	src := imaging.Image{Pix: in[0].Bytes(), Type: in[0].DType(), H: h, W: w, C: c}
	return plain(k.resampler.Resize(dst, to, &src, plan))
}
