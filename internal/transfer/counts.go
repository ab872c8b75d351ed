package transfer

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/planktonml/plankton/storage"
)

// counts is storage.Traffic as many goroutines add to it.
type counts struct {
	requests, lists, retries, resumed, hedges, hedgesWon atomic.Int64
	needed, fetched, waited, paused, underWay            atomic.Int64

	mu    sync.Mutex
	ahead storage.LookAhead
}

func (c *counts) read() storage.Traffic {
	return storage.Traffic{
		Requests: c.requests.Load(), Lists: c.lists.Load(),
		Retries: c.retries.Load(), Resumed: c.resumed.Load(),
		Hedges: c.hedges.Load(), HedgesWon: c.hedgesWon.Load(),
		BytesNeeded: c.needed.Load(), BytesFetched: c.fetched.Load(),
		Waited: time.Duration(c.waited.Load()), Paused: time.Duration(c.paused.Load()), UnderWay: time.Duration(c.underWay.Load()),
		LookAhead: c.lookAhead(),
	}
}

func (c *counts) lookAhead() storage.LookAhead {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ahead
}

func (c *counts) addAhead(l storage.LookAhead) {
	c.mu.Lock()
	c.ahead = c.ahead.Add(l)
	c.mu.Unlock()
}
