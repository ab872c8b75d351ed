package ops

import (
	"fmt"
	"math"
	"slices"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// args are the per-sample arguments of an operator: numbers that are inputs of
// its node, behind the data.
type args struct {
	g      *pipeline.Graph
	op     string
	inputs []pipeline.Value
}

// arg is the place of one argument among a kernel's inputs, with its default.
type arg struct {
	at  int // 1 for the first input; 0: there is none
	def float64
}

func newArgs(g *pipeline.Graph, op string, data ...pipeline.Value) *args {
	return &args{g, op, data}
}

// number adds v, or its default where it is not set.
func (a *args) number(name string, v pipeline.Value, def float64) arg {
	if !v.Set() {
		return arg{def: def}
	}
	if s := v.Spec(); !isNumber(s) {
		a.g.Fail(a.op, fmt.Errorf("%s is %s; one number per sample is wanted", name, s))
	}
	a.inputs = append(a.inputs, v)
	return arg{at: len(a.inputs)}
}

// isNumber reports whether samples of s are one number each.
func isNumber(s datum.Spec) bool {
	for _, d := range s.Shape {
		if d != 1 {
			return false
		}
	}
	return s.DType != datum.Float16
}

// of returns the argument's value for the sample whose inputs are in.
func (a arg) of(in []*datum.Tensor) (float64, error) {
	if a.at == 0 {
		return a.def, nil
	}
	return in[a.at-1].Scalar()
}

// behind returns the argument of a kernel with n more inputs in front of it.
func (a arg) behind(n int) arg {
	if a.at > 0 {
		a.at += n
	}
	return a
}

// finite is of for a number that must be neither infinite nor NaN.
func (a arg) finite(name string, in []*datum.Tensor) (float32, error) {
	x, err := a.of(in)
	if err == nil && !(math.Abs(x) <= math.MaxFloat32) {
		err = fmt.Errorf("%s is %g; a finite number is wanted", name, x)
	}
	return float32(x), err
}

// listArg is the place of an argument of several numbers among a kernel's inputs, with
// its default. It belongs to one kernel, whose copies have their own.
type listArg struct {
	name string
	at   int // 1 for the first input; 0: there is none
	def  []float64
	buf  []float64
}

// list adds v, an array of numbers of any shape, or its default where it is not set.
func (a *args) list(name string, v pipeline.Value, def ...float64) listArg {
	if !v.Set() {
		return listArg{name: name, def: def}
	}
	if s := v.Spec(); s.DType == datum.Float16 {
		a.g.Fail(a.op, fmt.Errorf("%s is %s; numbers of another type are wanted", name, s))
	}
	a.inputs = append(a.inputs, v)
	return listArg{name: name, at: len(a.inputs)}
}

// given reports whether there is an argument.
func (l *listArg) given() bool { return l.at != 0 }

// of returns the argument's numbers for the sample whose inputs are in, in row-major
// order. They are valid until the next call.
func (l *listArg) of(in []*datum.Tensor) ([]float64, error) {
	if l.at == 0 {
		return l.def, nil
	}
	t := in[l.at-1]
	n := t.Len()
	l.buf = slices.Grow(l.buf[:0], n)[:n]
	if err := imaging.Cast(datum.BytesOf(l.buf), datum.Float64, t.Bytes(), t.DType()); err != nil {
		return nil, plain(err)
	}
	for _, x := range l.buf {
		if !(math.Abs(x) <= math.MaxFloat32) {
			return nil, fmt.Errorf("%s holds %g; finite numbers are wanted", l.name, x)
		}
	}
	return l.buf, nil
}

// exactly is of for n numbers, or, where one stands for all, for one or n.
func (l *listArg) exactly(in []*datum.Tensor, n int, oneForAll bool) ([]float64, error) {
	xs, err := l.of(in)
	if err != nil || len(xs) == n || oneForAll && len(xs) == 1 {
		return xs, err
	}
	if oneForAll {
		return nil, fmt.Errorf("%s has %d values; one, or %d, is wanted", l.name, len(xs), n)
	}
	return nil, fmt.Errorf("%s has %d values; %d are wanted", l.name, len(xs), n)
}

// at returns the value for place i of a list of one for all, or of one each.
func at(xs []float64, i int) float64 {
	if len(xs) == 1 {
		return xs[0]
	}
	return xs[i]
}
