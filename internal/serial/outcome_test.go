package serial

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestFirstSettles(t *testing.T) {
	broken, stop := errors.New("broken"), errors.New("stop")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	for _, c := range []struct {
		name   string
		settle func(*Outcome)
		want   error
	}{
		{"an error", func(o *Outcome) { assert.True(t, o.Settle(broken)) }, broken},
		{"no error", func(o *Outcome) { assert.True(t, o.Settle(nil)) }, nil},
		{"the cause of a context", func(o *Outcome) { assert.Equal(t, stop, o.Wait(ended)) }, stop},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := MakeOutcome()
			c.settle(&o)
			assert.False(t, o.Settle(errors.New("late")))
			assert.Equal(t, c.want, o.Wait(t.Context()))
			assert.Equal(t, c.want, o.Wait(ended), "the end of a context comes too late as well")
		})
	}
}

func TestWaitBlocksUntilSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		o := MakeOutcome()
		begin := time.Now()
		go func() {
			time.Sleep(time.Second)
			o.Settle(broken)
		}()
		assert.Equal(t, broken, o.Wait(t.Context()))
		assert.Equal(t, time.Second, time.Since(begin))
	})
}

func TestAllPartiesSeeOneOutcome(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 200 {
		o := MakeOutcome()
		var firsts atomic.Int32
		errs := make([]error, 8)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				if i%2 == 0 && o.Settle(errors.New("mine")) {
					firsts.Add(1)
				}
				errs[i] = o.Wait(ended)
			})
		}
		wg.Wait()
		for _, err := range errs {
			assert.Same(t, errs[0], err)
		}
		won := int32(1)
		if errs[0] == context.Canceled {
			won = 0
		}
		assert.Equal(t, won, firsts.Load())
	}
}
