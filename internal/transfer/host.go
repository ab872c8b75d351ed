package transfer

import (
	"context"
	"sync/atomic"
	"time"
)

// host is one server that a client asks.
type host struct {
	slots    chan struct{} // one for each request in flight
	answered atomic.Bool   // it has sent an answer, of whatever kind
}

func (c *Client) host(name string) *host {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.hosts[name]
	if h == nil {
		h = &host{slots: make(chan struct{}, c.network.InFlight)}
		c.hosts[name] = h
	}
	return h
}

// enter waits until a request may be sent.
func (h *host) enter(ctx context.Context, c *Client) error {
	if h.tryEnter() {
		return nil
	}
	began := time.Now()
	defer func() { c.counts.waited.Add(int64(time.Since(began))) }()
	select {
	case h.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (h *host) tryEnter() bool {
	select {
	case h.slots <- struct{}{}:
		return true
	default:
		return false
	}
}

func (h *host) leave() { <-h.slots }
