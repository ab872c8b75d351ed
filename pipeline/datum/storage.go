package datum

import (
	"slices"
	"time"
)

// Medium is where the bytes of samples lie.
type Medium uint8

const (
	InMemory  Medium = iota // in memory, or nobody knows where
	OnDisk                  // in files of this machine
	OnNetwork               // on a server
)

var media = [...]string{"memory", "disk", "network"}

// String returns one word.
func (m Medium) String() string { return media[min(int(m), len(media)-1)] }

// MarshalText writes what String returns.
func (m Medium) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText accepts what String returns; any other word is InMemory.
func (m *Medium) UnmarshalText(text []byte) error {
	*m = Medium(max(0, slices.Index(media[:], string(text))))
	return nil
}

// Stored is a Source that tells where its samples lie and what it takes to read them, for
// statistics. Storage is called from any goroutine, now and then.
type Stored interface {
	Source
	// Storage returns an entry for each place that the source reads from.
	Storage() []Storage
}

// Storage is a place that a source reads from.
type Storage struct {
	Medium Medium
	Waited time.Duration // that calls of Read have waited for bytes, summed; 0 where Medium is not OnNetwork

	// Place is what counts Traffic, a value that can be compared: where two sources have the
	// same, the traffic is that of both together.
	Place   any
	Traffic Traffic
}

// StorageOf returns the places of a source, none if it does not tell.
func StorageOf(src Source) []Storage {
	if s, ok := src.(Stored); ok {
		return s.Storage()
	}
	return nil
}

// Traffic is what has been asked of servers.
type Traffic struct {
	Requests     int64         `json:"requests"`      // sent, of all kinds
	Retries      int64         `json:"retries"`       // those sent again after one that failed
	Hedges       int64         `json:"hedges"`        // those sent beside one whose answer was late
	BytesNeeded  int64         `json:"bytes_needed"`  // handed to who asked for them
	BytesFetched int64         `json:"bytes_fetched"` // read from answers
	CacheHits    int64         `json:"cache_hits"`    // reads that a cache on this machine answered
	CacheMisses  int64         `json:"cache_misses"`  // reads that it did not; 0 without a cache
	AheadHits    int64         `json:"ahead_hits"`    // reads of what was fetched before, or on its way
	AheadMisses  int64         `json:"ahead_misses"`  // reads of what was not; 0 without looking ahead
	UnderWay     time.Duration `json:"under_way_ns"`  // time of the requests, summed over them
	Queued       time.Duration `json:"queued_ns"`     // that requests waited for others to end, since no more may be under way

	InFlight int   `json:"in_flight"` // the most requests that may be under way to a server at a time, now
	Ahead    int64 `json:"ahead"`     // the most bytes that may be fetched before they are asked for, now; 0 for none
}

// Add adds the counts of other places. The limits, which are of a moment, become the
// larger ones.
func (t *Traffic) Add(other Traffic) {
	t.count(other, 1)
	t.InFlight, t.Ahead = max(t.InFlight, other.InFlight), max(t.Ahead, other.Ahead)
}

// Sub returns what has been asked since an earlier time.
func (t Traffic) Sub(earlier Traffic) Traffic {
	t.count(earlier, -1)
	return t
}

func (t *Traffic) count(other Traffic, sign int64) {
	t.Requests += sign * other.Requests
	t.Retries += sign * other.Retries
	t.Hedges += sign * other.Hedges
	t.BytesNeeded += sign * other.BytesNeeded
	t.BytesFetched += sign * other.BytesFetched
	t.CacheHits += sign * other.CacheHits
	t.CacheMisses += sign * other.CacheMisses
	t.AheadHits += sign * other.AheadHits
	t.AheadMisses += sign * other.AheadMisses
	t.UnderWay += time.Duration(sign) * other.UnderWay
	t.Queued += time.Duration(sign) * other.Queued
}
