package run

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/stats"
)

// BenchmarkRecord is what the statistics cost for one sample of four operators,
// where each is timed and where only some are.
func BenchmarkRecord(b *testing.B) {
	for _, always := range []bool{true, false} {
		b.Run(fmt.Sprint("always-", always), func(b *testing.B) {
			at := 0
			r := &recorder{ops: make([]opCounts, 4), shown: make([]opCounts, 4), always: always, operators: []int{0, 1, 2, 3}, at: &at}
			out := []*datum.Tensor{new(datum.Tensor)}
			_, err := out[0].ResizeAs(datum.Uint8, 8)
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				r.begin(nil, 0)
				for at = range 4 {
					if r.timing {
						r.done(out, nil)
					}
				}
				r.made()
			}
		})
	}
}

// What a row from elsewhere waited for memory counts, also where its first step here is behind a
// cut.
func TestWaitsBeforeTheFirstStepCount(t *testing.T) {
	r := &recorder{first: 2, operators: []int{0, 1, 2}, shown: []opCounts{{memory: 5}, {}, {memory: 3}}}
	r.shownRows.Store(7)
	ops := make([]stats.Operator, 3)
	r.addTo(ops)
	require.Equal(t, []stats.Operator{{WaitMemory: 5}, {}, {WaitMemory: 3, Samples: 7}}, ops)
}
