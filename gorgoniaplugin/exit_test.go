//go:build !cuda

package gorgoniaplugin_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/stretchr/testify/require"
)

// However a loop ends, the nodes hold zeros and the feed can go on.
func TestEndsOfALoop(t *testing.T) {
	boom := errors.New("boom")
	const n = 40
	for _, c := range []struct {
		name string
		loop func(t *testing.T, f *gorgoniaplugin.Feed)
		left int // batches of the epoch that are left
	}{
		{"the end", func(t *testing.T, f *gorgoniaplugin.Feed) {
			require.Equal(t, n/4, drain(t, f))
		}, n / 4},
		{"break", func(t *testing.T, f *gorgoniaplugin.Feed) {
			for b := range f.Epoch(context.Background()) {
				if b.Step() == 1 {
					break
				}
			}
		}, n/4 - 2},
		{"return", func(t *testing.T, f *gorgoniaplugin.Feed) {
			func() {
				for range f.Epoch(context.Background()) {
					return
				}
			}()
		}, n/4 - 1},
		{"panic", func(t *testing.T, f *gorgoniaplugin.Feed) {
			require.PanicsWithError(t, boom.Error(), func() {
				for range f.Epoch(context.Background()) {
					panic(boom)
				}
			})
		}, n/4 - 1},
		{"Goexit", func(t *testing.T, f *gorgoniaplugin.Feed) {
			var wg sync.WaitGroup
			wg.Go(func() {
				for range f.Epoch(context.Background()) {
					runtime.Goexit()
				}
			})
			wg.Wait()
		}, n/4 - 1},
		{"cancel", func(t *testing.T, f *gorgoniaplugin.Feed) {
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			var ends []error
			for b, err := range f.Epoch(ctx) {
				if err != nil {
					require.Nil(t, b)
					ends = append(ends, err)
					break
				}
				cancel(boom)
			}
			require.Equal(t, []error{boom}, ends)
		}, n/4 - 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, _, _ := newFeed(t, newLoader(t, batchOf4, iterator.Options{}, numbered(n, 1)))
			c.loop(t, f)
			requireZeros(t, f.Node("x"), f.Node("y"), f.Weights())
			require.Equal(t, c.left, drain(t, f))
		})
	}
}

func TestErrorOfThePipeline(t *testing.T) {
	l := newLoader(t, batchOf4, drop, failing(16, func(i int64) bool { return i == 9 }))
	f, _, _ := newFeed(t, l)
	var steps int
	for b, err := range f.Epoch(context.Background()) {
		if err != nil {
			var sample *pipeline.SampleError
			require.ErrorAs(t, err, &sample)
			require.EqualValues(t, 9, sample.Index)
			require.Equal(t, "picky", sample.Op)
			require.Nil(t, b)
			continue // nothing may follow
		}
		steps++
	}
	require.Equal(t, 2, steps)
	requireZeros(t, f.Node("x"))
	require.NoError(t, l.Reset())
	require.NoError(t, f.Close())
}

func TestUseAfterClose(t *testing.T) {
	f, vm, _ := newFeed(t, newLoader(t, batchOf4, drop, numbered(8, 0)))
	require.NoError(t, f.Close())
	require.NoError(t, f.Close())
	require.ErrorIs(t, onlyError(t, f), gorgoniaplugin.ErrClosed)
	require.ErrorIs(t, f.Attach(vm), gorgoniaplugin.ErrClosed)
}

func TestLoaderIsClosed(t *testing.T) {
	l := newLoader(t, batchOf4, drop, numbered(8, 0))
	f, _, _ := newFeed(t, l)
	require.NoError(t, l.Close())
	require.ErrorIs(t, onlyError(t, f), gorgoniaplugin.ErrClosed)
}

func TestRetainedBatchOutlivesTheBody(t *testing.T) {
	f, _, _ := newFeed(t, newLoader(t, batchOf4, drop, numbered(12, 1)))
	var kept *iterator.Batch
	for b, err := range f.Epoch(context.Background()) {
		require.NoError(t, err)
		if b.Step() == 0 {
			b.Retain()
			kept = b
		}
	}
	requireZeros(t, f.Node("x"))
	require.Equal(t, float32(1), kept.Float32s("x")[0])
	kept.Release()
}
