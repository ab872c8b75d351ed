package executor

import (
	"sync/atomic"
	"time"
)

// A node that is marked expensive is measured, since marks are guesses: it goes
// to other goroutines only while it takes longer than handing it over costs.
// The estimate starts high enough for a node to be tried elsewhere first.
const (
	expensiveFrom = 2 * time.Microsecond
	firstEstimate = 10 * time.Microsecond
)

// costs holds the running mean of every node's time, in nanoseconds.
type costs []atomic.Int64

func newCosts(nodes int) costs {
	c := make(costs, nodes)
	for i := range c {
		c[i].Store(int64(firstEstimate))
	}
	return c
}

func (c costs) expensive(node int32) bool { return c[node].Load() >= int64(expensiveFrom) }

// due reports whether the next run of the node is to be measured: always while
// it is expensive, and once in a while when it is not, in case it changes.
func (c costs) due(s *session, node int32) bool {
	s.tick++
	return s.tick&15 == 0 || c.expensive(node)
}

// add mixes a measurement into the mean. Concurrent ones may overwrite each
// other, which an estimate can bear.
func (c costs) add(node int32, took time.Duration) {
	old := c[node].Load()
	c[node].Store(old + (int64(took)-old)/10)
}
