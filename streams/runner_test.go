package streams_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/streamtest"
)

func on(d streams.Device) func(int) (streams.Device, error) {
	return func(int) (streams.Device, error) { return d, nil }
}

func assign(t require.TestingT, g *streams.Graph, policy streams.Policy, o streams.Options) *streams.Plan {
	p, err := streams.Assign(g, policy, o)
	require.NoError(t, err)
	require.NoError(t, streams.Verify(g, p))
	return p
}

// sum is a graph of values: a node is 1 plus the sum of its producers.
func sum(g *streams.Graph, results []int) func(v int) func(*streams.Context) error {
	return func(v int) func(*streams.Context) error {
		return func(*streams.Context) error {
			results[v] = 1
			for _, e := range g.Edges {
				if e.To == v && e.Distance == 0 && e.Kind != streams.Metadata {
					results[v] += results[e.From]
				}
			}
			return nil
		}
	}
}

// TestRunnerComputesTheSame runs random graphs under every policy and budget on
// goroutines; under the race detector it also proves the order.
func TestRunnerComputesTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := streams.DrawRichGraph(t, 16)
		want := make([]int, g.N)
		for v := range g.N {
			_ = sum(g, want)(v)(nil)
		}
		host := streams.NewHost()
		defer host.Close()
		main, err := host.NewStream()
		require.NoError(t, err)
		p := assign(t, g, rapid.SampledFrom(streams.AllPolicies).Draw(t, "policy"), streams.Options{Budget: rapid.SampledFrom([]int{0, 3}).Draw(t, "budget")})
		r, err := streams.NewRunner(p, on(host))
		require.NoError(t, err)
		first, second := make([]int, g.N), make([]int, g.N)
		r.Run(context.Background(), main, sum(g, first))
		require.NoError(t, r.Run(context.Background(), main, sum(g, second)).Wait(context.Background()))
		require.Equal(t, want, first)
		require.Equal(t, want, second)
		require.NoError(t, r.Close())
	})
}

// declare is a kernel that reads the buffers of its producers and writes its own.
func declare(g *streams.Graph) func(v int) func(*streams.Context) error {
	return func(v int) func(*streams.Context) error {
		return func(c *streams.Context) error {
			for _, e := range g.Edges {
				if e.To == v && e.Kind != streams.Metadata {
					streamtest.Reads(c, e.From)
				}
			}
			streamtest.Writes(c, v)
			return nil
		}
	}
}

// races runs the plan once on test devices.
func races(t require.TestingT, g *streams.Graph, p *streams.Plan, seed uint64) []streamtest.Race {
	device, devices := together(seed)
	main, err := devices[0].NewStream()
	require.NoError(t, err)
	r, err := streams.NewRunner(p, device)
	require.NoError(t, err)
	require.NoError(t, r.Run(context.Background(), main, declare(g)).Wait(context.Background()))
	require.NoError(t, r.Close())
	return closeAll(t, devices)
}

func TestRunnerOrdersEveryAccess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := streams.DrawGraph(t, 14)
		if rapid.Bool().Draw(t, "devices") {
			lists := rapid.SampledFrom([][]int{{0}, {1}, {0, 1}})
			g.Devices = rapid.SliceOfN(lists, g.N, g.N).Draw(t, "device")
		}
		several := slices.ContainsFunc(g.Devices, func(on []int) bool { return len(on) > 1 })
		p := assign(t, g, rapid.SampledFrom(streams.AllPolicies).Draw(t, "policy"), streams.Options{Budget: rapid.SampledFrom([]int{0, 2}).Draw(t, "budget")})
		seed := rapid.Uint64().Draw(t, "seed")
		require.Empty(t, races(t, g, p, seed))
		if len(p.Waits) == 0 || several { // nodes on several streams bring them together anyway
			return
		}
		less := *p
		i := rapid.IntRange(0, len(p.Waits)-1).Draw(t, "dropped")
		less.Waits = slices.Delete(slices.Clone(p.Waits), i, i+1)
		require.NotEmpty(t, races(t, g, &less, seed), "without %v", p.Waits[i])
	})
}

// TestWaitsAcrossIterations issues several iterations without a pause, as a
// pipeline does, and checks the accesses along loop-carried edges.
func TestWaitsAcrossIterations(t *testing.T) {
	type value struct{ node, iteration int }
	rapid.Check(t, func(t *rapid.T) {
		g := streams.DrawRichGraph(t, 10)
		g.Backends, g.Devices = nil, nil
		p := assign(t, g, rapid.SampledFrom(streams.AllPolicies).Draw(t, "policy"), streams.Options{})
		d := streamtest.New(rapid.Uint64().Draw(t, "seed"))
		ss := make([]streams.Stream, p.NumStreams)
		for i := range ss {
			var err error
			ss[i], err = d.NewStream()
			require.NoError(t, err)
		}
		events := map[value]streams.Event{}
		for k := range 5 {
			waits := p.Waits
			for _, v := range p.Order {
				s := ss[p.Streams[v][0]]
				for ; len(waits) > 0 && waits[0].Consumer == v; waits = waits[1:] {
					if e := events[value{waits[0].Producer, k - waits[0].Distance}]; e != nil {
						s.Wait(e)
					}
				}
				s.Do(func(c *streams.Context) error {
					for _, e := range g.Edges {
						if e.To == v && e.Kind != streams.Metadata && k >= e.Distance {
							streamtest.Reads(c, value{e.From, k - e.Distance})
						}
					}
					streamtest.Writes(c, value{v, k})
					return nil
				})
				if slices.Contains(p.Signals, v) {
					events[value{v, k}] = s.Record()
				}
			}
		}
		require.NoError(t, d.Close())
		require.Empty(t, d.Races())
		require.NotEmpty(t, d.Trace())
	})
}

func diamond() *streams.Graph {
	return &streams.Graph{N: 4, Edges: streams.DataEdges(0, 1, 0, 2, 1, 3, 2, 3)}
}

func TestRunnerOverlapsAndFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := streams.NewHost()
		defer host.Close()
		main, err := host.NewStream()
		require.NoError(t, err)
		g := diamond()
		r, err := streams.NewRunner(assign(t, g, streams.Optimal, streams.Options{}), on(host))
		require.NoError(t, err)
		defer r.Close()

		begin := time.Now()
		slow := func(int) func(*streams.Context) error {
			return func(*streams.Context) error { time.Sleep(time.Second); return nil }
		}
		e := r.Run(t.Context(), main, slow)
		assert.Zero(t, time.Since(begin))
		require.NoError(t, e.Wait(t.Context()))
		assert.Equal(t, 3*time.Second, time.Since(begin))

		broken := errors.New("broken")
		var mu sync.Mutex
		var ran []int
		failing := func(v int) func(*streams.Context) error {
			return func(*streams.Context) error {
				mu.Lock()
				defer mu.Unlock()
				ran = append(ran, v)
				if v == 1 {
					return broken
				}
				return nil
			}
		}
		assert.ErrorIs(t, r.Run(t.Context(), main, failing).Wait(t.Context()), broken)
		slices.Sort(ran)
		assert.Equal(t, []int{0, 1, 2}, ran)
		assert.ErrorIs(t, main.Synchronize(t.Context()), broken)

		ran = nil
		stop := errors.New("stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancelling := func(v int) func(*streams.Context) error {
			return func(*streams.Context) error { ran = append(ran, v); return nil }
		}
		cancel(stop)
		assert.ErrorIs(t, r.Run(ctx, main, cancelling).Wait(t.Context()), stop)
		assert.Empty(t, ran)
		assert.ErrorIs(t, main.Synchronize(t.Context()), stop)
		assert.NoError(t, r.Run(t.Context(), main, slow).Wait(t.Context()), "the next run must not be affected")
	})
}

func TestRunnerOnTheHost(t *testing.T) {
	host := streams.NewHost()
	defer host.Close()
	main, err := host.NewStream()
	require.NoError(t, err)
	g := diamond()
	g.Backends = []streams.Backend{streams.CPU, streams.GPU, streams.GPU, streams.CPU}
	g.Edges[2].Kind, g.Edges[3].Kind = streams.Control, streams.Control
	p := assign(t, g, streams.Optimal, streams.Options{})
	require.Empty(t, p.Streams[3])
	r, err := streams.NewRunner(p, on(host))
	require.NoError(t, err)
	results := make([]int, g.N)
	require.NoError(t, r.Run(t.Context(), main, sum(g, results)).Wait(t.Context()))
	assert.Equal(t, []int{1, 2, 2, 5}, results)

	for _, node := range []int{0, 1, 3} { // on the host, on a stream before it, on the host
		oh := func(v int) func(*streams.Context) error {
			return func(*streams.Context) error {
				if v == node {
					panic("oh")
				}
				return nil
			}
		}
		var p *streams.PanicError
		assert.ErrorAs(t, r.Run(t.Context(), main, oh).Wait(t.Context()), &p)
		assert.ErrorAs(t, main.Synchronize(t.Context()), &p)
	}
	require.NoError(t, r.Close())
	assert.ErrorIs(t, r.Run(t.Context(), main, sum(g, results)).Wait(t.Context()), streams.ErrClosed)
}

func TestRunnerWithoutDevice(t *testing.T) {
	p := assign(t, &streams.Graph{N: 2, Devices: [][]int{{0}, {1}}}, streams.Single, streams.Options{})
	host := streams.NewHost()
	defer host.Close()
	none := errors.New("no such device")
	_, err := streams.NewRunner(p, func(n int) (streams.Device, error) {
		if n == 1 {
			return nil, none
		}
		return host, nil
	})
	assert.ErrorIs(t, err, none)
	assert.ErrorContains(t, err, "device 1")
}
