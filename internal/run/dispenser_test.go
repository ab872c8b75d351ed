package run

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// waitingCall is a call that a dispenser keeps.
type waitingCall struct {
	number int
	ended  chan error // of Done; the dispenser ends it at most once
}

func (c *waitingCall) Done(err error) { c.ended <- err }

// counter dispenses numbers below n and notes in which order calls get them.
type counter struct {
	*dispenser[*waitingCall, int]

	mu      sync.Mutex
	granted []int          // numbers of calls
	lent    map[int]bool   // by thing
	got     chan [2]int    // call and thing
	calls   []*waitingCall // by number
}

func newCounter(n int) *counter {
	k := &counter{lent: map[int]bool{}, got: make(chan [2]int, 1000)}
	things := make([]int, n)
	for i := range things {
		things[i] = i
	}
	k.dispenser = newDispenser(func(c *waitingCall, thing int) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.lent[thing] {
			panic("a thing is lent twice")
		}
		k.lent[thing] = true
		k.granted = append(k.granted, c.number)
		k.got <- [2]int{c.number, thing}
	}, things...)
	return k
}

// ask takes a thing for a new call.
func (k *counter) ask(ctx context.Context) error {
	c := &waitingCall{len(k.calls), make(chan error, 1)}
	k.calls = append(k.calls, c)
	return k.take(ctx, c)
}

func (k *counter) bring(thing int) {
	k.mu.Lock()
	k.lent[thing] = false
	k.mu.Unlock()
	k.give(thing)
}

// Calls get things in the order in which they ask, no thing is lent twice, and a call waits
// only while all things are lent.
func TestDispenserKeepsTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "things")
		k := newCounter(n)
		var lent []int
		for _, ask := range rapid.SliceOfN(rapid.Bool(), 1, 60).Draw(t, "asks") {
			if ask {
				require.NoError(t, k.ask(context.Background()))
			} else if len(lent) > 0 {
				i := rapid.IntRange(0, len(lent)-1).Draw(t, "which")
				thing := lent[i]
				lent = append(lent[:i], lent[i+1:]...)
				k.bring(thing)
			}
			for len(k.got) > 0 {
				lent = append(lent, (<-k.got)[1])
			}
			for i, call := range k.granted {
				require.Equal(t, i, call)
			}
			require.True(t, len(lent) == n || len(k.granted) == len(k.calls), "%d calls wait, and %d of %d things are lent", len(k.calls)-len(k.granted), len(lent), n)
		}
	})
}

// Whenever the run ends, every call has got a thing or ends with errAbandoned, once, and no
// goroutine is left.
func TestDispenserEndsWithTheRun(t *testing.T) {
	for end := range 20 {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			k := newCounter(2)
			var refused []int
			var group sync.WaitGroup
			group.Go(func() { // the batches, one a second
				for i := range 10 {
					if err := k.ask(ctx); err != nil {
						require.ErrorIs(t, err, errAbandoned)
						refused = append(refused, i)
					}
					time.Sleep(time.Second)
				}
			})
			group.Go(func() { // the consumer is slower
				for {
					select {
					case got := <-k.got:
						time.Sleep(3 * time.Second)
						k.bring(got[1])
					case <-time.After(time.Minute):
						return
					}
				}
			})
			time.Sleep(time.Duration(end)*time.Second + 500*time.Millisecond)
			cancel()
			group.Wait()
			ends := map[int]int{}
			for _, i := range k.granted {
				ends[i]++
			}
			for _, i := range refused {
				ends[i]++
			}
			for i, c := range k.calls {
				select {
				case err := <-c.ended:
					require.ErrorIs(t, err, errAbandoned)
					ends[i]++
				default:
				}
				require.Equal(t, 1, ends[i], "call %d, cancelled after %d s", i, end)
			}
			if end == 4 {
				require.NotEmpty(t, refused)
				require.Less(t, len(k.granted)+len(refused), len(k.calls), "somebody waited")
			}
		})
	}
}
