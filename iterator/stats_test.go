package iterator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/terminal"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/stats"
)

// naps is a loader of n samples, each of which sleeps; one worker makes batches
// of two.
func naps(t *testing.T, n int64, each time.Duration, pipes int) *Loader {
	t.Helper()
	var ps []*pipeline.Pipeline
	for i := range pipes {
		src := numbers{n: n, read: func(context.Context, int64) error { time.Sleep(each); return nil }}
		s := setup{options: pipeline.Options{BatchSize: 2, Workers: 1}, source: src, reader: pipeline.ReaderOptions{NumShards: pipes, ShardID: i}}
		ps = append(ps, s.pipe(t))
	}
	l, err := New(Options{}, ps...)
	require.NoError(t, err)
	return l
}

func epochs(t *testing.T, l *Loader, n int, step time.Duration) {
	t.Helper()
	for _, err := range l.Epochs(t.Context(), n) {
		require.NoError(t, err)
		time.Sleep(step)
	}
}

func TestStatsOfALoader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := naps(t, 8, 10*time.Millisecond, 1)
		defer l.Close()
		epochs(t, l, 2, 5*time.Millisecond) // eight batches of 20 ms, a step of 5 ms
		s := l.Stats()
		require.EqualValues(t, 8, s.Batches)
		require.EqualValues(t, 16, s.Samples)
		require.Equal(t, 20*time.Millisecond, s.FirstBatch)
		require.Equal(t, 40*time.Millisecond, s.Body)
		require.Equal(t, 125*time.Millisecond, s.Waited)
		require.Equal(t, s.Waited+s.Body, s.Active)
		require.EqualValues(t, 1, s.Gaps)
		require.Equal(t, 15*time.Millisecond, s.Gap)
		require.InDelta(t, 16/0.165, s.Rate(), 1e-6)
		require.Equal(t, stats.ByReader, s.Verdict().Bound)

		time.Sleep(time.Hour) // the program does something else
		epochs(t, l, 1, 5*time.Millisecond)
		d := l.Stats().Sub(s)
		require.EqualValues(t, 4, d.Batches)
		require.Equal(t, 20*time.Millisecond, d.Body, "time between loops is no step")
		require.Less(t, d.Waited, 80*time.Millisecond, "batches were made ahead meanwhile")

		js, err := json.Marshal(s)
		require.NoError(t, err)
		var back Stats
		require.NoError(t, json.Unmarshal(js, &back))
		require.Equal(t, s, back)
		var b strings.Builder
		require.NoError(t, s.WritePrometheus(&b))
		require.Contains(t, b.String(), "plankton_batches_total{pipeline=\"0\"} 8\n")
	})
}

func TestStatsOfSeveralPipelinesAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := naps(t, 8, 10*time.Millisecond, 2)
		defer l.Close()
		epochs(t, l, 1, 100*time.Millisecond)
		s := l.Stats()
		require.EqualValues(t, 2, s.Batches)
		require.EqualValues(t, 8, s.Samples)
		require.Equal(t, 200*time.Millisecond, s.Body)
		require.Len(t, s.Pipelines, 2)
	})
}

func TestTheVerdictIsThatOfTheSlowestPipeline(t *testing.T) {
	for slow := range 2 {
		synctest.Test(t, func(t *testing.T) {
			var pipes []*pipeline.Pipeline
			for id := range 2 {
				s := base()
				s.options.Workers, s.reader.NumShards, s.reader.ShardID = 1, 2, id
				if id == slow {
					s.source.read = func(context.Context, int64) error { time.Sleep(time.Second); return nil }
				}
				pipes = append(pipes, s.pipe(t))
			}
			l, err := New(Options{}, pipes...)
			require.NoError(t, err)
			epochs(t, l, 2, time.Millisecond)
			require.NoError(t, l.Close())
			s := l.Stats()
			require.Equal(t, stats.ByReader, s.Verdict().Bound)
			require.NotEqual(t, stats.ByReader, s.Pipelines[1-slow].Verdict().Bound)
		})
	}
}

func TestBadSamplesAreCounted(t *testing.T) {
	s := base()
	s.options.OnError = pipeline.Skip
	s.source.read = func(_ context.Context, i int64) error {
		if i < 3 {
			return errors.New("bad")
		}
		return nil
	}
	l := s.loaderOf(t)
	epochs(t, l, 2, 0)
	require.EqualValues(t, 6, l.Stats().Bad)
	require.EqualValues(t, 2*(22-3), l.Stats().Samples)
}

func TestStatsWhileALoopRunsAndAfterClose(t *testing.T) {
	l := naps(t, 100, 0, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 200 {
			_ = l.Stats().String()
		}
	}()
	epochs(t, l, 4, 0)
	<-done
	require.NoError(t, l.Close())
	require.EqualValues(t, 400, l.Stats().Samples)
	require.Zero(t, Stats{}.Rate())
	require.Zero(t, Stats{}.WaitShare())
	require.Equal(t, stats.Undecided, Stats{}.Verdict().Bound)
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := naps(t, 8, 10*time.Millisecond, 1)
		defer l.Close()
		var b bytes.Buffer
		p := newProgress(terminal.To(&b, 200), l, 2)
		for batch, err := range l.Epochs(t.Context(), 2) {
			require.NoError(t, err)
			time.Sleep(480 * time.Millisecond)
			p.Step("cost %.1f", float64(batch.Step()))
		}
		p.Close()
		lines := strings.Split(b.String(), "\r\x1b[K")
		require.Equal(t, "epoch 1/2  12 % ███░░░░░░░░░░░░░░░░░  1 of 8 steps in all, 4s left, 4 samples/s, waited 4 %  cost 0.0", lines[1])
		require.Contains(t, lines[6], "epoch 2/2  75 % ███████████████░░░░░  6 of 8 steps in all, 1s left")
		require.Len(t, lines, 10)
		require.Empty(t, lines[9], "the line is removed")
	})
}

func TestProgressOfASequence(t *testing.T) {
	p, err := pipeline.New(pipeline.Options{BatchSize: 4}, func(g *pipeline.Graph) {
		g.Output("x", g.ReadSequence(pipeline.ReaderOptions{}, endless{4})[0])
	})
	require.NoError(t, err)
	l, err := New(Options{}, p)
	require.NoError(t, err)
	defer l.Close()
	var b bytes.Buffer
	progress := newProgress(terminal.To(&b, 200), l, 1)
	epochs(t, l, 1, 0)
	progress.Step("")
	require.Contains(t, b.String(), "1 step, ")
	require.NotContains(t, b.String(), "epoch")
}

// On terminals of 80 columns too, what the program adds is there: everything else goes
// first.
func TestProgressOnNarrowTerminals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := naps(t, 8, 10*time.Millisecond, 1)
		defer l.Close()
		p := newProgress(terminal.To(io.Discard, 80), l, 5)
		for range l.Epochs(t.Context(), 2) {
			time.Sleep(480 * time.Millisecond)
			p.Step("")
		}
		const added = "cost 0.50012"
		for columns, want := range map[int]string{
			200: "epoch 3/5  40 % ████████░░░░░░░░░░░░  8 of 20 steps in all, 6s left, 4 samples/s, waited 1 %  cost 0.50012",
			79:  "epoch 3/5  40 % ██░░░  8 of 20 steps in all, 6s left, 4 samples/s  cost 0.50012",
			70:  "epoch 3/5  40 % ██░░░  8 of 20 steps in all, 4 samples/s  cost 0.50012",
			40:  "epoch 3/5  40 %  cost 0.50012",
			20:  " 40 %  cost 0.50012",
			12:  added,
			5:   added, // the terminal cuts it
		} {
			require.Equal(t, want, p.text(added, columns), "%d columns", columns)
		}
		for columns := range 200 {
			text := p.text(added, columns)
			require.True(t, strings.HasSuffix(text, added), text)
			require.LessOrEqual(t, utf8.RuneCountInString(text), max(columns, len(added)), text)
			require.LessOrEqual(t, utf8.RuneCountInString(p.text("", columns)), max(columns, 0), p.text("", columns))
		}
	})
}

// A loop that was left at the last batch of an epoch goes on with the next one.
func TestProgressFromTheEndOfAnEpoch(t *testing.T) {
	l := naps(t, 8, 0, 1)
	defer l.Close()
	left := 4
	for range l.Epochs(t.Context(), 1) {
		if left--; left == 0 {
			break
		}
	}
	var b bytes.Buffer
	p := newProgress(terminal.To(&b, 200), l, 2)
	epochs(t, l, 1, 0)
	p.Step("")
	require.Contains(t, b.String(), "epoch 3/3  12 % ")
	require.Contains(t, b.String(), "1 of 8 steps in all")
}

// So many epochs are not counted beforehand.
func TestProgressOfAVeryLongRun(t *testing.T) {
	l := naps(t, 8, 0, 1)
	defer l.Close()
	var b bytes.Buffer
	progress := newProgress(terminal.To(&b, 200), l, math.MaxInt)
	epochs(t, l, 1, 0)
	progress.Step("")
	require.Contains(t, b.String(), "epoch 2  1 step, ")
}

func TestProgressInAPipe(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	l := naps(t, 4, 0, 1)
	defer l.Close()
	p := NewProgress(w, l, 1)
	for _, err := range l.Epoch(t.Context()) {
		require.NoError(t, err)
		p.Step("")
	}
	p.Close()
	require.NoError(t, w.Close())
	var b bytes.Buffer
	_, err = b.ReadFrom(r)
	require.NoError(t, err)
	require.Empty(t, b.String())
}
