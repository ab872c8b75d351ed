package metamorphic

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/planktonml/plankton/internal/lookahead"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// planned is a source that is read along the plan: a sample is there when its range is, of a
// store that is slow and fails at times.
type planned struct{ ahead }

// foreseen is the first thing that was amiss with what planned sources were told, or read.
var foreseen atomic.Pointer[string]

// plannedBytes is the memory of a planned source: a few samples.
const plannedBytes = 8 << 10

func (s planned) LookAhead() int64       { return plannedBytes }
func (s planned) AheadBytes(int64) int64 { return 0 } // groups of any size
func (s planned) Object(o int64) string  { return fmt.Sprint(o) }
func (s planned) where(i int64) lookahead.Range {
	return lookahead.Range{Object: i % 3, Offset: i / 3 * 2000, Length: 1 + int64(s.key(i)%1500)}
}

func (s planned) AppendRanges(dst []lookahead.Range, i int64) []lookahead.Range {
	return append(dst, s.where(i))
}

func (s planned) Open(string) (fs.File, error) { return nil, fs.ErrInvalid }

func (s planned) ReadRange(ctx context.Context, _ string, off int64, dst []byte) (int, error) {
	h := hash(s.seed + uint64(off+int64(len(dst))))
	time.Sleep(time.Duration(h%300) * time.Microsecond)
	if h%5 == 0 {
		return 0, errors.New("the store fails")
	}
	for i := range dst {
		dst[i] = byte(off + int64(i))
	}
	return len(dst), ctx.Err()
}

func (s planned) ReadPlan(ctx context.Context, coming iter.Seq[datum.Coming]) (datum.PlanReads, error) {
	run, err := lookahead.Start(ctx, lookahead.Options{Place: s, Samples: s, Bytes: plannedBytes, Requests: 3}, coming)
	r := &plannedReads{Run: run, of: s, told: map[int64]int64{}}
	r.next, r.stop = iter.Pull(coming)
	return r, err
}

// plannedReads looks whether what is read was told.
type plannedReads struct {
	*lookahead.Run
	of planned

	mu   sync.Mutex
	told map[int64]int64 // samples by place
	last int64           // the highest place that was told, plus one
	next func() (datum.Coming, bool)
	stop func()
}

func (r *plannedReads) Read(ctx context.Context, place, i int64, out []*datum.Tensor) error {
	r.check(place, i)
	where := r.of.where(i)
	dst := make([]byte, where.Length)
	if held, err := r.Run.Read(ctx, place, i, where.Offset, dst); held {
		if err != nil {
			return err
		}
		for k := range dst {
			if dst[k] != byte(where.Offset+int64(k)) {
				amiss(fmt.Sprintf("place %d has other bytes", place))
				break
			}
		}
	}
	return r.of.Read(ctx, i, out)
}

func (r *plannedReads) check(place, i int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.last <= place {
		c, ok := r.next()
		if !ok {
			break
		}
		if c.Index == datum.Elsewhere {
			continue
		}
		if c.Place < r.last {
			amiss(fmt.Sprintf("place %d was told after %d", c.Place, r.last-1))
		}
		r.told[c.Place], r.last = c.Index, c.Place+1
	}
	if told, ok := r.told[place]; !ok || told != i {
		amiss(fmt.Sprintf("place %d reads sample %d; told %d (%t)", place, i, told, ok))
	}
}

func amiss(text string) { foreseen.CompareAndSwap(nil, &text) }

func (r *plannedReads) Close() {
	r.stop()
	r.Run.Close()
}

// lookAhead returns the bytes that the readers of a pipeline set aside.
func lookAhead(p *pipeline.Pipeline) (n int64) {
	for _, r := range p.Readers() {
		if s, ok := r.Source.(datum.PlanReader); ok {
			n += s.LookAhead()
		}
	}
	return n
}
