package stats

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A run whose rows others make, and whose own workers wait, is bound by the others; if the
// workers of the process are at work, it is not.
func TestVerdictOfRemoteWorkers(t *testing.T) {
	s := Run{
		Elapsed: time.Second, Processors: 2, CPU: 100 * time.Millisecond,
		Operators: []Operator{{Name: "decode", Samples: 100, Timed: 100, Busy: 100 * time.Millisecond}},
		Workers:   Workers{Workers: 1, Capacity: time.Second, WaitPut: 900 * time.Millisecond},
		Queue:     Queue{Depth: 2, Asked: 10, Places: 20},
		Consumer:  Consumer{Batches: 10, Samples: 1000, Waited: 500 * time.Millisecond, Body: 500 * time.Millisecond},
		Remote:    []Remote{{Name: "http://b", Up: true, Rows: 900, Bytes: 9e6, Requests: 60}, {Name: "http://c", Because: "refused"}},
	}
	v := s.Verdict()
	require.Equal(t, ByRemote, v.Bound)
	require.Contains(t, v.String(), "remote-bound: workers elsewhere made 90 % of the rows, 10 kB each, 9 MB/s in all, 1 of 2 addresses are up")
	require.NotContains(t, v.Advice, "RemoteCut")
	network := s
	network.Remote = []Remote{{Name: "http://b", Up: true, Rows: 890, Audited: 10, Bytes: 900 * 588e3, Receive: 600 * time.Millisecond, Asked: time.Second}}
	require.Equal(t, "network-bound: 588 kB a sample, 529 MB/s in all: requests to workers elsewhere spend 60 % of their time on rows that are on their way, and the consumer waits 50 % of the time. "+
		"More workers will not help: let this process make rows as well (Workers.Only), or send less of each: smaller pictures or types, or an ops.RemoteCut where they are smallest.", network.Verdict().String())
	network.Cut = Cut{Before: "crop_mirror_normalize", Bytes: 147e3}
	require.Contains(t, network.Verdict().Advice, "send less of each: a cut before crop_mirror_normalize would send 147 kB (ops.RemoteCut)")
	network.Workers.WaitPut = 0
	require.Equal(t, ByOperator, network.Verdict().Bound)
	require.Contains(t, network.Verdict().Advice, "; the network holds workers elsewhere up, with 588 kB a sample: send less of each: a cut before crop_mirror_normalize would send 147 kB (ops.RemoteCut)")

	s.Workers.WaitPut = 0
	require.Equal(t, ByOperator, s.Verdict().Bound)
	require.NotContains(t, s.Verdict().Advice, "leave Remote out")
	s.Operators[0].Busy = time.Millisecond
	require.Contains(t, s.Verdict().Advice, "a row costs 10µs here, about what it takes to ask for one elsewhere: leave Remote out")

	require.Contains(t, s.String(), "worker http://b: up, 900 rows in 60 requests")
	require.Contains(t, s.String(), "worker http://c: down, 0 rows")
	var b strings.Builder
	require.NoError(t, WritePrometheus(&b, s))
	require.Contains(t, b.String(), "plankton_remote_rows_total{pipeline=\"0\",worker=\"http://b\"} 900\n")

	later := s
	later.Remote = []Remote{{Name: "http://a", Rows: 5}, {Name: "http://b", Rows: 950, Requests: 61}}
	since := later.Sub(s)
	require.EqualValues(t, 5, since.Remote[0].Rows, "a worker that was not there before")
	require.EqualValues(t, 50, since.Remote[1].Rows)
	require.EqualValues(t, 1, since.Remote[1].Requests)
	require.EqualValues(t, 950, later.Remote[1].Rows)
}
