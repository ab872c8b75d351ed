package ops

import (
	"errors"
	"fmt"
	"slices"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// PaddedBatch is a batch of sequences of different lengths as one array that is as long as the
// longest of them: what torch.nn.utils.rnn.pad_sequence gives. Pad copies a ragged output, or a
// dense one, into it. An output of a pipeline is in memory of one size, which graphs read in place, so it has a
// fixed length: see PadSequence.
//
// The zero value is ready. It belongs to one goroutine and keeps its memory, which grows to that
// of the longest batch, from call to call.
type PaddedBatch struct {
	Fill      float64 // what is added; default 0; integers saturate
	Left      bool    // steps are added in front; default behind
	Align     int     // the length is made a multiple of it; default 1
	MaxLength int     // a longer sequence is an error; default any

	DType   datum.DType
	Shape   []int  // rows of the batch, length, and the other extents of a sequence
	Data    []byte // the elements, in row-major order; datum.View makes them numbers
	Mask    []bool // rows × length: whether a step is a sequence's
	Lengths []int  // of the sequences; 0 for rows that are not valid

	mem  []uint64 // of Data, aligned for all types
	fill []byte
}

// Pad makes p the output of b of that name, whose samples T×… may differ in T alone. It panics
// if there is no such output. The elements stay when the batch is released.
func (p *PaddedBatch) Pad(b *pipeline.Batch, name string) error {
	if p.Align < 0 || p.MaxLength < 0 {
		return fmt.Errorf("ops: Align is %d and MaxLength %d; they must not be negative", p.Align, p.MaxLength)
	}
	if err := p.measure(b, name); err != nil {
		return fmt.Errorf("ops: output %q cannot be padded: %w", name, err)
	}
	row := p.DType.Size()
	for _, n := range p.Shape[1:] {
		row *= n
	}
	n := row * len(p.Lengths)
	p.mem = slices.Grow(p.mem[:0], (n+7)/8)[:(n+7)/8]
	p.Data = datum.BytesOf(p.mem)[:n]
	length := p.Shape[1]
	p.Mask = slices.Grow(p.Mask[:0], len(p.Lengths)*length)[:len(p.Lengths)*length]
	clear(p.Mask)
	for i, n := range p.Lengths {
		var src []byte
		from := 0
		if p.Left {
			from = length - n
		}
		if n > 0 {
			src = b.Sample(name, i).Bytes()
		}
		putSequence(p.Data[i*row:][:row], src, p.fill, p.Left)
		for t := range n {
			p.Mask[i*length+from+t] = true
		}
	}
	return nil
}

// measure sets the type, the shape and the lengths.
func (p *PaddedBatch) measure(b *pipeline.Batch, name string) error {
	p.DType, p.Shape, p.Lengths = b.DType(name), append(p.Shape[:0], b.Shape(name)...), p.Lengths[:0]
	if len(p.Shape) < 2 {
		return errors.New("its samples are single numbers; sequences T×… are wanted")
	}
	rest, first := p.Shape[2:], -1
	p.Shape[1] = 0
	for i, ok := range b.Mask() {
		p.Lengths = append(p.Lengths, 0)
		if !ok {
			continue
		}
		s := b.Sample(name, i).Shape()
		if first < 0 {
			first = i
			copy(rest, s[1:])
		}
		switch {
		case !slices.Equal(s[1:], rest):
			return fmt.Errorf("row %d, sample %d, has shape %v, and row %d, sample %d, %v; only the first extents may differ", i, b.IDs()[i], s, first, b.IDs()[first], b.Sample(name, first).Shape())
		case p.MaxLength > 0 && s[0] > p.MaxLength:
			return fmt.Errorf("row %d, sample %d, has %d steps; MaxLength is %d", i, b.IDs()[i], s[0], p.MaxLength)
		}
		p.Lengths[i], p.Shape[1] = s[0], max(p.Shape[1], s[0])
	}
	for i, n := range rest {
		rest[i] = max(n, 0) // of a batch without valid rows
	}
	if p.Align > 1 {
		p.Shape[1] = (p.Shape[1] + p.Align - 1) / p.Align * p.Align
	}
	var err error
	p.fill, err = truncated(p.fill, p.DType, []float64{p.Fill})
	return err
}
