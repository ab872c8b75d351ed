package audio

import (
	"fmt"
	"math"
	"slices"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// MFCCOptions configures MFCC.
type MFCCOptions struct {
	Coefficients int     // how many are kept; default 20, or all where there are fewer
	Axis         int     // the dimension that is transformed; default the first one
	Type         int     // of the discrete cosine transform, 1 … 4; default 2
	Orthonormal  bool    // the transform keeps lengths; not for type 1
	Lifter       float64 // scales coefficient i by 1 + Lifter/2 · sin(π·(i+1)/Lifter); 0 not at all
}

// MFCC transforms mel spectra in decibels, float32, to cepstra: the discrete cosine transform
// along one dimension.
func MFCC(g *pipeline.Graph, v pipeline.Value, o MFCCOptions) pipeline.Value {
	const name = "mfcc"
	s := float32Input(g, name, v)
	if o.Coefficients == 0 {
		o.Coefficients = 20
	}
	if o.Type == 0 {
		o.Type = 2
	}
	switch {
	case o.Coefficients < 1:
		g.Fail(name, fmt.Errorf("Coefficients is %d; it must be positive", o.Coefficients))
	case o.Axis < 0 || o.Axis >= len(s.Shape):
		g.Fail(name, fmt.Errorf("axis %d is not one of the %d dimensions of the input", o.Axis, len(s.Shape)))
	case o.Type < 1 || o.Type > 4:
		g.Fail(name, fmt.Errorf("Type is %d; 1 … 4 are possible", o.Type))
	case o.Type == 1 && o.Orthonormal:
		g.Fail(name, fmt.Errorf("Orthonormal is not possible for type 1"))
	}
	if g.Err() != nil {
		return pipeline.Value{}
	}
	out := datum.Spec{DType: datum.Float32, Layout: s.Layout, Shape: slices.Clone(s.Shape)}
	if n := &out.Shape[o.Axis]; *n > o.Coefficients {
		*n = o.Coefficients
	}
	return g.Add(pipeline.Op{
		Name: name, Inputs: []pipeline.Value{v}, Outputs: []datum.Spec{out}, Config: fmt.Sprintf("%+v", o),
		New: func() (datum.Kernel, error) { return &mfcc{o: o}, nil },
	})[0]
}

type mfcc struct {
	o     MFCCOptions
	n     int       // for which the table is
	table []float64 // a row of n weights for every coefficient
}

// prepare sets the table for n numbers: https://en.wikipedia.org/wiki/Discrete_cosine_transform
// has the definitions.
func (k *mfcc) prepare(n int) {
	if k.n == n {
		return
	}
	k.n, k.table = n, nil
	for i := range min(k.o.Coefficients, n) {
		for j := range n {
			x, y := float64(i), float64(j)
			w := 1.0
			switch k.o.Type {
			case 1:
				if w = math.Cos(math.Pi / float64(n-1) * x * y); j == 0 || j == n-1 {
					w /= 2
				}
			case 2:
				if w = math.Cos(math.Pi / float64(n) * (y + 0.5) * x); k.o.Orthonormal && i == 0 {
					w *= math.Sqrt(0.5)
				}
			case 3:
				w = math.Cos(math.Pi / float64(n) * y * (x + 0.5))
				switch {
				case j == 0 && k.o.Orthonormal:
					w *= math.Sqrt(0.5)
				case j == 0:
					w /= 2
				}
			default:
				w = math.Cos(math.Pi / float64(n) * (y + 0.5) * (x + 0.5))
			}
			if k.o.Orthonormal {
				w *= math.Sqrt(2 / float64(n))
			}
			if l := k.o.Lifter; l > 0 {
				w *= 1 + l/2*math.Sin(math.Pi*(x+1)/l)
			}
			k.table = append(k.table, w)
		}
	}
}

func (k *mfcc) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	outer, n, inner := lines(in[0].Shape(), k.o.Axis)
	if n < 1 || n == 1 && k.o.Type == 1 {
		return fmt.Errorf("%d numbers along the axis %d; more are wanted", n, k.o.Axis)
	}
	k.prepare(n)
	m := len(k.table) / n
	var shape [datum.MaxDims]int
	dims := copy(shape[:], in[0].Shape())
	shape[k.o.Axis] = m
	if _, err := out[0].Resize(shape[:dims]...); err != nil {
		return err
	}
	out[0].SetLayout(in[0].Layout())
	src, dst := in[0].Float32s(), out[0].Float32s()
	for o := range outer {
		for c := range m {
			weights := k.table[c*n:][:n]
			for i := range inner {
				sum := 0.0
				for j, w := range weights {
					sum += float64(w * float64(src[(o*n+j)*inner+i]))
				}
				dst[(o*m+c)*inner+i] = float32(sum)
			}
		}
	}
	return nil
}
