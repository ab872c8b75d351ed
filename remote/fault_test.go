package remote_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/remote"
)

// mortal is a worker that can be killed and comes back at the same address as another
// process.
type mortal struct {
	p *pipeline.Pipeline

	mu     sync.Mutex
	addr   string
	server *http.Server
	done   chan struct{}
}

func newMortal(t testing.TB, j job) *mortal {
	j.options.Remote, j.options.BatchSize = nil, 1
	m := &mortal{p: j.pipeline(t), addr: "127.0.0.1:0"}
	require.NoError(t, m.start())
	t.Cleanup(m.kill)
	return m
}

func (m *mortal) url() string { return "http://" + m.addr }

// start begins to serve. The error may be that the port was taken meanwhile: the worker stays
// away then.
func (m *mortal) start() error {
	s, err := remote.NewServer(m.p, remote.ServerOptions{})
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	l, err := net.Listen("tcp", m.addr)
	if err != nil {
		return err
	}
	m.addr = l.Addr().String()
	server, done := &http.Server{Handler: s}, make(chan struct{})
	m.server, m.done = server, done
	go func() {
		defer close(done)
		server.Serve(l)
	}()
	return nil
}

// kill ends the worker in the middle of what it does.
func (m *mortal) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.server != nil {
		m.server.Close()
		<-m.done
		m.server = nil
	}
}

// Three workers are killed at random and come back, a fourth is ten times slower, a fifth has
// other pictures under the same names, one picture in a hundred is damaged, the world changes
// from 4 to 3 to 5, and each world goes on in new pipelines from the state of the last one: the
// SHA-256 of every batch is that of one process on its own.
func TestChaos(t *testing.T) {
	rounds := 4
	if testing.Short() {
		rounds = 1
	}
	for _, j := range []job{
		{samples: 300, files: true, cost: 200 * time.Microsecond},
		{samples: 600, bad: 100, cost: 100 * time.Microsecond},
	} {
		t.Run(fmt.Sprintf("files %t", j.files), func(t *testing.T) { testChaos(t, j, rounds) })
		if testing.Short() {
			return
		}
	}
}

func testChaos(t *testing.T, j job, rounds int) {
	want := j.worlds(t, nil)
	other, slow := j, j
	other.salt = 0.5
	slow.cost *= 10
	if j.files {
		slow.cost += 5 * time.Millisecond // of decoding
	}
	var workers []*mortal
	for _, j := range []job{j, j, j, slow, other} {
		workers = append(workers, newMortal(t, j))
	}
	var urls []string
	for _, w := range workers {
		urls = append(urls, w.url())
	}
	stop := make(chan struct{})
	var chaos sync.WaitGroup
	var kills, refused atomic.Int64
	chaos.Go(func() {
		rnd := rand.New(rand.NewPCG(1, 1))
		for {
			w := workers[rnd.IntN(3)]
			for _, d := range []int{100, 30} {
				select {
				case <-stop:
					return
				case <-time.After(time.Duration(rnd.IntN(d)+1) * time.Millisecond):
				}
				if d == 100 {
					w.kill()
					kills.Add(1)
				} else {
					_ = w.start() // it may stay away
				}
			}
		}
	})
	defer chaos.Wait()
	defer close(stop)
	j.refused = func(error) { refused.Add(1) }
	j.made = new(atomic.Int64)
	for round := 0; round < rounds || refused.Load() == 0 || kills.Load() == 0 || j.made.Load() == 0; round++ {
		require.Less(t, round, 30, "nobody was killed, made a row, or found the worker with other contents")
		w := &remote.Workers{Addresses: urls, Only: round%2 == 1, Cached: round%4 < 2}
		require.Equal(t, want, j.worlds(t, w), "Only: %t, Cached: %t", w.Only, w.Cached)
	}
	t.Log(fmt.Sprint(j.made.Load(), " rows from elsewhere, ", kills.Load(), " kills, ", refused.Load(), " refusals, ", len(want), " batches"))
}

// A worker that takes requests and answers nothing is down soon, and the run goes on.
func TestFrozenWorker(t *testing.T) {
	j := job{samples: 600, cost: time.Millisecond}
	j.options.BatchSize, j.options.Workers = 16, 1
	want := digests(t, j.pipeline(t), 1)
	for _, only := range []bool{false, true} {
		var frozen atomic.Bool
		_, good := worker(t, j)
		var bad *httptest.Server
		{
			s, err := remote.NewServer(j.pipeline(t), remote.ServerOptions{})
			require.NoError(t, err)
			bad = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if frozen.Load() {
					io.Copy(io.Discard, req.Body) // or the server does not see that the asker has gone
					<-req.Context().Done()
					return
				}
				s.ServeHTTP(w, req)
			}))
			t.Cleanup(bad.Close)
		}
		time.AfterFunc(100*time.Millisecond, func() { frozen.Store(true) })
		j.options.Remote = &remote.Workers{Addresses: []string{good.URL, bad.URL}, Only: only}
		p := j.pipeline(t)
		require.Equal(t, want, digests(t, p, 1))
		for _, r := range p.Stats().Remote {
			t.Log(r)
		}
		j.options.Remote = nil
	}
}

// Without any worker that answers, batches are made in this process.
func TestNoWorkerLeft(t *testing.T) {
	j := job{samples: 200}
	j.options.BatchSize = 16
	want := digests(t, j.pipeline(t), 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	for _, only := range []bool{false, true} {
		j.options.Remote = &remote.Workers{Addresses: []string{l.Addr().String()}, Only: only}
		require.Equal(t, want, digests(t, j.pipeline(t), 1))
	}
}
