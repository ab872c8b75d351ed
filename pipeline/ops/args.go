package ops

import (
	"fmt"

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
	at  int // 0: there is none
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
	return arg{at: len(a.inputs) - 1}
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
	return in[a.at].Scalar()
}
