package readers

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/planktonml/plankton/internal/lookahead"
	"github.com/planktonml/plankton/internal/meter"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/storage"
)

const (
	defaultLookAhead = 256 << 20
	leastLookAhead   = 64 << 10

	defaultRequests = 64
	mostRequests    = 256
)

// lookAheadOptions are those of readers that can look ahead, with the defaults filled in once
// they are checked.
type lookAheadOptions struct {
	bytes    int64 // 0 for not at all
	requests int
}

// newLookAhead checks the options of a reader of a place, which is nil for the machine.
func newLookAhead(bytes int64, requests int, remote bool) (o lookAheadOptions, err error) {
	switch {
	case !remote && bytes > 0:
		return o, fmt.Errorf("LookAhead is %d, but files of this place stay open and are read in place; leave it out", bytes)
	case !remote && requests != 0:
		return o, fmt.Errorf("Requests is %d, but no server is asked for these files; leave it out", requests)
	case bytes > 0 && bytes < leastLookAhead:
		return o, fmt.Errorf("LookAhead is %d bytes; it must be at least %d, 0 for %d, or negative for none", bytes, leastLookAhead, defaultLookAhead)
	case requests < 0 || requests > mostRequests:
		return o, fmt.Errorf("Requests is %d; it must be 1 to %d, or 0 for %d", requests, mostRequests, defaultRequests)
	case bytes < 0 && requests > 0:
		return o, errors.New("Requests are those of looking ahead, which LookAhead has turned off; leave one of them out")
	case !remote || bytes < 0:
		return o, nil
	}
	o = lookAheadOptions{bytes, requests}
	if bytes == 0 {
		o.bytes = defaultLookAhead
	}
	if requests == 0 {
		o.requests = defaultRequests
	}
	return o, nil
}

// start begins to look ahead.
func (o *lookAheadOptions) start(ctx context.Context, place storage.RangeReader, samples lookahead.Samples, coming iter.Seq[datum.Coming]) (*lookahead.Run, error) {
	return lookahead.Start(ctx, lookahead.Options{Place: meter.Ahead(place), Samples: samples, Bytes: o.bytes, Requests: o.requests}, coming)
}

// ranges is where a sample is read from: what was fetched for it, or its place.
type ranges struct {
	place  storage.RangeReader
	ahead  *lookahead.Run // nil without looking ahead
	at     int64          // the place in the run, for ahead
	sample int64          // likewise
}

// read fills dst from an object.
func (r ranges) read(ctx context.Context, object string, off int64, dst []byte) error {
	if r.ahead != nil {
		if held, err := r.ahead.Read(ctx, r.at, r.sample, off, dst); held {
			return err
		}
	}
	return storage.ReadRange(ctx, r.place, object, off, dst)
}
