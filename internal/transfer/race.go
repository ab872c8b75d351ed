package transfer

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errOvertaken ends the slower one of two answers.
var errOvertaken = errors.New("another answer began first")

// contest is a try of a request that is sent twice where its answer is late. The answer
// that begins first wins; the other one is over before the contest is.
type contest struct {
	c    *Client
	p    *part
	host *host

	mu     sync.Mutex
	over   bool // one has won, or none will
	first  *answer
	second *answer       // nil until it is sent
	ended  chan struct{} // closed when second has won or failed
	hedged bool          // second has won
}

// race asks for a part and returns the answer that begins first.
func (c *Client) race(ctx context.Context, p *part) (*answer, error) {
	req, err := p.New(ctx)
	if err != nil {
		return nil, err
	}
	h := c.host(req.URL.Host)
	if err := h.enter(ctx, c); err != nil {
		return nil, err
	}
	t := &contest{c: c, p: p, host: h, first: c.newAnswer(ctx, h)}
	if late := c.latency.hedgeAfter(); late > 0 {
		hedge := time.AfterFunc(late, func() { t.hedge(ctx) })
		defer hedge.Stop()
	}
	return t.end(t.first.begin(p, req))
}

// hedge asks a second time, unless that is too much.
func (t *contest) hedge(ctx context.Context) {
	t.mu.Lock()
	if t.over || !t.c.counts.mayHedge() || !t.host.tryEnter() {
		t.mu.Unlock()
		return
	}
	t.c.counts.hedges.Add(1)
	a := t.c.newAnswer(ctx, t.host)
	t.second, t.ended = a, make(chan struct{})
	t.mu.Unlock()
	defer close(t.ended)

	req, err := t.p.New(a.ctx)
	if err == nil {
		err = a.begin(t.p, req)
	}
	t.mu.Lock()
	t.hedged = err == nil && !t.over
	if t.hedged {
		t.over = true
		t.c.counts.hedgesWon.Add(1)
		t.first.cancel(errOvertaken)
	}
	t.mu.Unlock()
	if !t.hedged {
		a.close()
	}
}

// end is called when the first answer has begun or failed, and returns the one that won.
func (t *contest) end(err error) (*answer, error) {
	t.mu.Lock()
	if t.second == nil || !mayWin(err) {
		if !t.over && t.second != nil {
			t.second.cancel(errOvertaken)
		}
		t.over = true
	}
	ended := t.ended
	t.mu.Unlock()
	if ended != nil {
		<-ended
	}
	if t.hedged {
		t.c.latency.add(time.Since(t.first.began)) // at least
		t.first.close()
		return t.second, nil
	}
	if err != nil {
		t.first.close()
		return nil, err
	}
	return t.first, nil
}

// mayWin reports whether the second answer can be better than what the first ended with.
func mayWin(err error) bool {
	if failed := (*trouble)(nil); errors.As(err, &failed) {
		return failed.Retry
	}
	return errors.Is(err, errOvertaken)
}
