package ops

import (
	"errors"
	"fmt"
	"math"

	"github.com/planktonml/plankton/internal/arrays"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// ChoiceOptions configures Choice.
type ChoiceOptions struct {
	Shape []int          // of the array that is drawn; default one element
	Like  pipeline.Value // draws an array of the shape of this value instead

	// P are the probabilities of the elements, one for each; they add up to 1. Default each
	// equally often.
	P pipeline.Value
}

// Choice draws elements of an array along its first dimension, with repetition; of an integer n
// it draws numbers 0 … n−1. The type is that of the input. The result has the shape that is
// drawn, and behind it the dimensions of an element. An array without elements, an n below 1, and
// probabilities that do not add up to 1 are the sample's error.
func Choice(g *pipeline.Graph, from pipeline.Value, o ChoiceOptions) pipeline.Value {
	const name = "choice"
	given(g, name, from)
	s := from.Spec()
	if len(s.Shape) == 0 && !arrays.IsInteger(s.DType) {
		g.Fail(name, fmt.Errorf("the input is %s; an array, or an integer, is wanted", s))
	}
	a := newArgs(g, name, from)
	p := a.list("P", o.P)
	d := DrawOptions{Shape: o.Shape, Like: o.Like}
	shape, like := d.shape(a)
	out := datum.Spec{DType: s.DType, Shape: append([]int{}, shape...)}
	if len(s.Shape) > 1 {
		out.Shape = append(out.Shape, s.Shape[1:]...)
	}
	random := g.NewRandom()
	return one(g, pipeline.Op{
		Name: name, Inputs: a.inputs, Outputs: []datum.Spec{out}, Config: fmt.Sprintf("%v %d %+v %+v", o.Shape, like, p, random),
		New: func() (datum.Kernel, error) { return &choice{p: p, shape: shape, like: like, random: random}, nil },
	})
}

type choice struct {
	p      listArg
	shape  []int
	like   int
	random datum.Random
	extent []int
}

func (k *choice) Run(c *datum.Sample, in, out []*datum.Tensor) error {
	n, row, err := k.source(in[0])
	if err != nil {
		return err
	}
	p, err := k.weights(in, n)
	if err != nil {
		return err
	}
	shape := k.shape
	if k.like > 0 {
		shape = in[k.like-1].Shape()
	}
	k.extent = append(k.extent[:0], shape...)
	if s := in[0].Shape(); len(s) > 1 {
		k.extent = append(k.extent, s[1:]...)
	}
	dst, err := out[0].ResizeAs(in[0].DType(), k.extent...)
	if err != nil {
		return err
	}
	size := in[0].DType().Size()
	r := k.random.At(c)
	for len(dst) > 0 {
		i := 0
		if p == nil {
			i = r.IntN(n)
		} else {
			i = pick(p, r.Float64())
		}
		if row == 0 {
			for b := range size { // little-endian, as all elements
				dst[b] = byte(i >> (8 * b))
			}
			dst = dst[size:]
			continue
		}
		dst = dst[copy(dst[:row], in[0].Bytes()[i*row:]):]
	}
	return nil
}

// source returns how many elements there are, and the bytes of each; 0 for numbers up to n.
func (k *choice) source(t *datum.Tensor) (n, row int, err error) {
	if len(t.Shape()) > 0 {
		n = t.Shape()[0]
		if len(t.Bytes()) == 0 {
			return 0, 0, errors.New("the array is empty; give an element at least")
		}
		return n, len(t.Bytes()) / n, nil
	}
	x, err := t.Scalar()
	if err == nil && !(x >= 1 && x <= math.MaxInt32) {
		err = fmt.Errorf("0 … n−1 for n = %g; 1 at least, and 2³¹−1 at most, is wanted", x)
	}
	return int(x), 0, err
}

// weights returns the probabilities of n elements, nil where all are equal.
func (k *choice) weights(in []*datum.Tensor, n int) ([]float64, error) {
	if !k.p.given() {
		return nil, nil
	}
	p, err := k.p.exactly(in, n, false)
	sum := 0.0
	for _, x := range p {
		if x < 0 {
			return nil, fmt.Errorf("a probability is %g; 0 … 1 is wanted", x)
		}
		sum += x
	}
	if err == nil && !(math.Abs(sum-1) <= 1e-3) {
		err = fmt.Errorf("the probabilities add up to %g; 1 is wanted", sum)
	}
	return p, err
}

// pick returns the element in whose share of the probabilities x, 0 … 1, lies.
func pick(p []float64, x float64) (last int) {
	for i, share := range p {
		if share == 0 {
			continue
		}
		if last = i; x < share {
			return i
		}
		x -= share
	}
	return last
}
