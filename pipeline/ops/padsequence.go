package ops

import (
	"fmt"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// PadSequenceOptions configures PadSequence.
type PadSequenceOptions struct {
	Length   int         // steps of every output; must be set
	Fill     float64     // what steps that are added hold; default 0; integers saturate
	Left     bool        // steps are added in front; default behind
	Truncate bool        // cut the end of longer sequences off, which are their sample's error otherwise
	Mask     datum.DType // type of the mask; default Bool; Float32 is what graphs multiply with
}

// PadSequence makes sequences T×… one length L, so that they are a dense output: the values L×…
// of the input's type, a mask L that is 1 at the sequence's steps and 0 at those that were
// added, and the number of the sequence's steps, an int32 scalar. In a batch they are B×L×…, B×L
// and B. The other extents of a sequence must be known; reshape it first where they are not.
//
// A row is the same in every batch, as it does not depend on the longest sequence: for that see
// PaddedBatch. Groups of similar lengths (shard.Groups) keep what is added small.
func PadSequence(g *pipeline.Graph, v pipeline.Value, o PadSequenceOptions) (values, mask, length pipeline.Value) {
	const name = "pad_sequence"
	given(g, name, v)
	if o.Mask == 0 {
		o.Mask = datum.Bool
	}
	s := v.Spec()
	switch {
	case g.Err() != nil:
	case o.Length < 1 || o.Length > maxPixels:
		g.Fail(name, fmt.Errorf("Length is %d; give the number of steps of every output, at least that of the longest sequence", o.Length))
	case len(s.Shape) == 0 || s.DType == 0 || s.DType == datum.Float16:
		g.Fail(name, fmt.Errorf("the input is %s; a sequence T×… of a known type other than float16 is wanted", s))
	case o.Mask != datum.Bool && o.Mask != datum.Uint8 && o.Mask != datum.Float32:
		g.Fail(name, fmt.Errorf("the type of the mask is %s; bool, uint8 and float32 are possible", o.Mask))
	default:
		for i, n := range s.Shape[1:] {
			if n < 0 {
				g.Fail(name, fmt.Errorf("the input is %s, whose dimension %d differs from sample to sample; only the first may", s, i+1))
			}
		}
	}
	if g.Err() != nil {
		return
	}
	k := padSequence{o: o}
	var err error
	if k.fill, err = truncated(nil, s.DType, []float64{o.Fill}); err != nil {
		g.Fail(name, err)
		return
	}
	values0 := s
	values0.Classes, values0.Shape = 0, append([]int{o.Length}, s.Shape[1:]...)
	vs := g.Add(pipeline.Op{
		Name: name, Inputs: []pipeline.Value{v}, Config: fmt.Sprintf("%+v", o),
		Outputs: []datum.Spec{values0, {DType: o.Mask, Shape: []int{o.Length}}, {DType: datum.Int32}},
		New:     func() (datum.Kernel, error) { k := k; return &k, nil },
	})
	return vs[0], vs[1], vs[2]
}

type padSequence struct {
	o    PadSequenceOptions
	fill []byte // one element
}

func (k *padSequence) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	n, length := in[0].Shape()[0], k.o.Length
	if n > length && !k.o.Truncate {
		return fmt.Errorf("the sequence has %d steps; Length is %d: raise it, or set Truncate", n, length)
	}
	n = min(n, length)
	src, dst := in[0].Bytes(), out[0].Bytes()
	src = src[:len(dst)/length*n]
	putSequence(dst, src, k.fill, k.o.Left)
	mask := out[1].Bytes()
	one := [4]byte{1}
	if k.o.Mask == datum.Float32 {
		one = [4]byte(datum.BytesOf([]float32{1}))
	}
	size := len(mask) / length
	clear(mask)
	from := 0
	if k.o.Left {
		from = length - n
	}
	imaging.Repeat(mask[from*size:][:n*size], one[:size])
	out[2].Int32s()[0] = int32(n)
	return nil
}

// putSequence writes src at one end of dst, and fill, one element, over the rest.
func putSequence(dst, src, fill []byte, left bool) {
	rest := dst[len(src):]
	if left {
		rest = dst[:len(dst)-len(src)]
		copy(dst[len(rest):], src)
	} else {
		copy(dst, src)
	}
	imaging.Repeat(rest, fill)
}
