package stats

import (
	"fmt"
	"time"

	"github.com/planktonml/plankton/pipeline/datum"
)

// What a verdict on a network goes by.
const (
	troubledShare = 0.10    // requests are sent again because the server or the line fails
	pieceBytes    = 1 << 20 // a request that brings less takes most of its time to begin
)

// judgeStorage judges a run whose workers are held up by a reader, and reports whether that
// waits for its storage, not for a turn or for a processor.
func (s Run) judgeStorage(v *Verdict, top Operator, waits float64) bool {
	switch {
	case top.WaitGet > top.Busy:
		return false
	case top.Medium == datum.OnNetwork && 2*top.WaitStorage >= top.Busy:
		v.Bound = ByNetwork
		v.because("workers waited for the server %s of their time in %s (%v a sample); %s%s", percent(share(top.WaitStorage, s.Workers.Capacity)),
			top.Name, round(each(top.WaitStorage, top.Samples)), s.requests(), waiting(waits))
		v.Advice = s.nearer()
	case top.Medium == datum.OnDisk && !v.ProcessorsFull:
		v.Bound = ByDisk
		s.becauseOfWorkers(v, top, waits)
		v.Advice = fmt.Sprintf("The reader waits for the files of this machine: raise Workers (%d now), also above the number of processors, "+
			"put many small files into few shards (plankton convert), or move the data to a faster disk", s.Workers.Workers)
	default:
		return false
	}
	return true
}

// atOnce returns how many requests were under way at a time, on average.
func (s Run) atOnce() float64 {
	if s.Elapsed <= 0 {
		return 0
	}
	return s.Traffic.UnderWay.Seconds() / s.Elapsed.Seconds()
}

// requests describes the requests for the reasons of a verdict.
func (s Run) requests() string {
	t := &s.Traffic
	if t.Requests == 0 {
		return ""
	}
	return fmt.Sprintf("%d requests of %s took %v each, %.1f of %d at a time; ", t.Requests, size(t.BytesFetched/t.Requests),
		round(t.UnderWay/time.Duration(t.Requests)), s.atOnce(), t.InFlight)
}

// nearer says what brings the samples of a server nearer.
func (s Run) nearer() string {
	t := &s.Traffic
	full := t.InFlight > 0 && s.atOnce() >= fullShare*float64(t.InFlight)
	switch {
	case t.Requests > 0 && portion(t.Retries, t.Requests) >= troubledShare:
		return fmt.Sprintf("%s of the requests are sent again, since the server or the line fails: ask for less at a time (%s), or see what they suffer from",
			percent(portion(t.Retries, t.Requests)), s.inFlight())
	case full && t.BytesFetched < pieceBytes*t.Requests:
		return fmt.Sprintf("As many requests are under way as may be, and each brings only %s: let each bring more, by shards that are read in groups (ShuffleGroup), or allow more requests (%s)",
			size(t.BytesFetched/t.Requests), s.inFlight())
	case full:
		return fmt.Sprintf("The line is full with %s a second: %s, store smaller samples, or move to a region that is nearer to them", size(int64(float64(t.BytesFetched)/s.Elapsed.Seconds())), s.keep())
	case t.Ahead > 0:
		return fmt.Sprintf("More requests could be under way: raise LookAhead of the reader (%s now), write larger shards, or %s", size(t.Ahead), s.keep())
	}
	return fmt.Sprintf("Each worker waits for the samples that it asks for: raise Workers (%d now), also above the number of processors, let the reader look ahead (LookAhead), or %s", s.Workers.Workers, s.keep())
}

// inFlight names what bounds the requests under way, and its value.
func (s Run) inFlight() string {
	if s.Traffic.Ahead > 0 {
		return fmt.Sprintf("Requests of the reader, %d now", s.Traffic.InFlight)
	}
	return fmt.Sprintf("Network.InFlight, %d now", s.Traffic.InFlight)
}

// keep says that a disk of this machine is nearer than any server.
func (s Run) keep() string {
	if s.Traffic.CacheHits+s.Traffic.CacheMisses > 0 {
		return fmt.Sprintf("let the cache hold more (%s of the reads hit it)", percent(portion(s.Traffic.CacheHits, s.Traffic.CacheHits+s.Traffic.CacheMisses)))
	}
	return "keep the data on a disk of this machine by a cache"
}

// size writes a number of bytes for a person.
func size(n int64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if float64(n) >= u.size {
			return fmt.Sprintf("%.3g %s", float64(n)/u.size, u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
