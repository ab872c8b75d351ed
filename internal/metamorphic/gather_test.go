package metamorphic

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// Rows that are made many at a time are what they are one by one, whatever fails among them.
func TestGatheredRows(t *testing.T) {
	before := gathers.Load()
	seeds(t, 60, func(t *testing.T, seed uint64) { run(t, defineGathered(seed), moves) })
	if *runSeed == 0 {
		require.Greater(t, gathers.Load(), before, "no rows were made at once")
	}
}

// gathers counts rows that sources have copied at once.
var gathers atomic.Int64

// defineGathered draws a definition whose data lie in memory.
func defineGathered(seed uint64) *definition {
	f, d := define(seed), drawsOf(seed, 5)
	f.gathered, f.batch = true, d.between(1, 90)
	return f
}

// held is a data set in memory: what lies there follows from a seed. Some samples cannot be
// read.
type held struct {
	n       int64
	seed    uint64
	specs   []datum.Spec
	columns [][]byte
	bad     uint64 // one sample in so many cannot be read; 0 is none
	fails   int    // how: by an error, a panic, or the end of the goroutine
}

func (s *held) Len() int64              { return s.n }
func (s *held) Outputs() []datum.Spec   { return s.specs }
func (s *held) Meta() datum.Meta        { return datum.Meta{Fingerprint: s.seed} }
func (s *held) Describe(i int64) string { return fmt.Sprintf("held %x sample %d", s.seed, i) }
func (s *held) Gathers() bool           { return true }

func (s *held) isBad(i int64) bool { return s.bad > 0 && hash(s.seed^uint64(i))%s.bad == 0 }

func (s *held) row(k int, i int64) []byte {
	n := int64(s.specs[k].Bytes())
	return s.columns[k][i*n : (i+1)*n : (i+1)*n]
}

func (s *held) Read(_ context.Context, i int64, out []*datum.Tensor) error {
	if s.isBad(i) {
		switch s.fails {
		case 0:
			return fmt.Errorf("cannot read %d", i)
		case 1:
			panic(fmt.Sprint("cannot read ", i))
		}
		runtime.Goexit()
	}
	for k, spec := range s.specs {
		if err := out[k].Lend(s.row(k, i), spec.Shape...); err != nil {
			return err
		}
	}
	return nil
}

func (s *held) Gather(index []int64, out []datum.Rows) bool {
	for at, i := range index {
		index[at] = -1 // which it may write to
		if s.isBad(i) {
			switch s.fails {
			case 1:
				panic("cannot gather")
			case 2:
				runtime.Goexit()
			}
			return false
		}
		for k, rows := range out {
			if rows.Data != nil {
				copy(rows.Data[at*rows.Spec.Bytes():][:rows.Spec.Bytes()], s.row(k, i))
			}
		}
	}
	gathers.Add(int64(len(index)))
	return true
}

// labelsOfHeld is the number of classes of labels, which are a held data set's last column.
const labelsOfHeld = 10

// held draws a data set of n samples: their numbers, pictures, a row of a table and a label.
func (b *builder) held(n int64) *held {
	d := b.d
	return b.heldLike(n, []datum.Spec{
		{DType: datum.Int64},
		{DType: datum.Uint8, Shape: []int{d.between(1, 6), d.between(1, 6), d.between(1, 4)}, Layout: datum.HWC},
		{DType: datum.Float32, Shape: []int{d.between(1, 9)}},
		{DType: datum.Int32, Shape: pick(d, nil, []int{1}, []int{3}), Classes: labelsOfHeld},
	})
}

// heldLike draws a data set of n samples of the types and shapes of a held one.
func (b *builder) heldLike(n int64, specs []datum.Spec) *held {
	d := b.d
	s := &held{n: n, seed: d.Uint64(), fails: d.IntN(3), specs: specs}
	if d.oneIn(2) {
		s.bad = uint64(d.between(5, 60))
	}
	for k, spec := range s.specs {
		mem := datum.BytesOf(make([]uint64, (int(n)*spec.Bytes()+7)/8))[:int(n)*spec.Bytes()]
		switch k {
		case 0:
			for i := range datum.View[int64](mem) {
				datum.View[int64](mem)[i] = int64(i)
			}
		case 3:
			for i := range datum.View[int32](mem) {
				datum.View[int32](mem)[i] = int32(hash(s.seed+uint64(i)) % labelsOfHeld)
			}
		default:
			scatter(mem, spec.DType, s.seed+uint64(k))
		}
		s.columns = append(s.columns, mem)
	}
	return s
}

// gather adds readers of data in memory, operators that take many rows at once, and outputs.
func (b *builder) gather(f *definition, shard int) {
	n := int64(b.d.between(1, 300))
	o := f.reader
	o.ShardID = shard
	if f.followers == 0 && b.d.oneIn(4) {
		b.keepMix(o, n)
	} else {
		b.keep(o, n)
	}
	for i := range f.others {
		choose(b.d, keeping).do(b, pipeline.ReaderOptions{Name: fmt.Sprint("other", i), Shuffle: b.d.oneIn(2), PadLastBatch: b.d.oneIn(3), NumShards: o.NumShards, ShardID: shard}, int64(b.d.between(1, 300)))
	}
	for i := range f.followers {
		b.keep(pipeline.ReaderOptions{Name: fmt.Sprint("follower", i), Follow: o.Name}, n)
	}
	for range f.operators {
		if b.g.Err() != nil {
			return
		}
		choose(b.d, gathering).do(b)
	}
	if b.g.Err() != nil {
		return
	}
	for i := range f.outputs {
		b.g.Output(fmt.Sprint("out", i), b.any())
	}
	b.g.Output("last", b.values[len(b.values)-1])
	for i, v := range b.wholeBatches(f) {
		b.g.Output(fmt.Sprint("whole", i), v)
	}
}

// keep adds a reader of a data set in memory.
func (b *builder) keep(o pipeline.ReaderOptions, n int64) {
	s := b.held(n)
	if o.Follow == "" {
		o.Split = b.split(n)
	}
	if b.d.oneIn(3) {
		b.values = append(b.values, readers.Slices(b.g, readers.SlicesOptions{
			Name: o.Name, NumShards: o.NumShards, ShardID: o.ShardID, StickToShard: o.StickToShard, PadLastBatch: o.PadLastBatch,
			Shuffle: o.Shuffle, Split: o.Split, Follow: o.Follow,
		}, readers.Rows(datum.View[int64](s.columns[0])),
			readers.Rows(s.columns[1], s.specs[1].Shape...).WithLayout(datum.HWC),
			readers.Rows(datum.View[float32](s.columns[2]), s.specs[2].Shape...),
			readers.Rows(datum.View[int32](s.columns[3]), s.specs[3].Shape...))...)
		return
	}
	b.values = append(b.values, b.hold(o, s)...)
}

// hold reads a data set in memory, with its samples fetched ahead or without.
func (b *builder) hold(o pipeline.ReaderOptions, s *held) []pipeline.Value {
	if b.d.oneIn(3) {
		return b.g.Read(o, heldAhead{s})
	}
	return b.g.Read(o, s)
}

// heldAhead is a data set in memory whose samples are fetched ahead.
type heldAhead struct{ *held }

func (s heldAhead) ReadAhead() int { return int(s.seed%70) + 1 }

func (s heldAhead) Prefetch(_ context.Context, i int64) bool { return hash(s.seed+uint64(i))%3 == 0 }

// keeping are the ways to read what lies in memory.
var keeping = []weighted[func(*builder, pipeline.ReaderOptions, int64)]{
	{"data set", 2, (*builder).keep},
	{"mix", 1, (*builder).keepMix},
}

// keepMix adds a mix of data sets in memory, of at most n samples.
func (b *builder) keepMix(o pipeline.ReaderOptions, n int64) {
	m, first := pipeline.Mix{}, b.held(b.d.Int64N(n)+1)
	o.StickToShard = false // every epoch goes on with other samples
	for range b.d.between(1, 3) {
		m.Weights = append(m.Weights, int64(b.d.between(1, 5)))
	}
	var vs []pipeline.Value
	b.g.Mix(o, m, func() {
		for i := range m.Weights {
			s := first
			if i > 0 {
				s = b.heldLike(b.d.Int64N(n)+1, first.specs)
			}
			vs = b.hold(pipeline.ReaderOptions{Split: b.split(s.n)}, s)
		}
	})
	b.values = append(b.values, vs...)
}

// the returns values that are as wanted, or all where none is.
func (b *builder) the(wanted func(datum.Spec) bool) pipeline.Value {
	var some []pipeline.Value
	for _, v := range b.values {
		if wanted(v.Spec()) {
			some = append(some, v)
		}
	}
	return pick(b.d, some...)
}

var elements = []datum.DType{
	datum.Uint8, datum.Int8, datum.Uint16, datum.Int16, datum.Uint32, datum.Int32, datum.Uint64, datum.Int64,
	datum.Float16, datum.Float32, datum.Float64, datum.Bool,
}

// gathering are operators that take many rows at once, and now and then one that does not.
var gathering = []weighted[func(*builder)]{
	{"cast", 4, func(b *builder) {
		b.values = append(b.values, ops.Cast(b.g, b.any(), pick(b.d, elements...)))
	}},
	{"normalize", 4, func(b *builder) {
		o := ops.NormalizeOptions{DDoF: b.d.IntN(2), Epsilon: float64(b.d.IntN(2)), Scale: 2, Shift: 1, DType: pick(b.d, datum.Float32, datum.Float16, datum.Int8)}
		if b.d.oneIn(2) {
			o.Mean = pick(b.d, ops.Constant(b.g, 30), ops.Constants(b.g, datum.Int16, 7))
		}
		if b.d.oneIn(2) {
			o.StdDev = ops.Constants(b.g, datum.Float32, 64)
		}
		v := b.any()
		if dims := len(v.Spec().Shape); dims > 0 && !(o.Mean.Set() && o.StdDev.Set()) && b.d.oneIn(2) {
			o.Axes = []int{b.d.IntN(dims)}
		}
		b.values = append(b.values, ops.Normalize(b.g, v, o))
	}},
	{"one hot", 4, func(b *builder) {
		v := b.the(func(s datum.Spec) bool {
			return len(s.Shape) < 4 && !slices.Contains([]datum.DType{datum.Float16, datum.Float32, datum.Float64}, s.DType)
		})
		o := ops.OneHotOptions{
			Classes: b.d.between(labelsOfHeld-1, labelsOfHeld+1), IgnoreUnknown: b.d.oneIn(2), On: float64(b.d.IntN(3)), Off: float64(b.d.IntN(2)),
			DType: pick(b.d, elements...),
		}
		if b.d.oneIn(2) {
			axis := b.d.IntN(len(v.Spec().Shape) + 1)
			o.Axis = &axis
		}
		b.values = append(b.values, ops.OneHot(b.g, v, o))
	}},
	{"crop, mirror and normalize", 4, func(b *builder) {
		v := b.the(func(s datum.Spec) bool { return s.Layout == datum.HWC })
		o := ops.CropMirrorNormalizeOptions{
			Mean: []float64{100}, Std: []float64{50}, DType: pick(b.d, datum.Float32, datum.Float32, datum.Uint8, datum.Float16),
			Layout: pick(b.d, datum.CHW, datum.HWC), PadOutput: b.d.oneIn(3),
		}
		if b.d.oneIn(2) {
			o.CropOptions = ops.CropOptions{Height: b.d.between(1, 7), Width: b.d.between(1, 7), OutOfBounds: ops.BoundsPad}
		}
		if b.d.oneIn(6) {
			o.Mirror = ops.CoinFlip(b.g, 0.5)
		}
		b.values = append(b.values, ops.CropMirrorNormalize(b.g, v, o))
	}},
	{"arithmetic", 4, func(b *builder) {
		v := b.any()
		other := pick(b.d, v, ops.Constant(b.g, 3), ops.Constants(b.g, datum.Float32, 0), ops.Cast(b.g, v, pick(b.d, elements...)))
		do := pick(b.d, ops.Add, ops.Mul, ops.Div, ops.FloorDiv, ops.Max, ops.Less, ops.Equal)
		if b.d.oneIn(2) {
			v, other = other, v
		}
		b.values = append(b.values, do(b.g, v, other))
	}},
	{"clamp", 1, func(b *builder) {
		b.values = append(b.values, ops.Clamp(b.g, b.any(), ops.Constant(b.g, 10), ops.Constant(b.g, 100)))
	}},
	{"lookup table", 1, func(b *builder) {
		v := b.the(func(s datum.Spec) bool { return !s.DType.IsFloat() && s.DType != datum.Bool })
		o := ops.LookupTableOptions{Default: 5, DType: pick(b.d, datum.Float32, datum.Int16)}
		for k := range b.d.between(1, labelsOfHeld) {
			o.Keys, o.Values = append(o.Keys, k), append(o.Values, float64(k*k))
		}
		b.values = append(b.values, ops.LookupTable(b.g, v, o))
	}},
	{"another shape", 3, func(b *builder) {
		v := b.any()
		n := len(v.Spec().Shape)
		if b.d.oneIn(2) {
			b.values = append(b.values, ops.ExpandDims(b.g, v, []int{b.d.IntN(n + 1)}, ""))
			return
		}
		b.values = append(b.values, ops.Reshape(b.g, v, ops.ReshapeOptions{Shape: ops.Constants(b.g, datum.Int32, -1, 1), NoLayout: true}))
	}},
	{"joined", 3, func(b *builder) {
		v := b.any()
		n := len(v.Spec().Shape)
		if n > 0 && b.d.oneIn(2) {
			b.values = append(b.values, ops.Cat(b.g, b.d.IntN(n), v, v))
			return
		}
		b.values = append(b.values, ops.Stack(b.g, b.d.IntN(n+1), "", v, v, v))
	}},
	{"function of rows", 2, func(b *builder) {
		v, spec, salt := b.any(), b.denseSpec(), b.d.Uint64()
		one := func(in, out []byte) { scatter(out, spec.DType, digestBytes(salt, in)) }
		b.values = append(b.values, ops.Func(b.g, ops.FuncOptions{
			Outputs: []datum.Spec{spec}, Config: fmt.Sprint(salt),
			Rows: func(n int, in, out []datum.Rows) bool {
				for row := range n {
					from, to := in[0].Spec.Bytes(), spec.Bytes()
					one(in[0].Data[row*from:][:from], out[0].Data[row*to:][:to])
				}
				return true
			},
		}, func(_ *datum.Sample, in, out []*datum.Tensor) error {
			mem, err := out[0].Resize(spec.Shape...)
			if err == nil {
				one(in[0].Bytes(), mem)
			}
			return err
		}, v)...)
	}},
	{"function", 1, func(b *builder) { b.work("function", nil, b.denseSpec()) }},
}

// denseSpec draws the type and extents of an output whose samples are all alike.
func (b *builder) denseSpec() datum.Spec {
	s := b.spec()
	s.Shape = slices.DeleteFunc(s.Shape, func(n int) bool { return n < 0 })
	return s
}
