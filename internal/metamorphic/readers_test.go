package metamorphic

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/shard"
)

// specs are what every source delivers: a number that names the sample, bytes, some of
// a known extent and some not, and a picture.
var specs = []datum.Spec{
	{DType: datum.Int64},
	{DType: datum.Uint8, Shape: []int{-1}},
	{DType: datum.Int32, Shape: []int{3, 2}},
	{DType: datum.Uint8, Shape: []int{-1, -1, 3}, Layout: "HWC"},
}

// source is a data set: sample i follows from the seed and i.
type source struct {
	n      int64
	seed   uint64
	lends  bool
	bad    uint64 // one sample in so many cannot be read; 0 is none
	panics bool   // reading those panics
	slow   uint64 // one sample in so many takes its time; 0 is none
}

func (s *source) Len() int64              { return s.n }
func (s *source) Outputs() []datum.Spec   { return specs }
func (s *source) Meta() datum.Meta        { return datum.Meta{Fingerprint: s.seed} }
func (s *source) Describe(i int64) string { return fmt.Sprintf("source %x sample %d", s.seed, i) }
func (s *source) key(i int64) uint64      { return hash(s.seed ^ hash(uint64(i)+1)) }
func (s *source) in(n uint64, h uint64) bool {
	return n > 0 && hash(h+n)%n == 0
}

func (s *source) Read(_ context.Context, i int64, out []*datum.Tensor) error {
	h := s.key(i)
	if s.in(s.slow, h) {
		time.Sleep(time.Duration(h%200) * time.Microsecond)
	}
	if s.in(s.bad, h) {
		if s.panics {
			panic(fmt.Sprint("cannot read ", i))
		}
		return fmt.Errorf("cannot read %d", i)
	}
	mem, err := out[0].Resize()
	if err != nil {
		return err
	}
	datum.View[int64](mem)[0] = i
	for k := 1; k < len(specs); k++ {
		if err := s.write(out[k], k, h+uint64(k)); err != nil {
			return err
		}
	}
	return nil
}

// write makes an output, by Lend where the source lends.
func (s *source) write(out *datum.Tensor, k int, h uint64) error {
	spec := specs[k]
	shape := extents(spec.Shape, h)
	if spec.Layout != "" {
		shape[0], shape[1] = int(h%9)+1, int(h/9%9)+1
	}
	if !s.lends {
		mem, err := out.Resize(shape...)
		if err == nil {
			scatter(mem, spec.DType, h)
		}
		return err
	}
	n := spec.DType.Size()
	for _, x := range shape {
		n *= x
	}
	mem := make([]byte, n)
	scatter(mem, spec.DType, h)
	return out.Lend(mem, shape...)
}

// ahead is a source that wants its samples fetched.
type ahead struct{ *source }

func (s ahead) ReadAhead() int { return int(s.seed%70) + 1 }

func (s ahead) Prefetch(ctx context.Context, i int64) bool {
	if h := s.key(i); h%16 == 0 && ctx.Err() == nil {
		time.Sleep(time.Duration(h%50) * time.Microsecond)
	}
	return s.key(i)%3 != 0
}

// touched is a source whose samples are touched.
type touched struct{ ahead }

func (s touched) Touch(i int64) { _ = s.key(i) }

// source draws a data set.
func (b *builder) source() *source {
	d := b.d
	s := &source{n: int64(d.between(1, 60)), seed: d.Uint64(), lends: d.oneIn(3), panics: d.oneIn(2)}
	if d.oneIn(4) {
		s.bad = uint64(d.between(5, 60))
	}
	if d.oneIn(4) {
		s.slow = uint64(d.between(2, 20))
	}
	b.lens = append(b.lens, s.n)
	return s
}

// split draws the part of a data set that is read.
func (b *builder) split(n int64) (s pipeline.Split) {
	if folds := b.d.between(2, 4); b.d.oneIn(4) && int64(folds) <= n {
		s = pipeline.Split{Folds: folds, Fold: b.d.IntN(folds), Holdout: b.d.oneIn(2), Seed: b.d.Uint64()}
	}
	return s
}

// readings are the ways to read a data set.
var readings = []weighted[func(*builder, pipeline.ReaderOptions) []pipeline.Value]{
	{"source", 4, func(b *builder, o pipeline.ReaderOptions) []pipeline.Value {
		s := b.source()
		o.Split = b.split(s.n)
		return b.g.Read(o, s)
	}},
	{"source fetched ahead", 2, func(b *builder, o pipeline.ReaderOptions) []pipeline.Value {
		s := b.source()
		o.Split = b.split(s.n)
		return b.g.Read(o, ahead{s})
	}},
	{"source planned", 3, func(b *builder, o pipeline.ReaderOptions) []pipeline.Value {
		s := b.source()
		o.Split = b.split(s.n)
		return b.g.Read(o, planned{ahead{s}})
	}},
	{"source touched", 2, func(b *builder, o pipeline.ReaderOptions) []pipeline.Value {
		s := b.source()
		o.Split = b.split(s.n)
		return b.g.Read(o, touched{ahead{s}})
	}},
	{"function", 2, func(b *builder, o pipeline.ReaderOptions) []pipeline.Value {
		s := b.source()
		return readers.External(b.g, readers.ExternalOptions{
			Name: o.Name, Len: s.n, Outputs: specs, Read: s.Read, Fingerprint: s.seed, Split: b.split(s.n),
			NumShards: o.NumShards, ShardID: o.ShardID, StickToShard: o.StickToShard, PadLastBatch: o.PadLastBatch, Shuffle: o.Shuffle,
		})
	}},
	{"mix", 3, func(b *builder, o pipeline.ReaderOptions) (vs []pipeline.Value) {
		m, n := pipeline.Mix{}, b.d.between(1, 3)
		o.StickToShard = false // every epoch goes on with other samples
		for range n {
			m.Weights = append(m.Weights, int64(b.d.between(1, 5)))
		}
		if b.d.oneIn(2) {
			m.Draws = int64(b.d.between(1, 60))
		}
		if b.d.oneIn(3) { // other shares from epoch 1 on
			m.Stages = []shard.Stage{{Epoch: 1, Weights: slices.Repeat([]int64{1}, n)}}
		}
		within := b.d.IntN(4) // one entry is a mix
		b.g.Mix(o, m, func() {
			read := func() {
				s := b.source()
				src := datum.Source(ahead{s})
				if b.d.oneIn(2) {
					src = planned{ahead{s}}
				}
				vs = b.g.Read(pipeline.ReaderOptions{Split: b.split(s.n)}, src)
			}
			for i := range n {
				if i == within {
					b.g.Mix(pipeline.ReaderOptions{}, pipeline.Mix{Weights: []int64{2, 1}}, func() { read(); read() })
					continue
				}
				read()
			}
		})
		return vs
	}},
}

// read adds the readers of a definition; shard is that of the pipeline.
//
// Further readers go at their own pace, or follow one of those before them.
func (b *builder) read(f *definition, shard int) {
	if f.sequence > 0 {
		b.values = b.sequence(f.sequence)
		return
	}
	o := f.reader
	o.ShardID = shard
	b.readBy(o, true)
	for i := range f.others {
		other := pipeline.ReaderOptions{Name: fmt.Sprint("other", i), Shuffle: b.d.oneIn(2), PadLastBatch: b.d.oneIn(3), NumShards: o.NumShards, ShardID: shard}
		b.readBy(other, false)
	}
	for i := range f.followers {
		if b.g.Err() != nil {
			return
		}
		b.follow(fmt.Sprint("follower", i))
	}
}

// readBy adds a reader of one of the readings.
func (b *builder) readBy(o pipeline.ReaderOptions, drives bool) {
	b.lens = nil
	reading := choose(b.d, readings)
	vs := reading.do(b, o)
	b.values = append(b.values, vs...)
	b.leaders = append(b.leaders, leading{o.Name, b.lens, reading.name == "mix", drives, vs[0]})
}

// sequence adds a reader of a sequence of n samples.
func (b *builder) sequence(n int) []pipeline.Value {
	s := b.source()
	return readers.External(b.g, readers.ExternalOptions{Name: "driver", Fingerprint: s.seed, Outputs: specs[:3], Seq: func(yield func(readers.Item, error) bool) {
		for i := range int64(n) {
			h := s.key(i)
			if s.in(s.slow, h) {
				time.Sleep(time.Duration(h%200) * time.Microsecond)
			}
			if s.in(s.bad, h) {
				yield(nil, fmt.Errorf("cannot read on at %d", i))
				return
			}
			text, numbers := make([]byte, extents(specs[1].Shape, h)[0]), make([]int32, 6)
			scatter(text, datum.Uint8, h)
			for k := range numbers {
				numbers[k] = int32(h >> k)
			}
			if !yield(readers.Item{i, text, numbers}, nil) {
				return
			}
		}
	}})
}

// errRefused is what operators return that refuse a sample or batch, and panics what
// others panic with.
var errRefused = errors.New("the operator refuses")

const panics = "the operator panics"
