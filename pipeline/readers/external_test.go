package readers

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/run"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

func outside(o ExternalOptions) func(*pipeline.Graph) []pipeline.Value {
	return func(g *pipeline.Graph) []pipeline.Value { return External(g, o) }
}

// sequence yields items, and then err if there is one.
func sequence(err error, items ...Item) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for _, it := range items {
			if !yield(it, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

var scalar = []datum.Spec{{DType: datum.Int32}}

func TestExternalRead(t *testing.T) {
	bad := errors.New("no row 5")
	o := ExternalOptions{
		Name: "table", Len: 100, ClassNames: []string{"a", "b"}, Fingerprint: 7,
		Outputs: []datum.Spec{{DType: datum.Int64, Shape: []int{-1}}, {DType: datum.Float32, Classes: 2}},
		Read: func(_ context.Context, index int64, out []*datum.Tensor) error {
			if index == 5 {
				return bad
			}
			if _, err := out[0].Resize(int(index)); err != nil {
				return err
			}
			for i := range out[0].Int64s() {
				out[0].Int64s()[i] = index
			}
			if _, err := out[1].Resize(); err != nil {
				return err
			}
			out[1].Float32s()[0] = float32(index)
			return nil
		},
	}
	var failed []string
	p, err := pipeline.New(pipeline.Options{
		BatchSize: 10, Workers: 4, OnError: pipeline.Skip,
		OnSampleError: func(e *pipeline.SampleError) { failed = append(failed, e.Error()) },
	}, func(g *pipeline.Graph) {
		v := External(g, o)
		require.Equal(t, o.Outputs[1], v[1].Spec())
		g.Output("0", v[0])
		g.Output("1", v[1])
	})
	require.NoError(t, err)
	require.Equal(t, datum.Meta{Classes: []string{"a", "b"}, Fingerprint: 7}, p.Readers()[0].Meta())
	require.EqualValues(t, 100, p.Readers()[0].Len())
	require.NoError(t, epoch(t, p, func(b *pipeline.Batch) {
		for row, id := range b.IDs() {
			if !b.Mask()[row] {
				continue
			}
			require.Equal(t, float32(id), b.Float32s("1")[row])
			require.Equal(t, []int{int(id)}, b.Sample("0", row).Shape())
		}
	}))
	require.Equal(t, []string{"pipeline: table[5]: table: no row 5"}, failed)
}

// Every type of element goes through, and rows come in the order of the items.
func TestExternalSeq(t *testing.T) {
	specs := []datum.Spec{{DType: datum.Bool}, {DType: datum.Bool, Shape: []int{2}}, {DType: datum.Float16}, {DType: datum.Float16, Shape: []int{1}}}
	first := Item{true, []bool{false, true}, uint16(0x3c00), []uint16{0x4000}}
	want := [][]byte{{1}, {0, 1}, pack(uint16(0x3c00)), pack(uint16(0x4000))}
	add := func(dt datum.DType, number, slice any) {
		specs = append(specs, datum.Spec{DType: dt}, datum.Spec{DType: dt, Shape: []int{2, -1}})
		first = append(first, number, slice)
		want = append(want, pack(number), pack(slice))
	}
	add(datum.Uint8, uint8(1), []uint8{1, 2})
	add(datum.Int8, int8(-2), []int8{1, 2})
	add(datum.Uint16, uint16(3), []uint16{1, 2, 3, 4})
	add(datum.Int16, int16(-4), []int16{1, 2})
	add(datum.Uint32, uint32(5), []uint32{1, 2})
	add(datum.Int32, int32(-6), []int32{})
	add(datum.Uint64, uint64(7), []uint64{1, 2})
	add(datum.Int64, int64(-8), []int64{1, 2, 3, 4, 5, 6})
	add(datum.Float32, float32(9.5), []float32{1, 2})
	add(datum.Float64, -10.5, []float64{1, 2})

	p, err := build(2, 3, outside(ExternalOptions{Outputs: specs, Seq: sequence(nil, first, first, first)}))
	require.NoError(t, err)
	var sizes []int
	require.NoError(t, epoch(t, p, func(b *pipeline.Batch) {
		sizes = append(sizes, b.NumValid())
		for row := range b.NumValid() {
			for i, w := range want {
				require.Equal(t, w, append([]byte{}, b.Sample(fmt.Sprint(i), row).Bytes()...), "output %d: %s", i, specs[i])
			}
		}
		require.Equal(t, []int{2, 3}, b.Sample("19", 0).Shape(), "the open dimension follows")
	}))
	require.Equal(t, []int{2, 1}, sizes)
	require.EqualValues(t, -1, p.Readers()[0].Len())
}

// pack returns the bytes of a number or slice.
func pack(v any) []byte {
	b, err := binary.Append([]byte{}, binary.NativeEndian, v)
	if err != nil {
		panic(err)
	}
	return b
}

func TestExternalSeqErrors(t *testing.T) {
	broken := errors.New("the stream broke")
	vector := []datum.Spec{{DType: datum.Float32, Shape: []int{2, 3}}}
	open := []datum.Spec{{DType: datum.Float32, Shape: []int{-1, 3}}}
	half := []datum.Spec{{DType: datum.Float16, Shape: []int{-1}}}
	tests := []struct {
		name    string
		outputs []datum.Spec
		seq     iter.Seq2[Item, error]
		want    string
	}{
		{"its own", scalar, sequence(broken, Item{int32(1)}), "stream[1]: stream: the stream broke"},
		{"elements", scalar, sequence(nil, Item{}), "the item has 0 elements, but there are 1 outputs"},
		{"int", scalar, sequence(nil, Item{7}), "element 0 of the item: int cannot be an output; want int32 (the output is declared int32 scalar)"},
		{"nil", scalar, sequence(nil, Item{nil}), "<nil> cannot be an output; want int32"},
		{"type", scalar, sequence(nil, Item{int64(7)}), "one int64; want int32 (the output is declared int32 scalar)"},
		{"slice for a number", scalar, sequence(nil, Item{[]int32{7}}), "[]int32; want int32 (the output is declared int32 scalar)"},
		{"number for a slice", vector, sequence(nil, Item{float32(1)}), "one float32; want []float32 (the output is declared float32 2×3)"},
		{"slice of another type", vector, sequence(nil, Item{make([]float64, 6)}), "[]float64; want []float32"},
		{"bools", vector, sequence(nil, Item{make([]bool, 6)}), "[]bool; want []float32"},
		{"length", vector, sequence(nil, Item{make([]float32, 5)}), "5 elements do not make the declared shape (float32 2×3)"},
		{"part of a row", open, sequence(nil, Item{make([]float32, 5)}), "5 elements do not make the declared shape (float32 ?×3)"},
		{"half", half, sequence(nil, Item{[]float32{1}}), "[]float32; want []uint16 (the output is declared float16 ?)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := build(1, 2, outside(ExternalOptions{Name: "stream", Outputs: tt.outputs, Seq: tt.seq}))
			require.NoError(t, err)
			err = epoch(t, p, func(*pipeline.Batch) {})
			var se *pipeline.SampleError
			require.ErrorAs(t, err, &se)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

// Leaving early ends the iterator, and a reset begins it anew.
func TestExternalSeqIsStoppedAndRestarted(t *testing.T) {
	begun, ended := 0, 0
	seq := func(yield func(Item, error) bool) {
		begun++
		defer func() { ended++ }()
		for i := int32(0); ; i++ {
			if !yield(Item{i}, nil) {
				return
			}
		}
	}
	p, err := build(2, 2, outside(ExternalOptions{Outputs: scalar, Seq: seq}))
	require.NoError(t, err)
	f := run.SequenceFeed{}
	r, err := p.Engine().NewRunner(f)
	require.NoError(t, err)
	for range 2 {
		b, err := r.Next(context.Background())
		require.NoError(t, err)
		require.Equal(t, []int32{0, 1}, (*pipeline.Batch)(b).Int32s("0"))
		b.Release()
		require.NoError(t, r.Reset(f))
	}
	require.NoError(t, r.Close())
	require.Equal(t, 2, begun)
	require.Equal(t, 2, ended)
}

func TestExternalRefusals(t *testing.T) {
	read := func(context.Context, int64, []*datum.Tensor) error { return nil }
	seq := sequence(nil)
	shape := func(dims ...int) []datum.Spec { return []datum.Spec{{DType: datum.Uint8, Shape: dims}} }
	tests := []struct {
		name    string
		options ExternalOptions
		want    string
	}{
		{"no outputs", ExternalOptions{Read: read, Len: 1}, "Outputs is empty"},
		{"nothing to read", ExternalOptions{Outputs: scalar}, "neither Read nor Seq"},
		{"both", ExternalOptions{Outputs: scalar, Read: read, Len: 1, Seq: seq}, "both Read and Seq"},
		{"no length", ExternalOptions{Outputs: scalar, Read: read}, "Len is 0; Read needs the number of samples"},
		{"length of a sequence", ExternalOptions{Outputs: scalar, Seq: seq, Len: 5}, "Len is 5, but a Seq has no length"},
		{"shuffled sequence", ExternalOptions{Outputs: scalar, Seq: seq, Shuffle: true}, "a sequence has no length"},
		{"sharded sequence", ExternalOptions{Outputs: scalar, Seq: seq, NumShards: 2}, "a sequence has no length"},
		{"sticking sequence", ExternalOptions{Outputs: scalar, Seq: seq, StickToShard: true}, "a sequence has no length"},
		{"padded sequence", ExternalOptions{Outputs: scalar, Seq: seq, PadLastBatch: true}, "a sequence has no length"},
		{"shard", ExternalOptions{Outputs: scalar, Read: read, Len: 1, NumShards: 2, ShardID: 2}, "ShardID is 2"},
		{"no type", ExternalOptions{Outputs: make([]datum.Spec, 1), Seq: seq}, "Outputs[0] has no element type"},
		{"dimension 0", ExternalOptions{Outputs: shape(0), Read: read, Len: 1}, "Outputs[0] is uint8 0: a dimension is at least 1"},
		{"two open dimensions", ExternalOptions{Outputs: shape(-1, -1, 3), Seq: seq}, "Outputs[0] is uint8 ?×?×3: of a Seq one dimension at most can be -1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.options.Name = "mine"
			require.ErrorContains(t, buildError(t, outside(tt.options)), "pipeline: mine: "+tt.want)
		})
	}
	p, err := build(1, 1, outside(ExternalOptions{Outputs: shape(-1, -1, 3), Read: read, Len: 1}))
	require.NoError(t, err, "a function may leave several dimensions open")
	require.Equal(t, "readers.External[4]", p.Readers()[0].Source.Describe(4))
	p, err = build(1, 1, outside(ExternalOptions{Outputs: scalar, Seq: seq, Describe: func(i int64) string { return fmt.Sprint("line ", i) }}))
	require.NoError(t, err)
	require.Equal(t, "line 4", p.Readers()[0].Sequence.Describe(4))
}

// Numbers and slices of an item that is made once are copied without allocating.
func TestExternalItemAllocatesNothing(t *testing.T) {
	specs := []datum.Spec{{DType: datum.Int32}, {DType: datum.Float32, Shape: []int{-1, 2}}}
	item := Item{int32(7), make([]float32, 64)}
	requireNoAllocations(t, externalSource{&external{ExternalOptions{
		Outputs: specs, Len: 1,
		Read: func(_ context.Context, _ int64, out []*datum.Tensor) error { return putItem(out, specs, item) },
	}}})
}
