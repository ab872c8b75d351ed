package ops

import (
	"errors"
	"fmt"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// Border says what lies beyond a picture that is filtered.
type Border uint8

const (
	BorderReflect101  Border = iota // reflected, the pixels of the border once: dcb|abcd|cba
	BorderReflect1001               // reflected, the pixels of the border twice: cba|abcd|dcb
	BorderWrap                      // the picture again: bcd|abcd|abc
	BorderClamp                     // the pixels of the border: aaa|abcd|ddd
	BorderFill                      // FilterOptions.Fill
)

// FilterOptions configures Filter.
type FilterOptions struct {
	Filter pipeline.Value // weights per sample, an array of two dimensions
	Anchor pipeline.Value // the row and column of the weight that lies on the pixel; -1, the default, is the middle
	Border Border         // default BorderReflect101
	Fill   pipeline.Value // what lies beyond the picture under BorderFill; a number per sample, default 0
	Valid  bool           // keep the pixels alone whose filter lies inside of the picture; Anchor does not matter then
	DType  datum.DType    // default that of the input
}

// Filter correlates a picture H×W×C, C×H×W (layout CHW) or H×W with a filter: it is not
// turned around. Sums are float32; integers are rounded and saturate. The shape stays, or under
// Valid becomes smaller by the filter's extents less 1; a filter that then does not fit is the
// sample's error.
func Filter(g *pipeline.Graph, v pipeline.Value, o FilterOptions) pipeline.Value {
	const name = "filter"
	axes := spatial(g, name, v)
	spec := v.Spec()
	weights := o.Filter.Spec()
	switch {
	case g.Err() != nil:
		return pipeline.Value{}
	case len(axes) != 2 || axes[1] != axes[0]+1:
		g.Fail(name, fmt.Errorf("the input is %s; a picture HWC, CHW or HW is wanted", spec))
		return pipeline.Value{}
	case !o.Filter.Set() || len(weights.Shape) != 2:
		g.Fail(name, errors.New("Filter is missing or no array of two dimensions; give the weights"))
	case o.Border > BorderFill:
		g.Fail(name, fmt.Errorf("Border is %d; BorderReflect101 … BorderFill are possible", o.Border))
	}
	a := newArgs(g, name, v)
	k := filter{
		weights: a.list("Filter", o.Filter), anchor: a.list("Anchor", o.Anchor, -1), fill: a.number("Fill", o.Fill, 0),
		kernel:      imaging.Kernel2{Border: imaging.Border(o.Border), Valid: o.Valid},
		convolution: convolution{axes: axes, to: o.DType},
	}
	spec.DType = wanted(g, name, o.DType, spec)
	spec.Shape = append([]int{}, spec.Shape...)
	for i, axis := range axes {
		if o.Valid && g.Err() == nil {
			if n := &spec.Shape[axis]; *n >= 0 && weights.Shape[i] >= 0 && *n >= weights.Shape[i] {
				*n -= weights.Shape[i] - 1
			} else {
				*n = -1
			}
		}
	}
	return one(g, pipeline.Op{
		Name: name, Inputs: a.inputs, Outputs: []datum.Spec{spec}, Expensive: true,
		New:    func() (datum.Kernel, error) { k := k; return &k, nil },
		Config: fmt.Sprintf("%+v %+v %+v %+v %v %v", k.weights, k.anchor, k.fill, k.kernel, k.axes, k.to),
	})
}

type filter struct {
	weights, anchor listArg
	fill            arg
	kernel          imaging.Kernel2
	convolution
}

func (k *filter) Run(s *datum.Sample, in, out []*datum.Tensor) error {
	f := &k.kernel
	if err := k.read(in); err != nil {
		return err
	}
	shape := in[0].Shape()
	h, w := shape[k.axes[0]], shape[k.axes[1]]
	dh, dw := f.Result(h, w)
	if min(h, w) < 1 || min(dh, dw) < 1 {
		return fmt.Errorf("a filter of %d×%d does not fit into the picture of %d×%d", f.H, f.W, h, w)
	}
	planes, inner := 1, 1
	for i, n := range shape {
		if i < k.axes[0] {
			planes *= n
		} else if i > k.axes[1] {
			inner *= n
		}
	}
	if grown := k.work.Growth(in[0].Len(), f.W*inner); grown > 0 {
		if err := s.Reserve(k.work.Reserved() + grown); err != nil {
			return err
		}
	}
	to := k.to
	if to == 0 {
		to = in[0].DType()
	}
	var dims [datum.MaxDims]int
	result := append(dims[:0], shape...)
	result[k.axes[0]], result[k.axes[1]] = dh, dw
	dst, err := out[0].ResizeAs(to, result...)
	if err != nil {
		return err
	}
	out[0].SetLayout(in[0].Layout())
	return plain(k.work.Filter(dst, to, in[0].Bytes(), in[0].DType(), planes, h, w, inner, f))
}

// read takes the filter of a sample.
func (k *filter) read(in []*datum.Tensor) (err error) {
	f := &k.kernel
	weights, err := k.weights.of(in)
	if err != nil {
		return err
	}
	shape := in[k.weights.at-1].Shape()
	if len(shape) != 2 || len(weights) == 0 || max(shape[0], shape[1]) > maxWindow {
		return fmt.Errorf("Filter has shape %v; two dimensions of 1 to %d are wanted", append([]int{}, shape...), maxWindow)
	}
	f.H, f.W = shape[0], shape[1]
	f.Weights = f.Weights[:0]
	for _, x := range weights {
		f.Weights = append(f.Weights, float32(x))
	}
	anchor, err := k.anchor.exactly(in, 2, true)
	if err != nil {
		return err
	}
	if f.AnchorY, err = place(at(anchor, 0), f.H); err == nil {
		f.AnchorX, err = place(at(anchor, 1), f.W)
	}
	if err != nil {
		return err
	}
	f.Fill, err = k.fill.finite("Fill", in)
	return err
}

// place returns the place of a filter of n weights that is meant.
func place(x float64, n int) (int, error) {
	switch i := int(x); {
	case x == -1:
		return n / 2, nil
	case float64(i) == x && i >= 0 && i < n:
		return i, nil
	}
	return 0, fmt.Errorf("Anchor is %g; -1 or a place of a filter of %d weights, 0 … %d, is wanted", x, n, n-1)
}
