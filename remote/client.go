package remote

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/planktonml/plankton/pipeline/rows"
)

// client has the workers of one run work.
type client struct {
	o     Workers
	house rows.House
	def   rows.Definition
	lines []string
	sum   string

	ctx    context.Context
	lookup func(ctx context.Context, host string) ([]string, error)
	group  sync.WaitGroup
}

// Open implements rows.Makers.
func (w *Workers) Open(ctx context.Context, house rows.House, first bool) (serve func(), err error) {
	c := &client{o: w.withDefaults(), house: house, def: house.Definition(), ctx: ctx, lookup: net.DefaultResolver.LookupHost}
	if c.lines, err = linesOf(c.def); err != nil {
		return nil, err
	}
	c.sum = sumOf(c.lines)
	var all []*endpoint
	var names []address
	for _, text := range c.o.Addresses {
		a, err := parseAddress(text, c.o.PlainText)
		if err != nil {
			return nil, err
		}
		if a.name {
			names = append(names, a)
		} else {
			all = append(all, c.endpoint(a, ""))
		}
	}
	groups := make([]map[string]*endpoint, len(names))
	for i, a := range names {
		groups[i] = map[string]*endpoint{}
		if !first {
			continue
		}
		for _, target := range c.targets(a) {
			groups[i][target] = c.endpoint(a, target)
			all = append(all, groups[i][target])
		}
	}
	if first {
		if err := c.greet(all); err != nil {
			for _, e := range all {
				e.close()
				e.link.close()
			}
			return nil, err
		}
	}
	return func() {
		for _, e := range all {
			c.group.Go(e.run)
		}
		for i, a := range names {
			c.group.Go(func() { c.follow(a, groups[i], !first) })
		}
		c.group.Wait()
	}, nil
}

// firstHello is how long the beginning of the first run waits for workers that do not answer.
const firstHello = 2 * time.Second

// greet says hello to all workers, and notes who answers. A worker that makes other rows is an
// error.
func (c *client) greet(all []*endpoint) error {
	errs := make([]error, len(all))
	var group sync.WaitGroup
	for i, e := range all {
		group.Go(func() {
			var refused *RefusedError
			if err := e.greet(firstHello); errors.As(err, &refused) {
				errs[i] = err
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	for _, e := range all {
		e.note()
	}
	return context.Cause(c.ctx)
}

func (c *client) endpoint(a address, target string) *endpoint {
	l := newLink(&c.o, a, target)
	l.lines, l.sum, l.values = c.lines, c.sum, len(c.def.Values)
	ctx, cancel := context.WithCancel(c.ctx)
	return &endpoint{link: l, c: c, ctx: ctx, close: cancel, up: true, told: map[string]bool{}} // one that is not there at first is down
}

// targets looks a name up.
func (c *client) targets(a address) []string {
	ctx, cancel := context.WithTimeout(c.ctx, firstHello)
	defer cancel()
	host, port, _ := net.SplitHostPort(a.host)
	ips, err := c.lookup(ctx, host)
	if err != nil {
		if c.ctx.Err() == nil {
			c.house.Note(a.text, rows.Down, plainly(err))
		}
		return nil
	}
	targets := make([]string, len(ips))
	for i, ip := range ips {
		targets[i] = net.JoinHostPort(ip, port)
	}
	slices.Sort(targets)
	return slices.Compact(targets)
}

// follow has the workers work that a name stands for, which may change. A name that cannot
// be looked up stands for what it stood for.
func (c *client) follow(a address, known map[string]*endpoint, now bool) {
	for {
		if !now && !pause(c.ctx, c.o.Refresh) {
			return
		}
		now = false
		targets := c.targets(a)
		if targets == nil {
			continue
		}
		for _, t := range targets {
			if known[t] == nil {
				e := c.endpoint(a, t)
				known[t] = e
				c.group.Go(e.run)
			}
		}
		for t, e := range known {
			if !slices.Contains(targets, t) {
				e.close()
				delete(known, t)
			}
		}
	}
}

// pause waits for d, and reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// backOff is a wait that grows with each failure.
type backOff struct{ next, least, most time.Duration }

func (b *backOff) wait(ctx context.Context) bool {
	d := max(b.next, b.least)
	b.next = min(2*d, b.most)
	return pause(ctx, d/2+rand.N(d/2+1))
}

func (b *backOff) reset() { b.next = 0 }
