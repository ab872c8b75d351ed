package pipeline

import (
	"runtime"
	"time"

	"github.com/planktonml/plankton/internal/usage"
	"github.com/planktonml/plankton/pipeline/stats"
)

// Stats returns what the latest run has done so far, whether an iterator or the
// program runs the pipeline; the zero stats.Run before the first. It may be called from
// any goroutine, also after Close.
func (p *Pipeline) Stats() stats.Run {
	if g := p.latest.Load(); g != nil {
		return g.stats()
	}
	return stats.Run{}
}

// Stats returns what the run has done so far. It may be called from any
// goroutine, also after Close.
func (r *Runner) Stats() stats.Run { return r.region.stats() }

func (g *hostRegion) stats() stats.Run {
	s := stats.Run{Processors: runtime.GOMAXPROCS(0), Memory: g.p.Memory()}
	for _, info := range g.p.Operators() {
		s.Operators = append(s.Operators, stats.Operator{Name: info.Name, Reader: info.Reader, Batch: info.Batch})
	}
	for _, w := range g.workers {
		w.rec.addTo(s.Operators)
		w.warnings.addTo(&s.Warnings)
	}
	for i := range s.Operators {
		o := &s.Operators[i]
		s.Workers.WaitGet += o.WaitGet
		s.Workers.WaitMemory += o.WaitMemory
	}
	for i := range g.batchCounts {
		g.batchCounts[i].addTo(s.Operators)
	}
	g.consumer.addTo(&s)
	if g.running.Load() {
		t := g.rows.Times()
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
