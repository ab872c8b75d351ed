package lookahead

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/planktonml/plankton/pipeline/datum"
)

// A drawn run: what comes, and what reads make of it.
type drawn struct {
	samples samples
	coming  []datum.Coming
	store   *store
	options Options
	batch   int64
	seed    uint64
	workers int
	stop    int // after so many rows, by a cancelled context; -1 for never
}

func draw(t *rapid.T) *drawn {
	d := &drawn{
		batch: rapid.Int64Range(1, 9).Draw(t, "batch"), seed: rapid.Uint64().Draw(t, "seed"),
		workers: rapid.IntRange(1, 5).Draw(t, "workers"),
	}
	r := rand.New(rand.NewPCG(d.seed, 1))
	objects, each := 1+r.IntN(5), 1+r.IntN(12)
	largest := int64(1) << r.IntN(17)
	for o := range objects {
		off := int64(0)
		for range each {
			var ranges []Range
			for range r.IntN(3) {
				n := r.Int64N(largest)
				ranges = append(ranges, Range{int64(o), off, n})
				off += n + r.Int64N(3)*r.Int64N(gapBytes)
			}
			d.samples = append(d.samples, ranges)
		}
	}
	epochs := 1 + r.IntN(4)
	group := int64(1 + r.IntN(len(d.samples)))
	grouped := r.IntN(2) == 0
	place := int64(0)
	for epoch := range epochs {
		for i, id := range r.Perm(len(d.samples)) {
			c := datum.Coming{Place: place, Index: int64(id), Epoch: int64(epoch), Group: datum.NoGroup}
			if grouped {
				c.Group = int64(i) / group
			}
			d.coming = append(d.coming, c)
			place++
			if r.IntN(20) == 0 { // a short batch
				place += d.batch - place%d.batch
			}
		}
	}
	d.store = &store{latency: time.Duration(r.IntN(40)) * time.Millisecond}
	if share := r.IntN(3); share > 0 {
		var mu sync.Mutex
		d.store.fault = func(asked) error {
			mu.Lock()
			defer mu.Unlock()
			if r.IntN(4*share) == 0 {
				return errStore
			}
			if r.IntN(30) == 0 {
				panic("a store that panics")
			}
			return nil
		}
	}
	d.options = Options{
		Place: d.store, Samples: d.samples, Requests: 1 + r.IntN(8),
		Bytes: 1 << (12 + rapid.IntRange(0, 9).Draw(t, "memory")),
	}
	d.stop = -1
	if rapid.Bool().Draw(t, "cancel") {
		d.stop = r.IntN(len(d.coming) + 1)
	}
	return d
}

func (d *drawn) all() iter.Seq[datum.Coming] {
	return func(yield func(datum.Coming) bool) {
		for _, c := range d.coming {
			if !yield(c) {
				return
			}
		}
	}
}

// Whatever is planned, read, read again, left out or given up, and whatever the store does: a
// range that is held has its bytes, nothing waits for ever, and all memory comes back. (Nothing
// can wait for ever unseen: synctest fails where all goroutines do.)
func TestRandomRuns(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := draw(rt)
		synctest.Test(t, func(*testing.T) {
			if err := d.run(); err != nil {
				rt.Error(err)
			}
		})
	})
}

func (d *drawn) run() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	run, err := Start(ctx, d.options, d.all())
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var failed error
	next := 0
	left := map[int64]int{} // rows of batches that are not made
	for _, c := range d.coming {
		left[c.Place/d.batch]++
	}
	made := func(c datum.Coming) {
		mu.Lock()
		k := c.Place / d.batch
		left[k]--
		done := left[k] == 0
		mu.Unlock()
		if done {
			run.Done(k*d.batch, (k+1)*d.batch)
		}
	}
	var all sync.WaitGroup
	for w := range d.workers {
		r := rand.New(rand.NewPCG(d.seed, uint64(2+w)))
		all.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i == d.stop {
					cancel()
				}
				if i >= len(d.coming) || ctx.Err() != nil {
					return
				}
				c := d.coming[i]
				for n := r.IntN(4); n > 0; n -= 2 { // not at all, once or twice
					if err := d.read(ctx, run, c); err != nil {
						mu.Lock()
						failed = err
						mu.Unlock()
					}
					time.Sleep(time.Duration(r.IntN(5)) * time.Millisecond)
				}
				made(c)
			}
		})
	}
	all.Wait()
	if failed == nil && ctx.Err() == nil {
		time.Sleep(time.Minute) // for requests that nobody waits for
		failed = run.whole()
	}
	began := time.Now()
	run.Close()
	if took := time.Since(began); failed == nil && took > 0 {
		failed = fmt.Errorf("Close took %v", took)
	}
	if held, err := run.Read(context.Background(), 0, d.coming[0].Index, 0, make([]byte, 8)); held || err != nil {
		failed = fmt.Errorf("a closed run holds something: %v", err)
	}
	return failed
}

// read reads the ranges of a sample as a reader does.
func (d *drawn) read(ctx context.Context, run *Run, c datum.Coming) error {
	for _, r := range d.samples[c.Index] {
		dst := make([]byte, r.Length)
		held, err := run.Read(ctx, c.Place, c.Index, r.Offset, dst)
		switch {
		case err != nil && ctx.Err() == nil:
			return fmt.Errorf("place %d: %w", c.Place, err)
		case err == nil && held && !bytes.Equal(dst, bytesOf(d.samples.Object(r.Object), r.Offset, r.Length)):
			return fmt.Errorf("place %d has other bytes", c.Place)
		}
	}
	return nil
}

// whole reports what is left of a run whose rows are all made.
func (r *Run) whole() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case len(r.windows) > 0 || len(r.skip) > 0:
		return fmt.Errorf("%d windows and %d places are left", len(r.windows), len(r.skip))
	case len(r.arena.free) != 1 || r.arena.free[0] != (span{0, int64(len(r.arena.mem))}):
		return fmt.Errorf("memory is left: free is %v of %d", r.arena.free, len(r.arena.mem))
	}
	return nil
}
