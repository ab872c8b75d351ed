package pipeline

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline/datum"
)

// Warnings count for samples that become rows, whatever the number of workers; those of
// samples that fail do not.
func TestWarningsOfRowsAreCountedAndNamed(t *testing.T) {
	const n = 60
	for _, workers := range []int{1, 3} {
		var mu sync.Mutex
		told := map[int64]WarningEvent{}
		p, err := New(Options{
			BatchSize: 7, Workers: workers, OnError: Skip,
			Events: EventListener{Warned: func(e WarningEvent) {
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
		r, err := p.NewRunner(inOrder{n, 7})
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
		require.Len(t, s.Warnings.First, min(want, maxWarnings))
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
		require.NoError(t, WritePrometheus(&text, s))
		require.Contains(t, text.String(), fmt.Sprintf("plankton_warnings_total{pipeline=\"0\"} %d\n", want))
	}
	new(datum.Sample).Warn(errors.New("of no worker"))
	require.Equal(t, "no warnings", WarningStats{}.String())
}
