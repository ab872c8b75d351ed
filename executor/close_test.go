package executor

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// closing is for how long the tests below close executors under what ends.
const closing = 500 * time.Millisecond

// single is a program of one constant.
func single() *Graph {
	g := NewGraph()
	g.Output("y", g.Const("c", Int(1)))
	return g
}

// TestCloseWhileRunsEnd closes executors whose Run is about to return.
func TestCloseWhileRunsEnd(t *testing.T) {
	for begin := time.Now(); time.Since(begin) < closing; {
		p, err := Compile(single(), CompileOptions{})
		require.NoError(t, err)
		x, err := New(p, Options{})
		require.NoError(t, err)
		ended := make(chan error)
		go func() {
			var err error
			for err == nil {
				err = x.Run(context.Background(), Args{})
			}
			ended <- err
		}()
		for range rand.IntN(3000) { // any place of a run
		}
		require.NoError(t, x.Close())
		require.ErrorIs(t, <-ended, ErrClosed)
	}
}

// TestLoopOfAClosedExecutor starts loops that are refused while their context
// ends.
func TestLoopOfAClosedExecutor(t *testing.T) {
	x := newExecutor(t, single(), Options{})
	require.NoError(t, x.Close())
	for begin := time.Now(); time.Since(begin) < closing; {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		_, err := x.Loop(ctx, LoopOptions{})
		if err != context.Canceled {
			require.Equal(t, ErrClosed, err)
		}
	}
}

// freeing calls a function before it frees memory.
type freeing struct {
	Heap
	before func()
}

func (f freeing) Free(mem []byte, attr Attr) {
	f.before()
	f.Heap.Free(mem, attr)
}

// TestCloseConcernsNoRunThatIsOver closes an executor between the end of a run,
// which frees what nobody has taken, and its return: the run has not failed, so
// what it shares with others must not be aborted.
func TestCloseConcernsNoRunThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x *Executor
		g := NewGraph()
		g.Output("y", g.Add("make", Op{Outputs: 1, Run: func(_ context.Context, c *Call) error {
			_, err := c.Alloc(0, 8)
			return err
		}}).Out(0))
		x = newExecutor(t, g, Options{Allocator: freeing{before: func() {
			go func() { assert.NoError(t, x.Close()) }()
			synctest.Wait() // Close waits for this run
		}}})
		shared := NewRendezvous()
		require.NoError(t, x.Run(t.Context(), Args{Rendezvous: shared}))
		require.NoError(t, shared.Send(Key{Name: "x"}, Int(1), false))
	})
}

// TestAFailedRunHasAbortedItsRendezvous asks when Run has returned, whoever
// ended it, also where it was refused.
func TestAFailedRunHasAbortedItsRendezvous(t *testing.T) {
	started := make(chan struct{}, 1)
	g := NewGraph()
	g.Output("y", g.Add("wait", Op{Outputs: 1, Run: func(ctx context.Context, _ *Call) error {
		started <- struct{}{}
		<-ctx.Done()
		return context.Cause(ctx)
	}}).Out(0))
	x := newExecutor(t, g, Options{})
	failed := func(ctx context.Context, want error) {
		shared := NewRendezvous()
		require.Equal(t, want, x.Run(ctx, Args{Rendezvous: shared}))
		require.Equal(t, want, shared.Send(Key{Name: "x"}, Int(1), false))
	}
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-started; cancel() }()
		failed(ctx, context.Canceled)
	}
	closed := make(chan error)
	go func() { <-started; closed <- x.Close() }()
	failed(t.Context(), ErrClosed)
	require.NoError(t, <-closed)
	failed(t.Context(), ErrClosed)
}
