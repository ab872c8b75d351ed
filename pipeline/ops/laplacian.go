package ops

import (
	"errors"
	"fmt"
	"math"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// LaplacianOptions configures Laplacian. The numbers are one, or one for each dimension
// that is filtered, outermost first.
type LaplacianOptions struct {
	WindowSize    pipeline.Value // of the derivative: odd, 3 … 23; default 3
	SmoothingSize pipeline.Value // along the other dimensions: odd, 1 … 23; default that of the derivative
	Scale         []float64      // factors of the derivatives; default 1
	Normalized    bool           // factors that make the windows' weights comparable: 2^(dimensions + 2 − sizes of the windows)
	DType         datum.DType    // default that of the input
}

// Laplacian stores the sum of the second derivatives of a picture or array along all
// dimensions but channels and frames. Beyond the border the picture is reflected; the
// pixels of the border are not repeated. Sums are float32; integers are rounded and saturate.
// The shape stays. An empty picture is the sample's error, as is a size that is not possible.
func Laplacian(g *pipeline.Graph, v pipeline.Value, o LaplacianOptions) pipeline.Value {
	const name = "laplacian"
	axes := spatial(g, name, v)
	switch {
	case o.Normalized && o.Scale != nil:
		g.Fail(name, errors.New("give Scale or Normalized, not both"))
	case len(o.Scale) > 1 && len(o.Scale) != len(axes):
		g.Fail(name, fmt.Errorf("Scale has %d values; one, or %d, is wanted", len(o.Scale), len(axes)))
	}
	scale := o.Scale
	if scale == nil {
		scale = []float64{1}
	}
	a := newArgs(g, name, v)
	k := laplacian{
		size: a.list("WindowSize", o.WindowSize, 3), smoothing: a.list("SmoothingSize", o.SmoothingSize),
		scale: scale, normalized: o.Normalized, convolution: convolution{axes: axes, to: o.DType},
	}
	spec := v.Spec()
	spec.DType = wanted(g, name, o.DType, spec)
	return one(g, pipeline.Op{
		Name: name, Inputs: a.inputs, Outputs: []datum.Spec{spec}, Expensive: true,
		New: func() (datum.Kernel, error) {
			k := k
			for range axes {
				k.parts = append(k.parts, imaging.Derivative{Windows: make([][]float32, len(axes))})
			}
			return &k, nil
		},
		Config: fmt.Sprintf("%+v %+v %v %t %v %v", k.size, k.smoothing, k.scale, k.normalized, k.axes, k.to),
	})
}

type laplacian struct {
	size, smoothing listArg
	scale           []float64
	normalized      bool
	parts           []imaging.Derivative
	convolution
}

func (k *laplacian) Run(s *datum.Sample, in, out []*datum.Tensor) error {
	size, err := k.size.exactly(in, len(k.axes), true)
	if err != nil {
		return err
	}
	var smoothing []float64
	if k.smoothing.given() {
		if smoothing, err = k.smoothing.exactly(in, len(k.axes), true); err != nil {
			return err
		}
	}
	longest := 0
	for i := range k.parts {
		p := &k.parts[i]
		sum := 0
		for j := range k.axes {
			n, err := binomial(at(size, i), 3, "WindowSize")
			if j != i && err == nil && smoothing != nil {
				n, err = binomial(at(smoothing, j), 1, "SmoothingSize")
			}
			if err != nil {
				return err
			}
			p.Windows[j] = imaging.BinomialWindow(p.Windows[j][:0], n, i == j)
			longest, sum = max(longest, n), sum+n
		}
		p.Scale = float32(at(k.scale, i))
		if k.normalized {
			p.Scale = float32(math.Exp2(float64(len(k.axes) + 2 - sum)))
		}
	}
	dst, err := k.begin(s, in[0], out[0], longest)
	if err != nil {
		return err
	}
	return plain(k.work.Laplacian(dst, out[0].DType(), in[0].Bytes(), in[0].DType(), in[0].Shape(), k.axes, k.parts))
}

// binomial returns the size of a window, an odd number from least to 23.
func binomial(x float64, least int, name string) (int, error) {
	if n := int(x); float64(n) == x && n >= least && n <= 23 && n%2 == 1 {
		return n, nil
	}
	return 0, fmt.Errorf("%s is %g; an odd number, %d … 23, is wanted", name, x, least)
}
