package run

import (
	"runtime"
	"time"

	"github.com/planktonml/plankton/internal/usage"
	"github.com/planktonml/plankton/pipeline/stats"
)

// Stats returns what the latest run has done so far; the zero stats.Run before the first.
// It may be called from any goroutine, also after Close.
func (e *Engine) Stats() stats.Run {
	if r := e.latest.Load(); r != nil {
		return r.stats()
	}
	return stats.Run{}
}

// Stats returns what the run has done so far. It may be called from any
// goroutine, also after Close.
func (r *Runner) Stats() stats.Run { return r.region.stats() }

func (r *sampleRegion) stats() stats.Run {
	s := stats.Run{Processors: runtime.GOMAXPROCS(0), Memory: r.e.pool.Stats()}
	operators, _ := r.p.Operators()
	for _, info := range operators {
		s.Operators = append(s.Operators, stats.Operator{Name: info.Name, Reader: info.Reader, Batch: info.Batch})
	}
	for _, w := range r.workers {
		w.rec.addTo(s.Operators)
		w.warnings.addTo(&s.Warnings)
	}
	for i := range s.Operators {
		o := &s.Operators[i]
		s.Workers.WaitGet += o.WaitGet
		s.Workers.WaitMemory += o.WaitMemory
	}
	for i := range r.batchCounts {
		r.batchCounts[i].addTo(s.Operators)
	}
	storage := readStorage(r.p)
	storage.addTo(&s, &r.storage)
	r.consumer.addTo(&s)
	if r.house != nil {
		s.Remote = r.house.stats()
		s.Cut = r.p.Cuttable()
	}
	if r.running.Load() {
		t := r.rows.Times()
		s.Elapsed = t.Elapsed
		s.Workers.Capacity, s.Workers.WaitPut, s.Workers.Yielded = t.Capacity, t.Idle, t.Yielded
	}
	return s
}

// addTo puts the counts into s, with what goes on at the moment.
func (c *consumer) addTo(s *stats.Run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Consumer, s.Queue, s.CPU = c.stats, c.queue, c.cpu
	s.Workers.Workers, s.Queue.Depth = c.at.Workers, c.at.Depth
	switch d := time.Duration(now() - c.since); {
	case c.lent != nil:
		s.Consumer.Body += d
	case c.waits:
		s.Consumer.Waited += d
	}
	if c.running {
		s.CPU += usage.CPU() - c.cpuAt
	}
}
