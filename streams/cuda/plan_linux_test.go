package cuda_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/cudatest"
	"github.com/planktonml/plankton/streams/cuda/fakedriver"
	"github.com/planktonml/plankton/streams/streamtest"
)

// elements is the size of the buffer of a node, in int32.
const elements = 8

// buffers are the memory of a graph's nodes.
type buffers struct {
	all, valid []byte
}

func newBuffers(t testing.TB, d *cuda.Device, nodes int) *buffers {
	return &buffers{cudatest.Memory(t, d, max(nodes, 1)*elements*4), cudatest.Memory(t, d, elements)}
}

func (b *buffers) of(v int) []byte { return b.all[v*elements*4:][:elements*4] }

// kernel returns what a node does: it fills its buffer, or launches one kernel
// per producer that reads the producer's buffer and writes its own.
func (b *buffers) kernel(g *streams.Graph, v int) func(*streams.Context) error {
	return cudatest.On(func(q *cuda.Queue) error {
		var errs []error
		for _, e := range g.Edges {
			if e.To == v {
				errs = append(errs, q.OneHot(b.of(v), b.of(e.From), b.valid, &cuda.OneHot{N: elements, Labels: 1, Classes: 1}))
			}
		}
		if errs == nil {
			return q.Fill(b.of(v), byte(v))
		}
		return errors.Join(errs...)
	})
}

// run carries a plan out while the driver is paused, so that nothing of it has
// started when the last of it is issued, and returns what the driver reports.
func (b *buffers) run(t testing.TB, drv *fakedriver.Driver, d *cuda.Device, main streams.Stream, g *streams.Graph, p *streams.Plan) string {
	r, err := streams.NewRunner(p, func(int) (streams.Device, error) { return d, nil })
	require.NoError(t, err)
	work := len(g.Edges)
	for v := range g.N {
		if !slices.ContainsFunc(g.Edges, func(e streams.Edge) bool { return e.To == v }) {
			work++
		}
	}
	issued := func() int { return drv.Count(fakedriver.Launches) + drv.Count(fakedriver.Fills) }
	before := issued()
	drv.Pause()
	done := r.Run(t.Context(), main, func(v int) func(*streams.Context) error { return b.kernel(g, v) })
	for issued() < before+work {
		time.Sleep(20 * time.Microsecond)
	}
	drv.Resume()
	require.NoError(t, done.Wait(t.Context()))
	require.NoError(t, r.Close())
	return drv.Report()
}

// TestPlansOrderEveryAccess runs plans of random graphs, whole and without each of
// their waits: the driver must find nothing, and then something.
func TestPlansOrderEveryAccess(t *testing.T) {
	drv := fakedriver.Open(t)
	d := cudatest.Open(t, drv, cuda.Options{})
	main := cudatest.Stream(t, d)
	dropped := 0
	for seed := range uint64(25) {
		g := streamtest.RandomGraph(seed, 12)
		b := newBuffers(t, d, g.N)
		for _, policy := range []streams.Policy{streams.Single, streams.PerBackend, streams.PerOperator, streams.Ranked, streams.Optimal} {
			p, err := streams.Assign(g, policy, streams.Options{})
			require.NoError(t, err)
			require.Empty(t, b.run(t, drv, d, main, g, p), "seed %d, policy %v", seed, policy)
			for i, w := range p.Waits {
				less := *p
				less.Waits = slices.Delete(slices.Clone(p.Waits), i, i+1)
				require.Contains(t, b.run(t, drv, d, main, g, &less), "race: ", "seed %d, policy %v without %+v", seed, policy, w)
				dropped++
			}
		}
	}
	require.Greater(t, dropped, 100)
}

// TestRaces holds what the driver must find and what it must not.
func TestRaces(t *testing.T) {
	for _, c := range []struct {
		name   string
		issue  func(t *testing.T, drv *fakedriver.Driver, d *cuda.Device, s []streams.Stream, device, host []byte)
		report string // part of it; "" for nothing
	}{
		{"copy, then use on the same stream", func(_ *testing.T, _ *fakedriver.Driver, _ *cuda.Device, s []streams.Stream, device, host []byte) {
			s[0].Do(cudatest.On(func(q *cuda.Queue) error { return errors.Join(q.Copy(device, host), q.Copy(host, device)) }))
		}, ""},
		{"use on another stream", func(_ *testing.T, _ *fakedriver.Driver, _ *cuda.Device, s []streams.Stream, device, host []byte) {
			s[0].Do(cudatest.On(func(q *cuda.Queue) error { return q.Copy(device, host) }))
			issued(s[0])
			s[1].Do(cudatest.On(func(q *cuda.Queue) error { return q.Fill(device, 1) }))
		}, "race: fill"},
		{"after an event", func(_ *testing.T, _ *fakedriver.Driver, _ *cuda.Device, s []streams.Stream, device, host []byte) {
			s[0].Do(cudatest.On(func(q *cuda.Queue) error { return q.Copy(device, host) }))
			s[1].Wait(s[0].Record())
			s[1].Do(cudatest.On(func(q *cuda.Queue) error { return q.Fill(device, 1) }))
		}, ""},
		{"after an event that is too early", func(_ *testing.T, _ *fakedriver.Driver, _ *cuda.Device, s []streams.Stream, device, host []byte) {
			s[1].Wait(s[0].Record())
			s[0].Do(cudatest.On(func(q *cuda.Queue) error { return q.Copy(device, host) }))
			issued(s[0])
			s[1].Do(cudatest.On(func(q *cuda.Queue) error { return q.Fill(device, 1) }))
		}, "race: "},
		{"different halves", func(_ *testing.T, _ *fakedriver.Driver, _ *cuda.Device, s []streams.Stream, device, _ []byte) {
			s[0].Do(cudatest.On(func(q *cuda.Queue) error { return q.Fill(device[:50], 1) }))
			s[1].Do(cudatest.On(func(q *cuda.Queue) error { return q.Fill(device[50:], 1) }))
		}, ""},
		{"the host writes what is being copied", func(_ *testing.T, drv *fakedriver.Driver, _ *cuda.Device, s []streams.Stream, device, host []byte) {
			s[0].Do(cudatest.On(func(q *cuda.Queue) error { return q.Copy(device, host) }))
			issued(s[0])
			drv.Access(host, true)
		}, "race: the host"},
		{"the host reads what is being copied", func(_ *testing.T, drv *fakedriver.Driver, _ *cuda.Device, s []streams.Stream, device, host []byte) {
			s[0].Do(cudatest.On(func(q *cuda.Queue) error { return q.Copy(device, host) }))
			issued(s[0])
			drv.Access(host, false)
		}, ""},
		{"the host waits before it writes", func(t *testing.T, drv *fakedriver.Driver, _ *cuda.Device, s []streams.Stream, device, host []byte) {
			drv.Access(host, true)
			s[0].Do(cudatest.On(func(q *cuda.Queue) error { return q.Copy(device, host) }))
			e := s[0].Record()
			drv.Resume()
			require.NoError(t, e.Wait(t.Context()))
			drv.Access(host, true)
		}, ""},
		{"memory of a stream on another one", func(_ *testing.T, _ *fakedriver.Driver, _ *cuda.Device, s []streams.Stream, device, _ []byte) {
			var mem []byte
			s[0].Do(cudatest.On(func(q *cuda.Queue) (err error) { mem, err = q.Alloc(100); return err }))
			issued(s[0])
			s[1].Do(cudatest.On(func(q *cuda.Queue) error { return q.Copy(device, mem) }))
			s[0].Wait(s[1].Record())
			s[0].Do(cudatest.On(func(q *cuda.Queue) error { return q.Free(mem) }))
		}, "race: copy"},
		{"memory that is freed too early", func(_ *testing.T, _ *fakedriver.Driver, _ *cuda.Device, s []streams.Stream, device, _ []byte) {
			s[0].Do(cudatest.On(func(q *cuda.Queue) error {
				mem, err := q.Alloc(100)
				return errors.Join(err, q.Free(mem), q.Copy(device, mem))
			}))
		}, "that was freed before"},
	} {
		t.Run(c.name, func(t *testing.T) {
			drv := fakedriver.Open(t)
			d := cudatest.Open(t, drv, cuda.Options{})
			device, host := cudatest.Memory(t, d, 100), cudatest.Locked(t, d, 100)
			s := []streams.Stream{cudatest.Stream(t, d), cudatest.Stream(t, d)}
			drv.Pause()
			c.issue(t, drv, d, s, device, host)
			issued(s[0])
			issued(s[1])
			drv.Resume()
			require.NoError(t, s[0].Synchronize(t.Context()))
			require.NoError(t, s[1].Synchronize(t.Context()))
			report := drv.Report()
			if c.report == "" {
				require.Empty(t, report)
			}
			require.Contains(t, report, c.report)
			require.LessOrEqual(t, strings.Count(report, "\n"), 2)
		})
	}
}

// issued returns when everything before it has been issued, which is not when it
// has run.
func issued(s streams.Stream) {
	done := make(chan struct{})
	s.Do(func(*streams.Context) error { close(done); return nil })
	<-done
}

// TestContextsWaitForEachOther orders streams of two contexts by events, which the
// driver does itself.
func TestContextsWaitForEachOther(t *testing.T) {
	drv := fakedriver.Open(t)
	drv.Set(fakedriver.DelayUS, 200)
	primary, own := cudatest.Open(t, drv, cuda.Options{}), cudatest.Open(t, drv, cuda.Options{Context: cuda.Own})
	a, b := cudatest.Stream(t, primary), cudatest.Stream(t, own)
	mem, out := cudatest.Memory(t, primary, 64), cudatest.Locked(t, own, 64)
	for i := range 20 {
		a.Do(cudatest.On(func(q *cuda.Queue) error { return q.Fill(mem, byte(i)) }))
		b.Wait(a.Record())
		b.Do(cudatest.On(func(q *cuda.Queue) error { return q.Copy(out, mem) }))
		a.Wait(b.Record())
		require.NoError(t, b.Synchronize(t.Context()))
		require.EqualValues(t, i, out[63])
	}
	_, err := a.Record().Elapsed(b.Record())
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.NoError(t, a.Synchronize(t.Context()))
	require.NoError(t, b.Synchronize(t.Context()))
}
