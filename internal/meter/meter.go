// Package meter tells statistics where readers' samples lie and how long reads wait for them.
package meter

import (
	"context"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/storage"
)

// Watch returns a place whose reads are timed if it is a store that counts its traffic, and
// else the place as it is: what a read of a file waits for is not told apart from its work.
func Watch(place storage.RangeReader) storage.RangeReader {
	if counted, ok := place.(storage.Counted); ok {
		return &watched{RangeReader: place, counted: counted}
	}
	return place
}

// watched is a store of one reader.
type watched struct {
	storage.RangeReader
	counted storage.Counted
	waited  atomic.Int64
}

// ReadRange implements storage.RangeReader.
func (w *watched) ReadRange(ctx context.Context, name string, off int64, dst []byte) (int, error) {
	began := time.Now()
	defer func() { w.waited.Add(int64(time.Since(began))) }()
	return w.RangeReader.ReadRange(ctx, name, off, dst)
}

// Stat implements fs.StatFS.
func (w *watched) Stat(name string) (fs.FileInfo, error) { return fs.Stat(w.RangeReader, name) }

// ReadDir implements fs.ReadDirFS.
func (w *watched) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(w.RangeReader, name) }

// Ahead returns the place as what fetches before reads ask for it: these fetches are not timed,
// but what reads have waited for them counts.
func Ahead(place storage.RangeReader) storage.RangeReader {
	if w, ok := place.(*watched); ok {
		return &fetched{w.RangeReader, w}
	}
	return place
}

// fetched is a store of what fetches ahead for a reader.
type fetched struct {
	storage.RangeReader
	of *watched
}

// Traffic implements storage.Counted.
func (f *fetched) Traffic() storage.Traffic { return f.of.counted.Traffic() }

// CountAhead implements storage.AheadCounter.
func (f *fetched) CountAhead(l storage.LookAhead) {
	f.of.waited.Add(int64(l.Waited))
	if c, ok := f.of.counted.(storage.AheadCounter); ok {
		c.CountAhead(l)
	}
}

// Storage describes a place that a source reads from, one of Watch where it is a store. Of
// files the source says whether they are of the file system of the machine, and of a store how
// many bytes it fetches ahead, if any, by how many requests at a time.
func Storage(place fs.FS, machine bool, ahead int64, requests int) []datum.Storage {
	w, ok := place.(*watched)
	switch {
	case ok:
	case machine:
		return []datum.Storage{{Medium: datum.OnDisk}}
	default:
		return []datum.Storage{{Medium: datum.InMemory}}
	}
	t := w.counted.Traffic()
	if t.Of == nil {
		t.Of = w
	}
	if ahead > 0 && (t.InFlight == 0 || requests < t.InFlight) {
		t.InFlight = requests
	}
	return []datum.Storage{{
		Medium: datum.OnNetwork, Waited: time.Duration(w.waited.Load()), Place: t.Of,
		Traffic: datum.Traffic{
			Requests: t.Requests, Retries: t.Retries, Hedges: t.Hedges, BytesNeeded: t.BytesNeeded, BytesFetched: t.BytesFetched,
			CacheHits: t.CacheHits, CacheMisses: t.CacheMisses, AheadHits: t.LookAhead.Hits, AheadMisses: t.LookAhead.Misses,
			UnderWay: t.UnderWay, Queued: t.Waited, InFlight: t.InFlight, Ahead: ahead,
		},
	}}
}
