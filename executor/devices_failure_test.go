package executor

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/streams"
)

// One device of two has no streams any more, or the work of a node fails on one of its
// two devices: the node is named, what depends on it does not run on either, and the run
// after a failed one is unaffected.
func TestOneDeviceFails(t *testing.T) {
	boom := errors.New("boom")
	for bad := range 2 {
		withSeveral(t, 2, func(t *testing.T, d []streams.Device) {
			var fails atomic.Bool
			var after atomic.Int64
			g := NewGraph()
			n := g.Add("both", Op{Backend: Device, Devices: []int{0, 1}, Outputs: 2, OutputDevices: []int{0, 1}, Run: func(_ context.Context, c *Call) error {
				for i := range 2 {
					c.Set(i, Int(1))
					c.IssueOn(i, func(*streams.Context) error {
						if i == bad && fails.Load() {
							return boom
						}
						return nil
					})
				}
				return nil
			}})
			for i := range 2 {
				g.Add("", Op{Backend: Device, Devices: []int{i}, Run: func(_ context.Context, c *Call) error {
					c.Issue(func(*streams.Context) error { after.Add(1); return nil })
					return nil
				}}, n.Out(i))
			}
			p, err := Compile(g, CompileOptions{})
			require.NoError(t, err)
			x, err := New(p, Options{Devices: d, StreamPolicy: streams.Optimal})
			require.NoError(t, err)
			for i := range 6 {
				fails.Store(i%2 == 0)
				after.Store(0)
				err := x.Run(t.Context(), Args{})
				if i%2 == 1 {
					require.NoError(t, err)
					require.EqualValues(t, 2, after.Load())
					continue
				}
				requireNode(t, err, "both", boom)
				require.Zero(t, after.Load())
			}
			require.NoError(t, x.Close())

			p.taken.Store(false)
			of := slices.Clone(d)
			of[bad] = lost{d[bad]}
			x, err = New(p, Options{Devices: of})
			require.NoError(t, err)
			fails.Store(false)
			after.Store(0)
			for range 2 {
				err := x.Run(t.Context(), Args{})
				require.ErrorIs(t, err, streams.ErrClosed)
				require.ErrorAs(t, err, new(*NodeError))
				require.Zero(t, after.Load())
			}
			require.NoError(t, x.Close())
		})
	}
}

// requireNode demands the error of a node.
func requireNode(t *testing.T, err error, node string, want error) {
	t.Helper()
	require.ErrorIs(t, err, want)
	var ne *NodeError
	require.ErrorAs(t, err, &ne)
	require.Equal(t, node, ne.Node)
}

// What does not say where it works is refused when it is compiled, and devices that are
// not there when the executor is made.
func TestDevicesRefused(t *testing.T) {
	run := func(context.Context, *Call) error { return nil }
	for want, op := range map[string]Op{
		"Op.Devices and Op.OutputDevices are for mixed and device nodes":          {Devices: []int{0}},
		"Op.Devices is [1 0], expected different numbers":                         {Backend: Device, Devices: []int{1, 0}},
		"Op.Devices is [1 1], expected":                                           {Backend: Device, Devices: []int{1, 1}},
		"Op.Devices is [-1], expected":                                            {Backend: Device, Devices: []int{-1}},
		"Op.Devices is [256], expected different numbers from 0 to 255":           {Backend: Mixed, Devices: []int{256}},
		"Op.OutputDevices has 1 entries for 2 outputs":                            {Backend: Device, Outputs: 2, OutputDevices: []int{0}},
		"works on devices [0 1]: say in Op.OutputDevices of which":                {Backend: Device, Outputs: 1, Devices: []int{0, 1}},
		"Op.OutputDevices has output 1 on device 2, expected one of Op.Devices":   {Backend: Device, Outputs: 2, Devices: []int{0, 1}, OutputDevices: []int{0, 2}},
		"Op.OutputDevices has output 0 on device 1, expected one of Op.Devices [": {Backend: Device, Outputs: 1, OutputDevices: []int{1}},
	} {
		g := NewGraph()
		op.Run = run
		g.Add("n", op)
		_, err := Compile(g, CompileOptions{})
		var ge *GraphError
		require.ErrorAs(t, err, &ge)
		require.Equal(t, "n", ge.Node)
		require.ErrorContains(t, err, want)
	}

	g := NewGraph()
	g.Add("first", onStream(sum))
	g.Add("far", onDevices([]int{0, 2}, sum))
	p, err := Compile(g, CompileOptions{})
	require.NoError(t, err)
	d := streams.NewHost()
	_, err = New(p, Options{Devices: []streams.Device{d, d}})
	require.EqualError(t, err, `executor: node "far" works on devices [0 2], and Options.Devices has 2: give a device for each number from 0 on`)
	_, err = New(p, Options{Devices: []streams.Device{d, nil, d}})
	require.ErrorContains(t, err, "Options.Devices[1] is nil")
	plan, err := streams.Assign(p.StreamGraph(), streams.Single, streams.Options{})
	require.NoError(t, err)
	plan.NumStreams, plan.Device = plan.NumStreams+1, append(plan.Device, 7)
	_, err = New(p, Options{Devices: []streams.Device{d, d, d}, Plan: plan})
	require.ErrorIs(t, err, streams.ErrPlan)
	require.ErrorContains(t, err, "is on device 7, and Options.Devices has 3")
	_, err = New(p, Options{Devices: []streams.Device{d, d, d}, StreamBudget: 1})
	require.ErrorIs(t, err, streams.ErrBudget)
	require.NoError(t, p.Close(), "no executor has it")

	g = NewGraph()
	g.Add("one", Op{Backend: Device, Run: func(_ context.Context, c *Call) error {
		c.IssueOn(1, func(*streams.Context) error { return nil })
		return nil
	}})
	err = newExecutor(t, g, Options{Devices: []streams.Device{d}}).Run(t.Context(), Args{})
	var pe *PanicError
	require.ErrorAs(t, err, &pe)
	require.Equal(t, "executor: there is no device 1 of node one; it has 1, counted from 0", pe.Value)
	require.NoError(t, d.Close())
}

// A run or loop over two devices is given up at any call of a kernel or of its work: by its
// context, or by Close. It ends with that reason, and the next run is whole.
func TestDevicesEndAnywhere(t *testing.T) {
	const calls = 2*2 + 1 + 2*3 // kernels, and their work on the devices
	stop := errors.New("stop")
	withSeveral(t, 2, func(t *testing.T, d []streams.Device) {
		for at := range int64(calls + 1) { // never at the last
			for _, closes := range []bool{false, true} {
				for _, loops := range []bool{false, true} {
					var count atomic.Int64
					var end atomic.Pointer[func()]
					called := func() {
						if count.Add(1) == at+1 {
							(*end.Load())()
						}
					}
					begin := make(chan struct{})
					close(begin)
					g, _ := allReduce(2, begin)
					for _, n := range g.nodes {
						if n.kind != kindKernel {
							continue
						}
						run := n.op.Run
						n.op.Run = func(ctx context.Context, c *Call) error {
							called()
							err := run(ctx, c)
							for i := range c.issued {
								work := c.issued[i].work
								c.issued[i].work = func(sc *streams.Context) error { called(); return work(sc) }
							}
							return err
						}
					}
					p, err := Compile(g, CompileOptions{})
					require.NoError(t, err)
					x, err := New(p, Options{Workers: 2, Devices: d})
					require.NoError(t, err)
					ctx, cancel := context.WithCancelCause(t.Context())
					closed := make(chan error, 1)
					fn := func() { cancel(stop) }
					if closes {
						fn = func() { go func() { closed <- x.Close() }() } // it waits for this call
					}
					end.Store(&fn)
					args := Args{In: []Value{Int(1), Int(2)}, Out: make([]Value, 2)}
					if loops {
						err = runLoop(ctx, x, args.In)
					} else {
						err = x.Run(ctx, args)
					}
					switch {
					case err == nil: // it had come too far
					case closes:
						require.ErrorIs(t, err, ErrClosed)
					default:
						require.ErrorIs(t, err, stop)
					}
					if closes && count.Swap(-1000) > at { // nothing of it is on its way now
						require.NoError(t, <-closed)
						require.ErrorIs(t, x.Run(t.Context(), args), ErrClosed)
					} else {
						count.Store(-1000)
						require.NoError(t, x.Run(t.Context(), args), "the next run")
						for i, want := range allReduced(2, []int64{1, 2}) {
							require.Equal(t, want, args.Out[i].Int())
						}
					}
					require.NoError(t, x.Close())
					cancel(nil)
				}
			}
		}
	})
}

// runLoop runs a loop of four iterations.
func runLoop(ctx context.Context, x *Executor, in []Value) error {
	l, err := x.Loop(ctx, LoopOptions{In: in, Slots: 2, Limit: 4})
	if err != nil {
		return err
	}
	defer l.Close()
	for range 4 {
		r, err := l.Next(ctx)
		if err != nil {
			return err
		}
		r.Release()
	}
	return nil
}
