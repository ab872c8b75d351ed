package executor

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/streams"
)

func TestStreamsFailure(t *testing.T) {
	boom := errors.New("boom")
	for name, work := range map[string]func(*streams.Context) error{
		"error": func(*streams.Context) error { return boom },
		"panic": func(*streams.Context) error { panic(boom) },
	} {
		t.Run(name, func(t *testing.T) {
			withDevices(t, func(t *testing.T, d streams.Device) {
				var fails atomic.Bool
				var after atomic.Int64
				g := NewGraph()
				bad := g.Add("bad", Op{Backend: Device, Outputs: 1, Run: func(_ context.Context, c *Call) error {
					c.Set(0, Int(1))
					if fails.Load() {
						c.Issue(work)
					}
					return nil
				}})
				g.Add("after", Op{Backend: Device, Run: func(_ context.Context, c *Call) error {
					c.Issue(func(*streams.Context) error { after.Add(1); return nil })
					return nil
				}}, bad.Out(0))
				x := newOn(t, g, d)
				for i := range 6 {
					fails.Store(i%2 == 0)
					after.Store(0)
					err := x.Run(t.Context(), Args{})
					if i%2 == 1 {
						require.NoError(t, err, "the run after a failed one is unaffected")
						require.EqualValues(t, 1, after.Load())
						continue
					}
					require.ErrorIs(t, err, boom)
					var ne *NodeError
					require.ErrorAs(t, err, &ne)
					require.Equal(t, "bad", ne.Node)
					require.Zero(t, after.Load(), "what depends on it does not run")
				}
				require.NoError(t, x.Close())
			})
		})
	}
}

// The kernel of a node with a stream fails, or the work that it issued does,
// with a device and without one.
func TestStreamKernelMistakes(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		name string
		run  KernelFunc
		want error
	}{
		{"kernel fails", func(context.Context, *Call) error { return boom }, boom},
		{"output missing", func(context.Context, *Call) error { return nil }, ErrMissingOutput},
		{"work fails", func(_ context.Context, c *Call) error {
			c.Set(0, Int(1))
			c.Issue(func(*streams.Context) error { return boom })
			c.Issue(func(*streams.Context) error { t.Error("ran behind what failed"); return nil })
			return nil
		}, boom},
		{"work ends its goroutine", func(_ context.Context, c *Call) error {
			c.Set(0, Int(1))
			c.Issue(func(*streams.Context) error { runtime.Goexit(); return nil })
			return nil
		}, ErrGoexit},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewGraph()
			bad := g.Add("bad", Op{Backend: Device, Outputs: 1, Run: c.run})
			g.Add("reader", onStream(sum), bad.Out(0))
			g.Add("host", Op{Run: func(context.Context, *Call) error { t.Error("ran behind what failed"); return nil }}, bad.Out(0))
			d := streams.NewHost()
			x := newOn(t, g, d)
			err := x.Run(t.Context(), Args{})
			require.ErrorIs(t, err, c.want)
			var ne *NodeError
			require.ErrorAs(t, err, &ne)
			require.Equal(t, "bad", ne.Node)
			require.NoError(t, x.Close())
			require.NoError(t, d.Close())

			if c.want != ErrGoexit { // without a device, of the goroutine that runs this test
				x.prog.taken.Store(false)
				plain, err := New(x.prog, Options{})
				require.NoError(t, err)
				require.ErrorIs(t, plain.Run(t.Context(), Args{}), c.want)
				require.NoError(t, plain.Close())
			}
		})
	}
}

// lost is a device whose streams take no work any more.
type lost struct{ streams.Device }

func (d lost) NewStream() (streams.Stream, error) {
	s, err := d.Device.NewStream()
	if err == nil {
		err = s.Close()
	}
	return s, err
}

// When a device fails, that is the error of the run, and not that a node of the
// host, which was to read the result or to decide by it, found nothing there.
func TestLostDevice(t *testing.T) {
	for name, read := range map[string]func(g *Graph, v Output){
		"kernel":   func(g *Graph, v Output) { g.plus(v, 1) },
		"selector": func(g *Graph, v Output) { g.SwitchN("switch", g.num(1), v, 2) },
		"predicate": func(g *Graph, v Output) {
			g.While(LoopSpec{}, []Output{v}, func([]Output) Output { return v }, func(v []Output) []Output { return v })
		},
	} {
		t.Run(name, func(t *testing.T) {
			withDevices(t, func(t *testing.T, d streams.Device) {
				g := NewGraph()
				read(g, g.Add("first", onStream(sum)).Out(0))
				x := newOn(t, g, lost{d})
				for range 2 {
					err := x.Run(t.Context(), Args{})
					require.ErrorIs(t, err, streams.ErrClosed)
					var ne *NodeError
					require.ErrorAs(t, err, &ne)
					require.Equal(t, "first", ne.Node)
				}
				require.NoError(t, x.Close())
			})
		})
	}
}

// A plan that does not fit the program is refused.
func TestBadPlans(t *testing.T) {
	g := NewGraph()
	g.Add("n", onStream(sum))
	p, err := Compile(g, CompileOptions{})
	require.NoError(t, err)
	d := streams.NewHost()
	_, err = New(p, Options{Devices: []streams.Device{d}, Plan: new(streams.Plan)})
	require.ErrorIs(t, err, streams.ErrPlan)
	_, err = New(p, Options{Devices: []streams.Device{d}, StreamBudget: -1})
	require.ErrorIs(t, err, streams.ErrBudget)
	require.NoError(t, p.Close(), "no executor has it")
	require.NoError(t, d.Close())
}

// A device that has no stream to give fails the run or the loop, and keeps none.
func TestNoStreams(t *testing.T) {
	g := NewGraph()
	g.Add("n", onStream(sum))
	d := streams.NewHost()
	require.NoError(t, d.Close())
	x := newOn(t, g, d)
	require.ErrorIs(t, x.Run(t.Context(), Args{}), streams.ErrClosed)
	_, err := x.Loop(t.Context(), LoopOptions{})
	require.ErrorIs(t, err, streams.ErrClosed)
	require.NoError(t, x.Close())
}
