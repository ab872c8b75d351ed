package audio

import (
	"errors"
	"fmt"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
)

// Border says what stands before the first sample of a signal.
type Border uint8

const (
	BorderClamp   Border = iota // the first sample
	BorderZero                  // 0
	BorderReflect               // the second sample; the first one of a signal that has no more
)

// PreemphasisOptions configures Preemphasis.
type PreemphasisOptions struct {
	Coefficient pipeline.Value // default 0.97
	Border      Border         // default BorderClamp
	DType       datum.DType    // default Float32; integers are rounded and saturate
}

// Preemphasis raises high frequencies: y[t] = x[t] − Coefficient · x[t−1]. Elements count one
// after the other, whatever the shape, which stays.
func Preemphasis(g *pipeline.Graph, v pipeline.Value, o PreemphasisOptions) pipeline.Value {
	const name = "preemphasis_filter"
	s := v.Spec()
	if o.DType == 0 {
		o.DType = datum.Float32
	}
	switch {
	case !v.Set():
		g.Fail(name, errors.New("the signal is missing"))
	case o.Border > BorderReflect:
		g.Fail(name, fmt.Errorf("Border is %d, which is none of the Border constants", o.Border))
	}
	a := ops.NewArgs(g, name, v)
	k := preemphasis{coefficient: a.Number("Coefficient", o.Coefficient, 0.97), border: o.Border, to: o.DType}
	return g.Add(pipeline.Op{
		Name: name, Inputs: a.Inputs(), Outputs: []datum.Spec{{DType: o.DType, Layout: s.Layout, Shape: s.Shape}}, Config: fmt.Sprintf("%+v", k),
		New: func() (datum.Kernel, error) { k := k; return &k, nil },
	})[0]
}

type preemphasis struct {
	coefficient ops.Number
	border      Border
	to          datum.DType
	x, y        []float32
}

// Release gives up what the kernel keeps from sample to sample.
func (k *preemphasis) Release() { k.x, k.y = nil, nil }

func (k *preemphasis) reserved() int64 { return 4 * int64(cap(k.x)+cap(k.y)) }

func (k *preemphasis) Run(s *datum.Sample, in, out []*datum.Tensor) error {
	if err := s.Reserve(k.reserved()); err != nil {
		return err
	}
	coefficient, err := k.coefficient.Of(in)
	if err != nil {
		return err
	}
	dst, err := out[0].Resize(in[0].Shape()...)
	if err != nil {
		return err
	}
	out[0].SetLayout(in[0].Layout())
	n := in[0].Len()
	if n == 0 {
		return errors.New("a signal of 0 samples; leave such files out, or set OnError")
	}
	if k.x, err = numbers(s, k, k.x, n); err != nil {
		return err
	}
	if k.y, err = numbers(s, k, k.y, n); err != nil {
		return err
	}
	if err := imaging.Cast(datum.BytesOf(k.x), datum.Float32, in[0].Bytes(), datum.DType(in[0].DType())); err != nil {
		return err
	}
	before := k.x[0]
	switch {
	case k.border == BorderZero:
		before = 0
	case k.border == BorderReflect && n > 1:
		before = k.x[1]
	}
	c := float32(coefficient)
	for i, x := range k.x {
		k.y[i] = x - float32(c*before)
		before = x
	}
	return imaging.Cast(dst, datum.DType(k.to), datum.BytesOf(k.y), datum.Float32)
}
