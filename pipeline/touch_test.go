package pipeline

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/feedtest"
	"github.com/planktonml/plankton/internal/run"
	"github.com/planktonml/plankton/pipeline/datum"
)

// nearby notes what is touched and read, in order.
type nearby struct {
	numbers
	mu      sync.Mutex
	touched []int64
	early   []int64 // touched, and not yet read
}

func (s *nearby) Touch(index int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.touched = append(s.touched, index)
	s.early = append(s.early, index)
}

func (s *nearby) Read(ctx context.Context, index int64, out []*datum.Tensor) error {
	s.mu.Lock()
	s.early = slices.DeleteFunc(s.early, func(i int64) bool { return i == index })
	s.mu.Unlock()
	return s.numbers.Read(ctx, index, out)
}

func TestSamplesAreTouchedBeforeTheyAreRead(t *testing.T) {
	const n, batch = 50, 8 // the last batch has two rows
	for _, workers := range []int{1, 3} {
		s := &nearby{numbers: numbers{n: n}}
		p, err := New(Options{BatchSize: batch, Workers: workers}, func(g *Graph) {
			g.Output("square", square(g, g.Read(ReaderOptions{}, s)[0], nil))
		})
		require.NoError(t, err)
		r, err := p.NewRunner(feedtest.Once(n, batch))
		require.NoError(t, err)
		collect(t, r)
		require.NoError(t, r.Close())
		var want []int64
		for i := range int64(n) {
			if i%batch >= run.TouchAhead {
				want = append(want, i)
			}
		}
		slices.Sort(s.touched)
		require.Equal(t, want, s.touched, "each once, but for the first of a batch")
		if workers == 1 {
			require.Empty(t, s.early, "none after it was read")
		}
	}
}

// skittish is a source whose hints panic for one sample.
type skittish struct {
	numbers
	at int64
}

func (s skittish) Touch(index int64) {
	if index == s.at {
		panic("touched")
	}
}

func TestAPanicOfTouchFailsASample(t *testing.T) {
	p, err := New(Options{BatchSize: 8, Workers: 1, OnError: Skip}, func(g *Graph) {
		g.Output("square", square(g, g.Read(ReaderOptions{}, skittish{numbers{n: 16}, 6})[0], nil))
	})
	require.NoError(t, err)
	r := runner(t, p, 16)
	b, err := r.Next(t.Context())
	require.NoError(t, err)
	var panicked *PanicError
	require.ErrorAs(t, b.Errors()[6-run.TouchAhead], &panicked)
	require.Equal(t, "touched", panicked.Value)
	require.Equal(t, 7, b.NumValid())
	b.Release()
	take(t, r, 1)
	require.Equal(t, int64(1), r.Stats().Operators[0].Errors)
	require.NoError(t, r.Close())
}
