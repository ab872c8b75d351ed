package remote_test

import (
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/remote"
)

var measure = flag.Bool("remote.measure", false, "print what workers that are frozen or slow cost, with rows that sleep")

// TestMeasure prints the figures of docs/remote.md: rows take a fixed time and no processor,
// so a machine at work does little to them.
func TestMeasure(t *testing.T) {
	if !*measure {
		t.Skip("prints figures; run it with -remote.measure")
	}
	j := job{samples: 3000, cost: 5 * time.Millisecond}
	j.options.BatchSize, j.options.Workers, j.options.PrefetchDepth = 64, 2, 3
	tenfold := j
	tenfold.cost = 50 * time.Millisecond
	run := func(only bool, freeze bool, addresses ...string) (rate float64, slowest time.Duration) {
		j := j
		j.options.Remote = &remote.Workers{Addresses: addresses, Only: only}
		p := j.pipeline(t)
		l, err := iterator.New(iterator.Options{}, p)
		require.NoError(t, err)
		defer func() { require.NoError(t, l.Close()) }()
		began, last, n := time.Now(), time.Now(), 0
		for b, err := range l.Epochs(t.Context(), 1) {
			require.NoError(t, err)
			if n += b.NumValid(); n > 10*64 { // probation is over
				slowest = max(slowest, time.Since(last))
			} else {
				began = time.Now()
			}
			last = time.Now()
			if freeze && n == 20*64 {
				frozen.Store(true)
			}
		}
		frozen.Store(false)
		for _, r := range p.Stats().Remote {
			t.Log(r)
		}
		return float64(n-11*64) / time.Since(began).Seconds(), slowest
	}
	_, good := worker(t, j)
	_, good2 := worker(t, j)
	_, slow := worker(t, tenfold)
	ice := freezer(t, j)
	for _, only := range []bool{false, true} {
		a, s := run(only, false, good.URL)
		t.Logf("only %t: one good worker: %.0f rows/s, slowest step %v", only, a, s)
		b, s := run(only, false, good.URL, slow.URL)
		t.Logf("only %t: and one ten times slower: %.0f rows/s (%.2f of that), slowest step %v", only, b, b/a, s)
		c, s := run(only, false, good.URL, good2.URL)
		t.Logf("only %t: two good workers: %.0f rows/s, slowest step %v", only, c, s)
		c, s = run(only, true, good.URL, ice.URL)
		t.Logf("only %t: two good workers, one of which freezes: %.0f rows/s, slowest step %v", only, c, s)
		c, s = run(only, true, ice.URL)
		t.Logf("only %t: one worker, which freezes: %.0f rows/s, slowest step %v", only, c, s)
	}
}

var frozen atomic.Bool

// freezer is a worker that answers nothing while it is frozen.
func freezer(t *testing.T, j job) *httptest.Server {
	s, err := remote.NewServer(j.pipeline(t), remote.ServerOptions{})
	require.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if frozen.Load() {
			io.Copy(io.Discard, req.Body)
			<-req.Context().Done()
			return
		}
		s.ServeHTTP(&freezing{w, req}, req)
	}))
	t.Cleanup(server.Close)
	return server
}

// freezing stops in the middle of an answer.
type freezing struct {
	http.ResponseWriter
	req *http.Request
}

func (f *freezing) Unwrap() http.ResponseWriter { return f.ResponseWriter }

func (f *freezing) Write(b []byte) (int, error) {
	if frozen.Load() {
		<-f.req.Context().Done()
	}
	return f.ResponseWriter.Write(b)
}
