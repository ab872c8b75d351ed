package report

import (
	"slices"
	"sync"
	"time"

	"github.com/planktonml/plankton/pipeline/stats"
)

// course is what a run had done at some moments of it, however long it is: when there are too many, every other
// one is forgotten, and later ones come half as often.
type course struct {
	mu      sync.Mutex
	moments []moment
	apart   time.Duration // of moments, at least
	latest  moment        // behind the last of them, or that one
}

type moment struct {
	at  time.Time
	run stats.Run
}

const (
	mostMoments = 480
	firstApart  = 20 * time.Millisecond
	latestApart = time.Millisecond // so that looking takes 0.5 % of the time at most
)

// observe looks what was done if it is time for that, or if it has to.
func (c *course) observe(now time.Time, must bool, of func() stats.Run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !must && now.Sub(c.latest.at) < latestApart {
		return
	}
	c.latest = moment{now, of()}
	n := len(c.moments)
	if n > 0 && now.Sub(c.moments[n-1].at) < max(c.apart, firstApart) {
		return
	}
	if n == mostMoments {
		for i := range n / 2 {
			c.moments[i] = c.moments[2*i]
		}
		c.moments = slices.Delete(c.moments, n/2, n)
		c.apart = 2 * max(c.apart, firstApart)
	}
	c.moments = append(c.moments, c.latest)
}

// until returns what was done when the loop got its last batch, if that was observed. After that the time
// in which the program does something else would count as work of the workers.
func (c *course) until(now stats.Run) stats.Run {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.latest.run.Consumer.Batches == now.Consumer.Batches && now.Consumer.Batches > 0 {
		return c.latest.run
	}
	return now
}

// shownCourse is a run over time, in parts of equal length.
type shownCourse struct {
	Width  time.Duration
	Rates  []float64 // samples per second
	Ready  []float64 // batches ready when one was asked for
	Memory []float64 // bytes of buffers

	BoundWidth time.Duration
	Bounds     []stats.Verdict
}

// Of a part of the time there is a verdict where it has so many batches.
const (
	boundParts   = 60
	boundBatches = 4
)

// shown returns the course in at most n parts.
func (c *course) shown(n int) (s shownCourse) {
	c.mu.Lock()
	all := slices.Clone(c.moments)
	if n := len(all); n > 0 && c.latest.at.After(all[n-1].at) {
		all = append(all, c.latest)
	}
	c.mu.Unlock()
	if len(all) < 3 {
		return s
	}
	s.Width = inParts(all, min(n, len(all)-1), func(part, until stats.Run) {
		ready := 0.0
		if part.Queue.Asked > 0 {
			ready = float64(part.Queue.Ready) / float64(part.Queue.Asked)
		}
		s.Rates, s.Ready, s.Memory = append(s.Rates, part.Rate()), append(s.Ready, ready), append(s.Memory, float64(until.Memory.Live))
	})
	batches := all[len(all)-1].run.Consumer.Batches - all[0].run.Consumer.Batches
	if parts := min(boundParts, len(all)-1, int(batches/boundBatches)); parts > 1 {
		s.BoundWidth = inParts(all, parts, func(part, _ stats.Run) { s.Bounds = append(s.Bounds, part.Verdict()) })
	}
	return s
}

// inParts calls add with what was done in each of n parts of equal length, and up to its end; a part without a
// moment is as the one before. It returns the length.
func inParts(all []moment, n int, add func(part, until stats.Run)) time.Duration {
	first, last := all[0], all[len(all)-1]
	width := last.at.Sub(first.at)/time.Duration(n) + 1
	from, at := first.run, 0
	var part stats.Run
	for i := range n {
		for end := first.at.Add(time.Duration(i+1) * width); at+1 < len(all) && !all[at+1].at.After(end); {
			at++
		}
		if now := all[at].run; now.Consumer.Batches > from.Consumer.Batches {
			part, from = now.Sub(from), now
		}
		add(part, all[at].run)
	}
	return width
}
