package gpu

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/shard"
	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/cudatest"
)

// resumed runs a pipeline of define on d, or on the host where d is nil, from a state on,
// and returns the batches of some steps and the state behind them.
func resumed(t *testing.T, d *cuda.Device, from *iterator.State, steps int) (batches [][]byte, state iterator.State) {
	var device streams.Device // nil on the host
	if d != nil {
		device = d
	}
	p, err := pipeline.New(pipeline.Options{BatchSize: batchSize, Seed: 9, Device: device, StreamPolicy: streams.PerBackend},
		func(g *pipeline.Graph) { define(g) })
	require.NoError(t, err)
	l, err := iterator.New(iterator.Options{LastBatch: shard.Drop}, p)
	require.NoError(t, err)
	if from != nil {
		require.NoError(t, l.Restore(*from))
	}
	for b, err := range l.Steps(t.Context(), steps) {
		require.NoError(t, err)
		for _, name := range []string{"image", "label"} {
			mem := b.Bytes(name)
			if d == nil {
				batches = append(batches, slices.Clone(mem))
				continue
			}
			s := cudatest.Stream(t, d)
			batches = append(batches, cudatest.Download(t, s, mem))
			require.NoError(t, s.Close())
		}
	}
	state, err = l.State()
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return batches, state
}

// TestResumeOnAnotherDevice breaks off in the middle of an epoch and goes on from the state
// on the host, on the GPU and, where there is one, on another GPU: the batches are those of
// a run on the host that nothing broke off.
func TestResumeOnAnotherDevice(t *testing.T) {
	d := open(t, cuda.Primary)
	const first, rest = 3, 7
	whole, _ := resumed(t, nil, nil, first+rest)
	var places []string
	same := true
	from := func(name string, broken *cuda.Device, to map[string]*cuda.Device) {
		begun, state := resumed(t, broken, nil, first)
		same = same && slices.EqualFunc(begun, whole[:len(begun)], slices.Equal)
		for place, d := range to {
			went, _ := resumed(t, d, &state, rest)
			same = same && slices.EqualFunc(went, whole[len(begun):], slices.Equal)
			places = append(places, name+" to "+place)
		}
	}
	to := map[string]*cuda.Device{"the host": nil, "itself": d}
	if other := second(t); other != nil {
		to["another GPU"] = other
	}
	from("GPU", d, to)
	from("host", nil, map[string]*cuda.Device{"the GPU": d})
	slices.Sort(places)
	on.Judge(t, "resume-batches", same, "%s: %d batches behind step %d", strings.Join(places, ", "), rest, first)
}
