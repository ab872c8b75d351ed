package iterator

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/pipeline"
)

// failing returns a loader whose sample 9 is bad as long as *bad.
func failing(t require.TestingT, bad *bool) (*Loader, error) {
	damaged := errors.New("damaged")
	s := base()
	s.reader.Shuffle = false
	s.source.read = func(_ context.Context, i int64) error {
		if i == 9 && *bad {
			return damaged
		}
		return nil
	}
	l, err := New(s.loader, s.pipe(t))
	require.NoError(t, err)
	return l, damaged
}

// A loop that does not take its error loses it to nobody: it is there afterwards,
// whatever loops follow, and comes out of Close.
func TestTheErrorOfALoopIsNotLost(t *testing.T) {
	bad := true
	l, damaged := failing(t, &bad)
	require.NoError(t, l.Err())
	bodies := 0
	for range l.Epoch(t.Context()) {
		bodies++
	}
	require.Equal(t, 3, bodies, "two batches, and once more without one")
	require.ErrorIs(t, l.Err(), damaged)
	bad = false
	require.Len(t, take(t, l, all), 4, "the rest goes well")
	require.ErrorIs(t, l.Err(), damaged)
	err := l.Close()
	require.ErrorIs(t, err, damaged)
	require.ErrorContains(t, err, "its body went on after the error")
	require.ErrorIs(t, l.Err(), damaged, "also behind Close")
	require.NoError(t, l.Close())
}

// Close returns what a body has not seen to, and nothing else.
func TestCloseTellsWhatNobodySaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bad, untold, failed := true, false, false
		l, damaged := failing(t, &bad)
		start := stateOf(t, l)
		for range rapid.IntRange(0, 5).Draw(t, "moves") {
			switch rapid.IntRange(0, 5).Draw(t, "move") {
			case 0:
				for range l.Epoch(context.Background()) {
				}
				untold, failed = untold || bad, failed || bad
			case 1:
				for _, err := range l.Epoch(context.Background()) {
					if err != nil {
						break
					}
				}
				failed = failed || bad
			case 2:
				require.NoError(t, l.Reset())
				untold, failed = false, false
			case 3:
				require.NoError(t, l.Restore(start))
				untold, failed = false, false
			case 4:
				require.NoError(t, l.Seek(start.Position()))
				bad = !bad // nothing is being made
				untold, failed = false, false
			case 5:
				_, _ = l.Next(context.Background())
			}
			if failed {
				require.ErrorIs(t, l.Err(), damaged)
			} else {
				require.NoError(t, l.Err())
			}
		}
		if err := l.Close(); untold {
			require.ErrorIs(t, err, damaged)
		} else {
			require.NoError(t, err)
		}
	})
}

// A sample's error is typed behind Close as well.
func TestCloseKeepsTheSample(t *testing.T) {
	bad := true
	l, _ := failing(t, &bad)
	for range l.Steps(t.Context(), 10) {
	}
	var sample *pipeline.SampleError
	require.ErrorAs(t, l.Close(), &sample)
	require.EqualValues(t, 9, sample.Index)
}
