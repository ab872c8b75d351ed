package ops

import (
	"errors"
	"fmt"
	"math"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// GaussianBlurOptions configures GaussianBlur. Sigma and WindowSize are one number, or one
// for each dimension that is filtered, outermost first.
type GaussianBlurOptions struct {
	Sigma      pipeline.Value // deviation in pixels; default ((WindowSize − 1) / 2 − 1) · 0.3 + 0.8
	WindowSize pipeline.Value // an odd number of pixels; default 2 · ⌈3 · Sigma⌉ + 1
	DType      datum.DType    // default that of the input
}

// maxWindow is the largest window of a filter.
const maxWindow = 8191

// GaussianBlur blurs pictures and arrays along all dimensions but channels and frames. One
// of Sigma and WindowSize, or both, are given. Beyond the border the picture is reflected;
// the pixels of the border are not repeated. Sums are float32; integers are rounded and
// saturate. The shape stays. An empty picture is the sample's error, as is a Sigma or WindowSize
// that is not possible.
func GaussianBlur(g *pipeline.Graph, v pipeline.Value, o GaussianBlurOptions) pipeline.Value {
	const name = "gaussian_blur"
	axes := spatial(g, name, v)
	if !o.Sigma.Set() && !o.WindowSize.Set() {
		g.Fail(name, errors.New("give Sigma, WindowSize or both"))
	}
	a := newArgs(g, name, v)
	k := blur{sigma: a.list("Sigma", o.Sigma, 0), size: a.list("WindowSize", o.WindowSize, 0), convolution: convolution{axes: axes, to: o.DType}}
	spec := v.Spec()
	spec.DType = wanted(g, name, o.DType, spec)
	return one(g, pipeline.Op{
		Name: name, Inputs: a.inputs, Outputs: []datum.Spec{spec}, Expensive: true,
		New: func() (datum.Kernel, error) {
			k := k
			k.windows = make([][]float32, len(axes))
			return &k, nil
		},
		Config: fmt.Sprintf("%+v %+v %v %v", k.sigma, k.size, k.axes, k.to),
	})
}

// convolution is what kernels that filter have in common.
type convolution struct {
	axes []int
	to   datum.DType
	work imaging.Convolver
}

// Release gives up what the kernel keeps from sample to sample.
func (k *convolution) Release() { k.work.Release() }

// begin reserves memory for a sample and windows of at most so many pixels, and gives the
// output its shape.
func (k *convolution) begin(s *datum.Sample, in, out *datum.Tensor, window int) ([]byte, error) {
	n := in.Len()
	if n == 0 {
		return nil, fmt.Errorf("the picture is empty, %v", append([]int{}, in.Shape()...))
	}
	if grown := k.work.Growth(n, 64*window); grown > 0 {
		if err := s.Reserve(k.work.Reserved() + grown); err != nil {
			return nil, err
		}
	}
	return output(out, in, k.to)
}

type blur struct {
	sigma, size listArg
	windows     [][]float32
	convolution
}

func (k *blur) Run(s *datum.Sample, in, out []*datum.Tensor) error {
	sigma, err := k.sigma.exactly(in, len(k.axes), true)
	if err != nil {
		return err
	}
	size, err := k.size.exactly(in, len(k.axes), true)
	if err != nil {
		return err
	}
	longest := 0
	for i := range k.axes {
		n, deviation, err := gaussian(at(size, i), at(sigma, i))
		if err != nil {
			return err
		}
		k.windows[i] = imaging.GaussianWindow(k.windows[i][:0], n, deviation)
		longest = max(longest, n)
	}
	dst, err := k.begin(s, in[0], out[0], longest)
	if err != nil {
		return err
	}
	return plain(k.work.Separable(dst, out[0].DType(), in[0].Bytes(), in[0].DType(), in[0].Shape(), k.axes, k.windows))
}

// gaussian returns the window and the deviation that are meant where one of them is 0.
func gaussian(size, sigma float64) (n int, deviation float64, err error) {
	switch {
	case sigma < 0 || size < 0 || size != math.Trunc(size):
		return 0, 0, fmt.Errorf("Sigma is %g and WindowSize %g; they must not be negative, and WindowSize is a whole number", sigma, size)
	case size == 0 && sigma == 0:
		return 0, 0, errors.New("Sigma and WindowSize are both 0; one of them must be positive")
	case size == 0:
		size = 2*math.Ceil(3*sigma) + 1
	case sigma == 0:
		sigma = ((size-1)/2-1)*0.3 + 0.8
	}
	if size > maxWindow || int(size)%2 == 0 {
		return 0, 0, fmt.Errorf("the window has %g pixels; an odd number of at most %d is wanted", size, maxWindow)
	}
	return int(size), sigma, nil
}
