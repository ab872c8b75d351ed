package gomlxplugin

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/gomlx/compute/distributed"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/tensors"
	mlx "github.com/gomlx/gomlx/ml/dataset"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/shard"
)

// Every batch is the loader's, in epochs that follow each other.
func TestBatchesAreTheLoaders(t *testing.T) {
	s := setup{backend: backend(t), n: 160, batch: 16, shuffle: true}
	l := loader(t, s)
	ds := dataset(t, loader(t, s), Options{})
	require.Equal(t, "plankton", ds.Name())
	require.Equal(t, "pla", ds.ShortName())
	for range 2 {
		got := drain(t, ds)
		require.Len(t, got, 10)
		i := 0
		for b, err := range l.Epoch(t.Context()) {
			require.NoError(t, err)
			require.Equal(t, b.Float32s("point"), got[i].points)
			require.Equal(t, fmt.Sprintf("(Float32)[16, %d] (Int32)[16, 1]", width), got[i].shape)
			for row, class := range got[i].labels[0].([][]int32) {
				require.Equal(t, b.Int32s("class")[row], class[0])
			}
			i++
		}
	}
}

// The tensor is the memory that the pipeline has written.
func TestNothingIsCopied(t *testing.T) {
	l := loader(t, setup{backend: backend(t), n: 160, batch: 16})
	ds := dataset(t, l, Options{})
	var kept []train.Batch // so that their memory is nobody else's
	seen := map[*byte]bool{}
	for b, err := range l.Epoch(t.Context()) {
		require.NoError(t, err)
		wrote := unsafe.SliceData(b.Bytes("point"))
		batch, err := ds.batch(b.Batch, ds.memory[0])
		require.NoError(t, err)
		mem, err := ds.memory[0].bytesOf(batch.Inputs[0])
		require.NoError(t, err)
		require.Same(t, wrote, unsafe.SliceData(mem))
		require.False(t, batch.Inputs[0].IsShared(), "so that the trainer donates it, and the backend's pool gets it")
		require.False(t, seen[wrote], "nobody has given it back")
		seen[wrote], kept = true, append(kept, batch)
	}
	require.Len(t, kept, 10)
}

// A trainer gives memory back to the backend, from where the pipeline has it again.
func TestMemoryIsUsedAgain(t *testing.T) {
	be := backend(t)
	ds := dataset(t, loader(t, setup{backend: be, n: 160, batch: 16}), Options{Endless: true})
	trainer := newTrainer(be)
	var blocks []*byte
	for b, err := range ds.Iter() {
		require.NoError(t, err)
		mem, err := ds.memory[0].bytesOf(b.Inputs[0])
		require.NoError(t, err)
		blocks = append(blocks, unsafe.SliceData(mem))
		_, err = trainer.TrainStep(b)
		require.NoError(t, err)
		if len(blocks) == 100 {
			break
		}
	}
	slices.SortFunc(blocks, func(a, b *byte) int { return int(uintptr(unsafe.Pointer(a))) - int(uintptr(unsafe.Pointer(b))) })
	require.Less(t, len(slices.Compact(blocks)), 80)
}

// All types lie in the backend's memory, and hold what is written.
func TestTypes(t *testing.T) {
	be := backend(t)
	m := NewMemory(be, 0)
	for dtype := datum.Uint8; dtype <= datum.Bool; dtype++ {
		shape := []int{4, leastBytes}
		a := m.Output("x", shape, dtype)
		require.NotNil(t, a, dtype)
		n := 4 * leastBytes * dtype.Size()
		mem, err := a.Alloc(n)
		require.NoError(t, err, dtype)
		require.Len(t, mem, n)
		for i := range mem {
			mem[i] = byte(i % 2)
		}
		require.True(t, m.has(mem))
		tensor := m.take(mem)
		require.False(t, m.has(mem))
		require.True(t, tensor.Shape().Equal(shapeOf(dtype, shape)))
		want, err := m.copy(shapeOf(dtype, shape), mem)
		require.NoError(t, err)
		require.True(t, tensor.Equal(want), dtype)
		_, err = a.Alloc(n - 1)
		require.ErrorContains(t, err, "are not those of")
	}
	require.Nil(t, m.Output("small", []int{16}, datum.Int32))
	require.Equal(t, dtypes.Float32, shapeOf(datum.Float32, []int{1}).DType)
}

// What is left at the end is given back.
func TestMemoryIsFreed(t *testing.T) {
	be := backend(t)
	l := loader(t, setup{backend: be, n: 160, batch: 16})
	ds := dataset(t, l, Options{})
	drain(t, ds)
	require.NotEmpty(t, ds.memory[0].blocks)
	require.NoError(t, l.Close())
	require.Empty(t, ds.memory[0].blocks)
}

// byHand yields batches as a data set that is written by hand does: tensors of copies.
type byHand []copied

func (byHand) Name() string { return "by hand" }
func (h byHand) Iter() iter.Seq2[train.Batch, error] {
	return func(yield func(train.Batch, error) bool) {
		for _, c := range h {
			labels := []*tensors.Tensor{}
			for _, l := range c.labels {
				labels = append(labels, tensors.MustFromAnyValue(l))
			}
			points := tensors.FromFlatDataAndDimensions(c.points, len(c.points)/width, width)
			if !yield(train.Batch{Inputs: []*tensors.Tensor{points}, Labels: labels}, nil) {
				return
			}
		}
	}
}

// A model learns the same, bit for bit, as from copies of the batches: no batch changes
// while it is in use. It learns, too.
func TestTrainingIsThatOfCopies(t *testing.T) {
	for _, rows := range []Rows{Valid, Masked, Weighted, Trimmed} {
		s := setup{backend: backend(t), n: 160, batch: 16, shuffle: true}
		if rows != Valid {
			s.n = 150
		}
		var copies byHand
		again := dataset(t, loader(t, s), Options{Rows: rows})
		for range 3 {
			copies = append(copies, drain(t, again)...)
		}
		ours, theirs := newTrainer(s.backend), newTrainer(s.backend)
		ds := dataset(t, loader(t, s), Options{Rows: rows})
		_, err := train.NewLoop(ours).RunEpochs(ds, 3)
		require.NoError(t, err)
		_, err = train.NewLoop(theirs).RunEpochs(copies, 1)
		require.NoError(t, err)
		require.Equal(t, weightsOf(t, theirs), weightsOf(t, ours), rows)

		test, err := New(t.Context(), loader(t, s), Options{Name: "test", Inputs: []string{"point"}, Labels: []string{"class"}, Rows: max(rows, Trimmed)})
		require.NoError(t, err)
		results, err := ours.Eval(test)
		require.NoError(t, err)
		require.Greater(t, results[1].Value().(float32), float32(0.9), rows)
	}
}

// The three ways to treat a last batch of 6 rows.
func TestRows(t *testing.T) {
	s := setup{backend: backend(t), n: 150, batch: 16}
	full := drain(t, dataset(t, loader(t, setup{backend: s.backend, n: 144, batch: 16}), Options{}))
	for rows, want := range map[Rows]string{
		Masked:   fmt.Sprintf("(Float32)[16, %d] (Int32)[16, 1] (Bool)[16]", width),
		Weighted: fmt.Sprintf("(Float32)[16, %d] (Int32)[16, 1] (Float32)[16]", width),
		Trimmed:  fmt.Sprintf("(Float32)[6, %d] (Int32)[6, 1]", width),
	} {
		got := drain(t, dataset(t, loader(t, s), Options{Rows: rows}))
		require.Len(t, got, 10)
		for i, b := range full {
			require.Equal(t, b.points, got[i].points)
		}
		last := got[9]
		require.Equal(t, want, last.shape)
		at, _ := points(150)
		require.Equal(t, at[144*width:], last.points[:6*width])
		switch rows {
		case Masked:
			require.Equal(t, []bool{true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false}, last.labels[1])
		case Weighted:
			w := float32(16) / 6
			require.Equal(t, []float32{w, w, w, w, w, w, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, last.labels[1])
			require.Equal(t, slices.Repeat([]float32{1}, 16), got[0].labels[1])
		}
	}
}

// Accuracy is exact where rows that are not valid are left out.
func TestEvaluationIsExact(t *testing.T) {
	be := backend(t)
	trainer := newTrainer(be)
	accuracy := func(n, batch int) float32 {
		ds := dataset(t, loader(t, setup{backend: be, n: n, batch: batch}), Options{Rows: Trimmed})
		results, err := trainer.Eval(ds)
		require.NoError(t, err)
		return results[1].Value().(float32)
	}
	// Before training the model is as good as none: the points that it has right are counted in
	// batches of one size and of another.
	require.InDelta(t, accuracy(170, 17), accuracy(170, 16), 1e-6)
}

// Samples that fail are skipped: rows amid the batch are left out or masked.
func TestBadSamples(t *testing.T) {
	s := setup{backend: backend(t), n: 160, batch: 16, onError: pipeline.Skip,
		bad: func(i int64) bool { return i == 3 || i >= 32 && i < 48 }}
	got := drain(t, dataset(t, loader(t, s), Options{Rows: Trimmed}))
	require.Len(t, got, 9, "a batch without a valid row is left out")
	at, _ := points(160)
	require.Equal(t, slices.Concat(at[:3*width], at[4*width:16*width]), got[0].points)
	masked := drain(t, dataset(t, loader(t, s), Options{Rows: Masked}))
	require.Len(t, masked, 10)
	require.Equal(t, make([]bool, 16), masked[2].labels[1])

	trainer := newTrainer(s.backend)
	_, err := train.NewLoop(trainer).RunEpochs(dataset(t, loader(t, s), Options{Rows: Masked}), 2)
	require.NoError(t, err, "also with a batch that has no valid row")

	s.onError = pipeline.Fail
	_, err = train.NewLoop(trainer).RunEpochs(dataset(t, loader(t, s), Options{Rows: Masked}), 1)
	require.ErrorContains(t, err, "point 3 is bad")
	var sample *pipeline.SampleError
	require.ErrorAs(t, err, &sample)
}

// RunSteps, which leaves its loop in the middle, leaves nothing out.
func TestStepsGoOn(t *testing.T) {
	s := setup{backend: backend(t), n: 160, batch: 16, shuffle: true}
	ours, theirs := newTrainer(s.backend), newTrainer(s.backend)
	steps, epochs := dataset(t, loader(t, s), Options{Endless: true}), dataset(t, loader(t, s), Options{})
	loop := train.NewLoop(ours)
	for _, n := range []int{7, 10, 3, 10} {
		_, err := loop.RunSteps(steps, n)
		require.NoError(t, err)
	}
	_, err := train.NewLoop(theirs).RunEpochs(epochs, 3)
	require.NoError(t, err)
	require.Equal(t, weightsOf(t, theirs), weightsOf(t, ours))
}

// A run that is resumed from a state of a hook sees the batches that follow.
func TestResume(t *testing.T) {
	s := setup{backend: backend(t), n: 150, batch: 16, shuffle: true}
	var all []copied
	whole := dataset(t, loader(t, s), Options{Rows: Masked})
	for range 2 {
		all = append(all, drain(t, whole)...)
	}
	for at := range len(all) - 1 {
		l := loader(t, s)
		loop, ds := train.NewLoop(newTrainer(s.backend)), dataset(t, l, Options{Rows: Masked, Endless: true})
		var state iterator.State
		loop.OnStep("checkpoint", 0, func(*train.Loop, []*tensors.Tensor) (err error) {
			state, err = l.State()
			return err
		})
		_, err := loop.RunSteps(ds, at+1)
		require.NoError(t, err)

		resumed := loader(t, s)
		require.NoError(t, resumed.Restore(state))
		rest := dataset(t, resumed, Options{Rows: Masked})
		var got []copied
		for len(got) < len(all)-at-1 {
			got = append(got, drain(t, rest)...)
		}
		require.Equal(t, all[at+1:], got[:len(all)-at-1])
	}
}

// GoMLX's other data sets may hold as many batches as they like.
func TestOtherDataSetsHoldBatches(t *testing.T) {
	s := setup{backend: backend(t), n: 160, batch: 16, shuffle: true}
	want := drain(t, dataset(t, loader(t, s), Options{}))
	same := func(b train.Batch) train.Batch { return b }
	for name, wrap := range map[string]func(train.Dataset) train.Dataset{
		"Buffer":            func(d train.Dataset) train.Dataset { return mlx.Buffer(d, 8) },
		"MapOnHost":         func(d train.Dataset) train.Dataset { return mlx.MapOnHost(d, same) },
		"ParallelMapOnHost": func(d train.Dataset) train.Dataset { return mlx.ParallelMapOnHost(d, same).WithParallelism(6) },
		"Take":              func(d train.Dataset) train.Dataset { return mlx.Take(d, 10) },
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, want, drain(t, wrap(dataset(t, loader(t, s), Options{}))))
		})
	}
	t.Run("InMemory", func(t *testing.T) {
		in, err := mlx.InMemory(s.backend, dataset(t, loader(t, s), Options{}), true)
		require.NoError(t, err)
		require.Equal(t, want, drain(t, in.BatchSize(16, true)))
	})
	t.Run("all kept", func(t *testing.T) {
		var kept []train.Batch
		for b, err := range dataset(t, loader(t, s), Options{}).Iter() {
			require.NoError(t, err)
			kept = append(kept, b)
		}
		for i, b := range kept {
			require.Equal(t, want[i], copyOf(t, b))
		}
	})
}

// Ranks read their shards: together all points, once.
func TestRanks(t *testing.T) {
	be := backend(t)
	classes := map[float32]int{}
	for rank := range 3 {
		for _, b := range drain(t, dataset(t, loader(t, setup{backend: be, n: 150, batch: 16, shuffle: true, ranks: 3, rank: rank}), Options{Rows: Trimmed})) {
			for i := 0; i < len(b.points); i += width {
				classes[b.points[i]]++
			}
		}
	}
	require.Len(t, classes, 150)
	for at, n := range classes {
		require.Equal(t, 1, n, at)
	}
}

// The batches of several pipelines are the shards of one.
func TestDistributed(t *testing.T) {
	be := backend(t)
	s := setup{backend: be, n: 150, batch: 16, devices: 2}
	mesh, err := distributed.NewDeviceMesh([]int{2}, []string{"data"})
	require.NoError(t, err)
	o := Options{Inputs: []string{"point"}, Labels: []string{"class"}, Rows: Masked}
	l := loader(t, s)
	ds, err := NewDistributed(t.Context(), l, mesh, o)
	require.NoError(t, err)
	require.Equal(t, distributed.AutoSharding, ds.Strategy())
	require.Len(t, ds.DeviceAssignment(), 2)
	check := loader(t, s)
	var want [][]float32
	for b, err := range check.Epoch(t.Context()) {
		require.NoError(t, err)
		want = append(want, slices.Concat(b.Part(0).Float32s("point"), b.Part(1).Float32s("point")))
	}
	i := 0
	for b, err := range ds.DistributedIter() {
		require.NoError(t, err)
		require.Equal(t, []int{32, width}, b.Inputs[0].Shape().Dimensions)
		require.Len(t, b.Labels, 2)
		merged, err := b.Inputs[0].Merge()
		require.NoError(t, err)
		require.Equal(t, want[i], tensors.MustCopyFlatData[float32](merged))
		require.NoError(t, b.Finalize())
		i++
	}
	require.Len(t, want, i)

	require.ErrorContains(t, firstError(ds), "DistributedIter")
	_, err = New(t.Context(), l, o)
	require.ErrorContains(t, err, "has 2 pipelines")
	o.Rows = Trimmed
	_, err = NewDistributed(t.Context(), l, mesh, o)
	require.ErrorContains(t, err, "have one size")
	_, err = NewDistributed(t.Context(), loader(t, setup{backend: be, n: 150, batch: 16}), mesh, Options{Inputs: o.Inputs, Labels: o.Labels, Rows: Masked})
	require.ErrorContains(t, err, "make a pipeline for each device")
	_, err = NewDistributed(t.Context(), l, nil, Options{Inputs: o.Inputs, Labels: o.Labels, Rows: Masked})
	require.ErrorContains(t, err, "a mesh with one axis")
}

// firstError returns what ends an iteration, and leaves it there, as GoMLX does.
func firstError(ds train.Dataset) error {
	for _, err := range ds.Iter() {
		if err != nil {
			return err
		}
	}
	return nil
}

// An end of the context, a break and a second loop at any place: nothing is left behind, and the data
// set goes on.
func TestEndsAnywhere(t *testing.T) {
	s := setup{backend: backend(t), n: 160, batch: 16}
	want := drain(t, dataset(t, loader(t, s), Options{}))
	for at := range len(want) {
		l := loader(t, s)
		ctx, cancel := context.WithCancelCause(t.Context())
		o := Options{Inputs: []string{"point"}, Labels: []string{"class"}}
		ds, err := New(ctx, l, o)
		require.NoError(t, err)
		i := 0
		for b, err := range ds.Iter() {
			require.NoError(t, err)
			require.Equal(t, want[i], copyOf(t, b))
			if i++; i == at+1 {
				require.ErrorIs(t, firstError(ds), iterator.ErrBusy)
				break
			}
		}
		why := errors.New("enough")
		cancel(why)
		if at < len(want)-1 {
			require.ErrorIs(t, firstError(ds), why)
			rest, err := New(t.Context(), l, o)
			require.NoError(t, err)
			require.Equal(t, want[at+1:], drain(t, rest))
		}
	}
}

// A loop that is cancelled while a sample takes long ends at once.
func TestCancelled(t *testing.T) {
	release := make(chan struct{})
	l := loader(t, setup{backend: backend(t), n: 160, batch: 16, bad: func(i int64) bool {
		if i == 40 {
			<-release
		}
		return false
	}})
	ctx, cancel := context.WithCancel(t.Context())
	ds, err := New(ctx, l, Options{Inputs: []string{"point"}, Labels: []string{"class"}})
	require.NoError(t, err)
	time.AfterFunc(20*time.Millisecond, cancel)
	require.ErrorIs(t, firstError(ds), context.Canceled)
	close(release)
}

// A backend that has gone is an error of the loop.
func TestBackendIsGone(t *testing.T) {
	be := backend(t)
	ds := dataset(t, loader(t, setup{backend: be, n: 160, batch: 16}), Options{})
	var last error
	for _, err := range ds.Iter() {
		if last = err; err != nil {
			break
		}
		be.Finalize()
	}
	var memory *pipeline.MemoryError
	require.ErrorAs(t, last, &memory)
}

func TestRefused(t *testing.T) {
	be := backend(t)
	even := loader(t, setup{backend: be, n: 160, batch: 16})
	in, class := []string{"point"}, []string{"class"}
	for want, c := range map[string]struct {
		l *iterator.Loader
		o Options
	}{
		"there is no loader":                         {nil, Options{Inputs: in}},
		`of ["point" "class"]`:                       {even, Options{}},
		`"picture": the pipeline has no such output`: {even, Options{Inputs: []string{"picture"}}},
		"name it twice":                              {even, Options{Inputs: in, Labels: in}},
		"Options.Rows is 9":                          {even, Options{Inputs: in, Rows: 9}},
		"Options.Labels names none":                  {even, Options{Inputs: in, Rows: Masked}},
		"on error skip":                              {loader(t, setup{backend: be, n: 160, batch: 16, onError: pipeline.Skip}), Options{Inputs: in, Labels: class}},
		"last batch partial":                         {loader(t, setup{backend: be, n: 150, batch: 16}), Options{Inputs: in, Labels: class}},
	} {
		_, err := New(t.Context(), c.l, c.o)
		require.ErrorContains(t, err, want)
	}
	_, err := New(t.Context(), loader(t, setup{backend: be, n: 150, batch: 16}), Options{Inputs: in, Labels: class})
	require.ErrorIs(t, err, ErrUnmasked)
	for _, last := range []shard.Policy{shard.Drop, shard.Fill} {
		_, err := New(t.Context(), loader(t, setup{backend: be, n: 150, batch: 16, last: last}), Options{Inputs: in, Labels: class})
		require.NoError(t, err, last)
	}
	require.Equal(t, "trimmed", Trimmed.String())
	require.Equal(t, "Rows(9)", Rows(9).String())

	other := func(o pipeline.Options) *iterator.Loader {
		o.BatchSize = 2
		p, err := pipeline.New(o, func(g *pipeline.Graph) {
			v := readers.Slices(g, readers.SlicesOptions{}, readers.Rows([]float32{1, 2, 3, 4}))
			g.Output("one", v[0])
			g.Output("ragged", g.Add(pipeline.Op{Name: "ragged", Inputs: v, Outputs: []datum.Spec{{DType: datum.Uint8, Shape: []int{-1}}},
				New: func() (datum.Kernel, error) { return nil, nil }})[0])
		})
		require.NoError(t, err)
		l, err := iterator.New(iterator.Options{}, p)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, l.Close()) })
		return l
	}
	_, err = New(t.Context(), other(pipeline.Options{}), Options{Inputs: []string{"one"}})
	require.ErrorIs(t, err, ErrMemory)
	_, err = New(t.Context(), other(pipeline.Options{OutputMemory: NewMemory(be, 0)}), Options{Inputs: []string{"ragged"}})
	require.ErrorIs(t, err, ErrRagged)
	var output *OutputError
	require.ErrorAs(t, err, &output)
	require.Equal(t, "ragged", output.Output)
}
