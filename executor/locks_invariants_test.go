//go:build invariants

package executor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLocksAreTakenInOrder(t *testing.T) {
	var frame frameMutex
	var loop loopMutex
	var one, other leafMutex
	frame.Lock()
	loop.Lock()
	one.Lock()
	require.PanicsWithValue(t, "executor: a lock of rank 4 is taken inside of one of rank 4", other.Lock)
	one.Unlock()
	require.PanicsWithValue(t, "executor: a lock of rank 1 is taken inside of one of rank 3", new(frameMutex).Lock)
	loop.Unlock()
	frame.Unlock()
	loop.Lock()
	done := make(chan struct{})
	go func() { // another goroutine holds nothing
		defer close(done)
		frame.Lock()
		defer frame.Unlock()
	}()
	<-done
	loop.Unlock()
	require.Empty(t, held.ranks)
}
