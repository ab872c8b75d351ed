package pipeline

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/feedtest"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/stats"
)

// Warnings count for samples that become rows, whatever the number of workers; those of
// samples that fail do not.
func TestWarningsOfRowsAreCountedAndNamed(t *testing.T) {
	const n = 60
	for _, workers := range []int{1, 3} {
		var mu sync.Mutex
		told := map[int64]stats.WarningEvent{}
		p, err := New(Options{
			BatchSize: 7, Workers: workers, OnError: Skip,
			Events: stats.Events{Warned: func(e stats.WarningEvent) {
				mu.Lock()
				defer mu.Unlock()
				told[e.Index] = e
			}},
		}, func(g *Graph) {
			vs := g.Read(ReaderOptions{}, numbers{n: n})
			g.Output("out", g.Add(Op{
				Name: "odd", Inputs: vs[:1], Outputs: []datum.Spec{{DType: datum.Int32, Shape: []int{1}}},
				New: func() (datum.Kernel, error) {
					return datum.KernelFunc(func(s *datum.Sample, _, out []*datum.Tensor) error {
						if s.Index()%3 == 0 {
							s.Warn(fmt.Errorf("number %d is a multiple of 3", s.Index()))
						}
						if s.Index()%9 == 0 {
							return errors.New("and of 9")
						}
						_, err := out[0].Resize(1)
						return err
					}), nil
				},
			})[0])
		})
		require.NoError(t, err)
		r, err := p.NewRunner(feedtest.Once(n, 7))
		require.NoError(t, err)
		for {
			b, err := r.Next(t.Context())
			require.NoError(t, err)
			if b == nil {
				break
			}
			b.Release()
		}
		s := r.Stats()
		require.NoError(t, r.Close())
		const want = n/3 - (n+8)/9
		require.EqualValues(t, want, s.Warnings.Count)
		require.Len(t, s.Warnings.First, min(want, stats.MaxWarnings))
		require.Len(t, told, want)
		for _, w := range s.Warnings.First {
			require.Equal(t, fmt.Sprintf("number %d is a multiple of 3", w.Index), w.Text)
			require.Equal(t, "odd", w.Op)
			require.Equal(t, told[w.Index].Warning, w)
			require.NotZero(t, w.Index%9)
		}
		require.Contains(t, s.String(), fmt.Sprintf("%d warnings, such as ", want))
		require.Zero(t, s.Sub(s).Warnings.Count)
		require.NotContains(t, s.Sub(s).String(), "warnings")
		var text strings.Builder
		require.NoError(t, stats.WritePrometheus(&text, s))
		require.Contains(t, text.String(), fmt.Sprintf("plankton_warnings_total{pipeline=\"0\"} %d\n", want))
	}
	new(datum.Sample).Warn(errors.New("of no worker"))
	require.Equal(t, "no warnings", stats.Warnings{}.String())
}

// What is said of warnings is a line that a terminal shows as it is.
func TestWarningsArePrintable(t *testing.T) {
	s := stats.Warnings{Count: 2, First: []stats.Warning{{Source: "a\x1b[2J.jpg", Op: "decode", Text: "odd\nplankton: forged"}}}
	require.Equal(t, `2 warnings, such as "a\x1b[2J.jpg": decode: odd\nplankton: forged`, s.String())
}
