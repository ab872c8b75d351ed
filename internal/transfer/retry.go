package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/storage"
)

const (
	firstPause   = 50 * time.Millisecond
	longestPause = 5 * time.Second

	// unknownFor is for how long a host is tried that has never answered.
	unknownFor = 2 * time.Second
)

// trouble is an error of one try.
type trouble struct {
	Verdict
	unreached *host // the host that no connection could be made to, if that is it
}

func (t *trouble) Error() string { return t.Err.Error() }

// tries is the state of a request that is tried until it succeeds.
type tries struct {
	c     *Client
	name  string
	n     int // tries that failed, since the last progress
	again int // of those, how many were tried again at once
	began time.Time
	pause time.Duration
}

// progress forgets the tries so far.
func (t *tries) progress() { *t = tries{c: t.c, name: t.name} }

// next waits until the request is to be tried again, or returns the error that it ends
// with.
func (t *tries) next(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var failed *trouble
	if !errors.As(err, &failed) {
		return t.final(err)
	}
	if t.n == 0 {
		t.began, t.pause = time.Now(), firstPause
	}
	t.n++
	switch {
	case failed.Again && t.again < maxAgain:
		t.again++
		t.c.counts.retries.Add(1)
		return nil
	case !failed.Retry && failed.Away:
		return t.final(&away{failed.Err})
	case !failed.Retry:
		return t.final(failed.Err)
	}
	limit := t.c.network.RetryFor
	if failed.unreached != nil && !failed.unreached.answered.Load() {
		limit = min(limit, unknownFor)
	}
	// Between half of the pause and all of it, so that requests that failed together do
	// not come back together.
	pause := max(t.pause/2+rand.N(t.pause/2+1), failed.After)
	if tried := time.Since(t.began); tried+pause > limit {
		return t.final(&away{fmt.Errorf("%w (%d %s in %v)", failed.Err, t.n, plural(t.n, "try", "tries"), tried.Round(time.Millisecond))})
	}
	t.pause = min(2*t.pause, longestPause)
	t.c.counts.paused.Add(int64(pause))
	t.c.counts.retries.Add(1)
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t *tries) final(err error) error {
	if changed := (*storage.ChangedError)(nil); errors.As(err, &changed) {
		return err // it names the object
	}
	return fmt.Errorf("%s: %w", printable.Name(t.name), err)
}

func plural(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// Away returns err as that of a store that cannot be read at all, a [storage.ErrUnavailable]:
// it is no fault of an object.
func Away(err error) error { return &away{err} }

type away struct{ err error }

func (a *away) Error() string        { return a.err.Error() }
func (a *away) Unwrap() error        { return a.err }
func (a *away) Is(target error) bool { return target == storage.ErrUnavailable }

// lost makes the error of a try without an answer, or with half of one, what is tried
// again; what ended the request's context comes out as it is.
func (a *answer) lost(err error) error {
	if a.ctx.Err() != nil {
		if cause := context.Cause(a.ctx); !errors.Is(cause, errSilent) {
			return cause
		}
		err = errSilent
	}
	t := &trouble{Verdict: Verdict{Retry: true}}
	known := a.host.answered.Load()
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "dial" {
		t.unreached, err = a.host, fmt.Errorf("no connection: %w", op.Err)
	}
	if dns := (*net.DNSError)(nil); errors.As(err, &dns) && dns.IsNotFound && !known {
		t.Retry, t.Away = false, true
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errCut // and not the end of an object
	}
	t.Err = fmt.Errorf("%s: %w", a.req.URL.Host, err)
	if t.unreached != nil && !known {
		t.Err = fmt.Errorf("%w; see that the address is right and the server runs", t.Err)
	}
	return t
}

// errCut is the end of a connection before that of an answer.
var errCut = errors.New("the connection broke off in the middle of an answer")
