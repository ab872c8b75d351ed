package rows_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline/rows"
	"github.com/planktonml/plankton/pipeline/stats"
)

// With Only, a process with workers elsewhere makes no row but those that it compares and those that were lost: also
// where there are fewer seats than lanes, or where the connections of the only worker break and it is back before the
// patience has passed. Its statistics say that the workers are up meanwhile.
func TestOnlyMeansOnly(t *testing.T) {
	for name, c := range map[string]struct{ workers, lanes, seats, breaks int }{
		"one seat":   {4, 1, 1, 0},
		"two seats":  {4, 2, 2, 0},
		"one breaks": {1, 2, 2, 50},
	} {
		for _, cached := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				f := &fleet{
					workers: c.workers, lanes: c.lanes, samples: 640, hit: time.Millisecond, miss: time.Millisecond, trip: 200 * time.Microsecond,
					cores: 1, queue: 32, local: 2, depth: 2, plan: rows.Plan{Lanes: c.seats, Rows: 16, Only: true, Patience: 100 * time.Millisecond, Cached: cached},
				}
				f.node(0).breaks = c.breaks
				var last stats.Run
				batches, downs := 0, 0
				f.look = func(s stats.Run) {
					last = s
					batches++
					for _, r := range s.Remote {
						if !r.Up {
							downs++
						}
					}
				}
				_, err := f.run(t.Context(), 1, 64, 2)
				require.NoError(t, err)
				compared, lost := int64(0), int64(0)
				for _, r := range last.Remote {
					compared, lost = compared+r.Audited, lost+r.Lost
				}
				require.Len(t, last.Remote, f.workers)
				if c.breaks == 0 {
					require.Equal(t, compared, f.made.Load(), "%s: %v", name, last.Remote)
				} else {
					require.LessOrEqual(t, f.made.Load(), compared+lost, name)
				}
				require.Zero(t, downs, "%s: lines that said down, of %d batches", name, batches)
			})
		}
	}
}

// A worker that freezes with rows in hand, and with rows that are kept for it, holds one step up by 250 ms at the most;
// where it was the only one, this process makes the rest.
func TestAFrozenWorker(t *testing.T) {
	for _, workers := range []int{1, 2} {
		for _, cached := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				f := &fleet{
					workers: workers, samples: 640, hit: 5 * time.Millisecond, miss: 5 * time.Millisecond, trip: 200 * time.Microsecond, cores: 2, queue: 32, lanes: 4,
					local: 2, depth: 2, plan: rows.Plan{Lanes: 4 * workers, Rows: 16, Only: true, Patience: 100 * time.Millisecond, Cached: cached},
				}
				f.node(0).freezes = 400
				began, usual, slowest := time.Now(), time.Duration(0), time.Duration(0)
				f.look = func(stats.Run) {
					step := time.Since(began)
					began = time.Now()
					if slowest = max(slowest, step); !f.node(0).frozen() {
						usual = slowest
					}
				}
				_, err := f.run(t.Context(), 1, 64, 3)
				require.NoError(t, err)
				require.Less(t, slowest, usual+250*time.Millisecond)
				t.Logf("%d workers, Cached %t: slowest step %v, %v before", workers, cached, slowest, usual)
			})
		}
	}
}

// A worker is killed again and again with rows in hand, and comes back at once. Each row that it was asked for was made and
// used, or compared, or taken from it, or lost, but for those that the run did not want any more when it ended.
func TestWhatBecomesOfRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{
			workers: 2, samples: 640, hit: time.Millisecond, miss: time.Millisecond, trip: 200 * time.Microsecond, cores: 1, queue: 32, lanes: 1,
			local: 2, depth: 2, plan: rows.Plan{Lanes: 2, Rows: 16, Only: true, Patience: 100 * time.Millisecond},
		}
		f.node(1).breaks = 50
		last := map[string]stats.Remote{}
		f.look = func(s stats.Run) {
			for _, r := range s.Remote {
				last[r.Name] = r
			}
		}
		_, err := f.run(t.Context(), 1, 64, 2)
		require.NoError(t, err)
		for i, name := range []string{"worker 0", "worker 1"} {
			r := last[name]
			require.EqualValues(t, f.node(i).asked, int64(f.node(i).ended)+r.Rows+r.Audited+r.Stolen+r.Failed+r.Lost, "%+v", r)
			require.Equal(t, i == 1, r.Lost > 0, "%+v", r)
		}
		require.GreaterOrEqual(t, last["worker 1"].Lost, int64(f.node(1).made/50), "at least the row that each broke with")
	})
}
