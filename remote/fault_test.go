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

	"github.com/planktonml/plankton/remote"
)

// mortal is a worker that can be killed and comes back at the same address as another
// process.
type mortal struct {
	t    testing.TB
	j    job
	wrap func(http.Handler) http.Handler

	mu     sync.Mutex
	addr   string
	server *http.Server
	done   chan struct{}
}

func newMortal(t testing.TB, j job, wrap func(http.Handler) http.Handler) *mortal {
	j.options.Remote, j.options.BatchSize = nil, 1
	m := &mortal{t: t, j: j, wrap: wrap, addr: "127.0.0.1:0"}
	m.start()
	t.Cleanup(m.kill)
	return m
}

func (m *mortal) url() string { return "http://" + m.addr }

func (m *mortal) start() {
	s, err := remote.NewServer(m.j.pipeline(m.t), remote.ServerOptions{})
	require.NoError(m.t, err)
	var h http.Handler = s
	if m.wrap != nil {
		h = m.wrap(s)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	l, err := net.Listen("tcp", m.addr)
	if err != nil {
		return // the port was taken meanwhile: the worker stays away
	}
	m.addr = l.Addr().String()
	server, done := &http.Server{Handler: h}, make(chan struct{})
	m.server, m.done = server, done
	go func() {
		defer close(done)
		server.Serve(l)
	}()
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

// slow has a worker take its time for each request.
func slow(d time.Duration) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.Method == http.MethodPost {
				select {
				case <-time.After(d):
				case <-req.Context().Done():
					return
				}
			}
			h.ServeHTTP(w, req)
		})
	}
}

// Workers are killed at random and come back, one is slow, one has other contents under the
// same names, one sample in a hundred is bad, the world changes, and each world goes on in a
// new process from the state of the last one: batches are those of one process on its own.
func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("many runs")
	}
	testChaos(t, 1)
}

func testChaos(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	j := job{samples: 1200, cost: 100 * time.Microsecond, bad: 100}
	var workers []*mortal
	var urls []string
	for range 3 {
		workers = append(workers, newMortal(t, j, nil))
	}
	all := append(workers[:3:3], newMortal(t, j, slow(30*time.Millisecond)))
	other := j
	other.salt = 0.5
	all = append(all, newMortal(t, other, nil))
	for _, w := range all {
		urls = append(urls, w.url())
	}
	stop := make(chan struct{})
	var chaos sync.WaitGroup
	var kills atomic.Int64
	chaos.Go(func() {
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
					w.start()
				}
			}
		}
	})
	defer chaos.Wait()
	defer close(stop)
	asked := func(only bool) *remote.Workers { return &remote.Workers{Addresses: urls, Only: only} }
	var refused atomic.Int64
	j.refused = func(error) { refused.Add(1) }
	want := j.worlds(t, nil)
	for _, only := range []bool{false, true} {
		require.Equal(t, want, j.worlds(t, asked(only)), "Only: %t", only)
	}
	require.Positive(t, kills.Load())
	require.Positive(t, refused.Load(), "nobody found the worker with other contents")
	t.Log(fmt.Sprint(kills.Load(), " kills, ", refused.Load(), " refusals"))
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
