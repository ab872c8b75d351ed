package main

import (
	"fmt"
	"time"

	"github.com/planktonml/plankton/pipeline/stats"
	"github.com/planktonml/plankton/storage"
)

// benchNetwork is what a run has asked of a server, and how long its reads waited for that.
type benchNetwork struct {
	storage.Traffic
	ReadsWaited time.Duration `json:"reads_waited_ns"` // summed over the workers
}

// readsWaited returns how long the workers of pipelines have waited for servers.
func readsWaited(pipelines []stats.Run) (d time.Duration) {
	for i := range pipelines {
		for k := range pipelines[i].Operators {
			d += pipelines[i].Operators[k].WaitStorage
		}
	}
	return d
}

// printNetwork says what a run has asked of a server, and what a cache has spared it.
func (r *benchResult) printNetwork(std *stdio) {
	if n := r.Network; n != nil {
		fmt.Fprintf(std.out, "network: %s (%d for names, %d again, %d hedged), %s fetched for %s; they waited %v for each other and %v to be tried again, and reads waited %v for them\n",
			plural(n.Requests, "request"), n.Lists, n.Retries, n.Hedges, byteCount(n.BytesFetched), byteCount(n.BytesNeeded), n.Waited.Round(time.Millisecond), n.Paused.Round(time.Millisecond), n.ReadsWaited.Round(time.Millisecond))
	}
	if c := r.Cache; c != nil {
		fmt.Fprintf(std.out, "cache: %d hits, %d misses, %s from it, %d chunks added, %d bad; it holds %s of %s\n",
			c.Hits, c.Misses, byteCount(c.HitBytes), c.Stored, c.Bad, byteCount(c.Used), byteCount(c.Bytes))
	}
}
