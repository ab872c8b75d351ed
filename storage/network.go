package storage

import (
	"errors"
	"fmt"
	"time"
)

// Network says how a store asks its server. The zero value has the defaults; a field that
// cannot be is refused when the store is opened.
type Network struct {
	// InFlight is the most requests that are under way to one host at a time, default
	// 128. As many connections are kept open.
	InFlight int

	// RetryFor is for how long a request is tried again that finds no server, a server in
	// trouble or a connection that breaks off; default one minute, negative for one try. A
	// body that brings bytes begins the time anew. Until a host has answered once, where
	// it cannot be reached, two seconds of it count: its name is more likely wrong than
	// the host away.
	RetryFor time.Duration

	// SilentFor is how long a server may send nothing, before its answer or in the middle
	// of it, until the request is given up and tried again; default 20 seconds.
	SilentFor time.Duration

	// Hedge is a percentile, 50 to 99, of the times that answers take to begin. A request
	// whose answer takes twice as long is sent once more, and the answer that begins first
	// is read. Default 95, negative for never. One request in 20 is hedged at most, and
	// none while InFlight requests are under way.
	Hedge int
}

// WithDefaults returns n with the defaults filled in, or an error that names the field
// that cannot be.
func (n Network) WithDefaults() (Network, error) {
	switch {
	case n.InFlight < 0:
		return n, fmt.Errorf("InFlight is %d; it must be at least 1, or 0 for %d", n.InFlight, defaultInFlight)
	case n.SilentFor < 0:
		return n, fmt.Errorf("SilentFor is %v; it must be above 0, or 0 for %v", n.SilentFor, defaultSilentFor)
	case n.Hedge > 0 && (n.Hedge < 50 || n.Hedge > 99):
		return n, fmt.Errorf("Hedge is %d; it must be a percentile of 50 to 99, 0 for %d, or negative for never", n.Hedge, defaultHedge)
	}
	if n.InFlight == 0 {
		n.InFlight = defaultInFlight
	}
	if n.RetryFor == 0 {
		n.RetryFor = defaultRetryFor
	}
	if n.SilentFor == 0 {
		n.SilentFor = defaultSilentFor
	}
	if n.Hedge == 0 {
		n.Hedge = defaultHedge
	}
	return n, nil
}

const (
	defaultInFlight  = 128
	defaultRetryFor  = time.Minute
	defaultSilentFor = 20 * time.Second
	defaultHedge     = 95
)

// Traffic counts what a store has asked of its server since it was opened.
type Traffic struct {
	Requests     int64         `json:"requests"`      // sent, of all kinds: the other counts of requests are parts of it
	Lists        int64         `json:"lists"`         // for the names of objects
	Retries      int64         `json:"retries"`       // sent again after one that failed
	Resumed      int64         `json:"resumed"`       // those of Retries that went on in the middle of a body
	Hedges       int64         `json:"hedges"`        // sent beside one whose answer was late
	HedgesWon    int64         `json:"hedges_won"`    // those of Hedges whose answer began first
	BytesNeeded  int64         `json:"bytes_needed"`  // of objects, handed to who asked for them
	BytesFetched int64         `json:"bytes_fetched"` // of objects, read from answers, those that were given up included
	Waited       time.Duration `json:"waited_ns"`     // for others of the InFlight requests to end, summed over requests
	Paused       time.Duration `json:"paused_ns"`     // before requests were tried again, summed over requests
	UnderWay     time.Duration `json:"under_way_ns"`  // from sending requests until their answers were read, summed over requests

	// Of a cache before the store; 0 without one.
	CacheHits   int64 `json:"cache_hits"`   // reads of a part of a chunk that was kept
	CacheMisses int64 `json:"cache_misses"` // reads of a part of a chunk that was not

	InFlight int `json:"in_flight"` // the most requests that may be under way to one host at a time
	Of       any `json:"-"`         // what counts: all folders of a store have the same, which can be compared; nil where there is but one

	LookAhead LookAhead `json:"look_ahead"` // of readers that look ahead; what they sent is in the counts above, too
}

// LookAhead counts what readers have fetched along their plans, and what that was good for.
type LookAhead struct {
	Requests     int64         `json:"requests"`      // ranges that were asked for and came, or failed after all tries
	BytesFetched int64         `json:"bytes_fetched"` // of the ranges that came
	BytesNeeded  int64         `json:"bytes_needed"`  // of the samples in them
	Hits         int64         `json:"hits"`          // reads of a range that was there, or was waited for
	Misses       int64         `json:"misses"`        // reads that asked the store themselves
	Waited       time.Duration `json:"waited_ns"`     // for ranges that were on their way, summed over reads
}

// Add returns the sum of two counts.
func (l LookAhead) Add(m LookAhead) LookAhead {
	l.Requests += m.Requests
	l.BytesFetched += m.BytesFetched
	l.BytesNeeded += m.BytesNeeded
	l.Hits += m.Hits
	l.Misses += m.Misses
	l.Waited += m.Waited
	return l
}

// A Counted store tells its traffic.
type Counted interface {
	Traffic() Traffic
}

// An AheadCounter is a Counted store that has in its traffic what readers tell it of their
// looking ahead. CountAhead adds to it; several goroutines may call it at once.
type AheadCounter interface {
	Counted
	CountAhead(LookAhead)
}

// ErrUnavailable is in the errors of a store that cannot be read at all, whichever object
// is asked for: the server is away, or refuses the credentials. It is no fault of a sample.
var ErrUnavailable = errors.New("the store cannot be read")

// ChangedError is an object that is another than when the store met it first. What has
// been read of the data set belongs to the old one, so the store refuses the new one for
// as long as it is open.
type ChangedError struct {
	Name string // the object, as its store writes it: s3://bucket/key
	Was  string // its version when it was met first, in words
	Is   string // its version now, "" where the server did not say
}

func (e *ChangedError) Error() string {
	is := ""
	if e.Is != "" {
		is = ", now " + e.Is
	}
	return fmt.Sprintf("%s was changed while it was in use (was %s%s); open the data anew, and do not write over objects that are read", e.Name, e.Was, is)
}
