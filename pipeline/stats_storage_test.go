package pipeline

import (
	"bytes"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/stats"
)

// A place that several sources read from counts once, each source's waits are its own, and
// what was before the run does not count.
func TestStatsOfStorage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ms = time.Millisecond
		place := new(server)
		place.traffic.Requests = 1000
		pictures := &stored{Source: sleeper(10 * ms), medium: datum.OnNetwork, server: place, waited: time.Hour}
		masks := &stored{Source: sleeper(5 * ms), medium: datum.OnNetwork, server: place}
		p, err := New(Options{BatchSize: 4, Workers: 2}, func(g *Graph) {
			g.Output("x", g.Read(ReaderOptions{Name: "pictures"}, pictures)[0])
			g.Output("y", g.Read(ReaderOptions{Name: "masks", Follow: "pictures"}, masks)[0])
		})
		require.NoError(t, err)
		s := consume(t, p, 10, time.Second) // the next batches are finished long before it ends
		read := s.Operators[0].Samples
		require.Equal(t, time.Duration(read)*10*ms, s.Operators[0].WaitStorage)
		require.Equal(t, time.Duration(read)*5*ms, s.Operators[1].WaitStorage)
		require.Equal(t, datum.OnNetwork, s.Operators[1].Medium)
		require.Equal(t, datum.Traffic{Requests: 2 * read, UnderWay: time.Duration(read) * 15 * ms, InFlight: 7}, s.Traffic)

		d := s.Sub(s)
		require.Zero(t, d.Operators[0].WaitStorage)
		require.Equal(t, datum.Traffic{InFlight: 7}, d.Traffic, "what is true of a moment stays")

		text, err := json.Marshal(s)
		require.NoError(t, err)
		var back stats.Run
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, s, back)
		require.Contains(t, s.String(), "servers: ")
		var metrics bytes.Buffer
		require.NoError(t, stats.WritePrometheus(&metrics, s))
		require.Contains(t, metrics.String(), `plankton_operator_storage_wait_seconds_total{pipeline="0",operator="masks",place="1"} `)
		require.Contains(t, metrics.String(), `plankton_storage_requests_total{pipeline="0"} `)
	})
}

// Splits and mixes tell of what they show.
func TestStorageOfPartsAndMixes(t *testing.T) {
	near, far := &stored{Source: numbers{n: 9}, medium: datum.OnDisk}, &stored{Source: numbers{n: 9}, medium: datum.OnNetwork, server: new(server)}
	p, err := New(Options{BatchSize: 2}, func(g *Graph) {
		var x Value
		g.Mix(ReaderOptions{}, Mix{Weights: []int64{1, 1}}, func() {
			x = g.Read(ReaderOptions{Name: "near"}, near)[0]
			g.Read(ReaderOptions{Name: "far", Split: Split{Folds: 3}}, far)
		})
		g.Output("x", x)
	})
	require.NoError(t, err)
	require.Equal(t, append(near.Storage(), far.Storage()...), datum.StorageOf(p.Readers()[0].Source))
	require.Empty(t, datum.StorageOf(numbers{n: 1}))
}
