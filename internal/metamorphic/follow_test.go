package metamorphic

import (
	"errors"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// errUnpaired is the error of a sample that consists of two samples which do not belong
// together. No truth has it.
var errUnpaired = errors.New("unpaired")

// leading is a reader that others can follow.
type leading struct {
	name   string
	lens   []int64        // of its sources, without their Splits
	mixed  bool           // it is a mix, whose numbers are those of the sources
	drives bool           // it is the first reader, or follows that
	number pipeline.Value // the index that the source was asked for
}

// following are the ways to read a data set in the order of a leader.
var following = []weighted[func(*builder, string, leading) []pipeline.Value]{
	{"source", 2, func(b *builder, name string, l leading) []pipeline.Value {
		return b.g.Read(pipeline.ReaderOptions{Name: name, Follow: l.name}, b.counterpart(l))
	}},
	{"source planned", 2, func(b *builder, name string, l leading) []pipeline.Value {
		return b.g.Read(pipeline.ReaderOptions{Name: name, Follow: l.name}, planned{ahead{b.counterpart(l)}})
	}},
	{"source touched", 2, func(b *builder, name string, l leading) []pipeline.Value {
		return b.g.Read(pipeline.ReaderOptions{Name: name, Follow: l.name}, touched{ahead{b.counterpart(l)}})
	}},
	{"function", 1, func(b *builder, name string, l leading) []pipeline.Value {
		s := b.counterpart(l)
		return readers.External(b.g, readers.ExternalOptions{Name: name, Follow: l.name, Len: s.n, Outputs: specs, Read: s.Read, Fingerprint: s.seed})
	}},
}

// counterpart draws a data set with a sample for each of a leader.
func (b *builder) counterpart(l leading) *source {
	s := b.source()
	s.n = 0
	for _, n := range l.lens {
		s.n += n
	}
	return s
}

// mixLike adds a mix that follows another one.
func (b *builder) mixLike(name string, l leading) (vs []pipeline.Value) {
	b.g.Mix(pipeline.ReaderOptions{Name: name, Follow: l.name}, pipeline.Mix{}, func() {
		for _, n := range l.lens {
			s := b.source()
			s.n = n
			vs = b.g.Read(pipeline.ReaderOptions{}, ahead{s})
		}
	})
	return vs
}

// follow adds a reader that follows one of those before it, and an operator that fails
// where the two samples do not belong together.
func (b *builder) follow(name string) {
	l := pick(b.d, b.leaders...)
	mixed := l.mixed && b.d.oneIn(2)
	var vs []pipeline.Value
	if mixed {
		vs = b.mixLike(name, l)
	} else {
		vs = choose(b.d, following).do(b, name, l)
	}
	b.values = append(b.values, vs...)
	b.leaders = append(b.leaders, leading{name, l.lens, mixed, l.drives, vs[0]})
	if l.mixed != mixed && !l.drives {
		return // the leader numbers its samples by source, and nothing else tells their index
	}
	paired := ops.Func(b.g, ops.FuncOptions{Name: "paired", Outputs: []datum.Spec{specs[0]}}, func(c *datum.Sample, in, out []*datum.Tensor) error {
		want := in[0].Int64s()[0]
		if l.mixed != mixed {
			want = c.Index()
		}
		if in[1].Int64s()[0] != want {
			return errUnpaired
		}
		return out[0].CopyFrom(in[1])
	}, l.number, vs[0])
	b.g.Output("paired with "+name, paired[0])
}
