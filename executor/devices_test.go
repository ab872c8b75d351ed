package executor

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/streamtest"
)

// onDevices returns a kernel with an output on each of the devices. The work on each
// computes f of all inputs, once they are written, and tells the test device what it
// reads and writes.
func onDevices(devices []int, f func(in ...int64) int64) Op {
	return Op{Backend: Device, Outputs: len(devices), Devices: devices, OutputDevices: devices, Run: func(_ context.Context, c *Call) error {
		in := make([]Value, c.NumIn())
		for i := range in {
			in[i] = c.In(i)
		}
		for i := range devices {
			cell := new(Cell)
			c.Set(i, Ref(cell))
			c.IssueOn(i, func(sc *streams.Context) error {
				args := make([]int64, len(in))
				for k, v := range in {
					if r, ok := v.Ref().(*Cell); ok {
						streamtest.Reads(sc, r)
					}
					if v = v.plain(); !v.IsEmpty() { // else it has not been written: a race
						args[k] = v.Int()
					}
				}
				cell.Store(Int(f(args...)))
				streamtest.Writes(sc, cell)
				return nil
			})
		}
		return nil
	}}
}

// withSeveral runs a test on n devices that are goroutines, and on test devices made
// together, which must find nothing.
func withSeveral(t *testing.T, n int, test func(t *testing.T, d []streams.Device)) {
	t.Run("host", func(t *testing.T) {
		var d []streams.Device
		for range n {
			d = append(d, streams.NewHost())
		}
		test(t, d)
		for _, d := range d {
			require.NoError(t, d.Close())
		}
	})
	t.Run("test", func(t *testing.T) {
		for seed := range uint64(20) {
			d := streamtest.NewDevices(seed, n)
			test(t, asDevices(d))
			require.Empty(t, closeTogether(t, d))
		}
	})
}

func asDevices[D streams.Device](list []D) (all []streams.Device) {
	for _, d := range list {
		all = append(all, d)
	}
	return all
}

// closeTogether closes devices made together and returns their races.
func closeTogether(t require.TestingT, devices []*streamtest.Device) []streamtest.Race {
	for _, d := range devices {
		require.NoError(t, d.Close())
	}
	return devices[0].Races()
}

// allReduce has a gradient on every device, the sum of all of them on every device, and
// a step there. Work begins when begin is closed.
func allReduce(n int, begin <-chan struct{}) (*Graph, []Output) {
	g := NewGraph()
	var all []int
	var grads []Output
	for d := range n {
		all = append(all, d)
		grad := onDevices([]int{d}, func(in ...int64) int64 { <-begin; return in[0]*10 + int64(d) })
		grads = append(grads, g.Add(fmt.Sprintf("gradient%d", d), grad, g.Input(fmt.Sprintf("in%d", d))).Out(0))
	}
	reduce := g.Add("reduce", onDevices(all, func(in ...int64) (s int64) {
		for _, x := range in {
			s += x
		}
		return s
	}), grads...)
	var steps []Output
	for d := range n {
		step := onDevices([]int{d}, func(in ...int64) int64 { return in[0] - in[1] + in[2] })
		steps = append(steps, g.Add(fmt.Sprintf("step%d", d), step, reduce.Out(d), grads[d], reduce.Out((d+1)%n)).Out(0))
		g.Output(fmt.Sprintf("out%d", d), steps[d])
	}
	return g, steps
}

func allReduced(n int, in []int64) []int64 {
	var sum int64
	for d, x := range in {
		sum += x*10 + int64(d)
	}
	out := make([]int64, n)
	for d, x := range in {
		out[d] = 2*sum - (x*10 + int64(d))
	}
	return out
}

// An all-reduce has a stream on each device. 200 runs, and a loop whose iterations
// overlap, under every policy.
func TestAllReduce(t *testing.T) {
	for _, n := range []int{2, 3} {
		withSeveral(t, n, func(t *testing.T, d []streams.Device) {
			runs := 200
			if _, ok := d[0].(*streamtest.Device); ok {
				runs = 10 // of each seed
			}
			policy := streams.Policy(rand.IntN(5))
			begin := make(chan struct{})
			close(begin)
			g, _ := allReduce(n, begin)
			p, err := Compile(g, CompileOptions{})
			require.NoError(t, err)
			x, err := New(p, Options{Workers: 2, Devices: d, StreamPolicy: policy})
			require.NoError(t, err)
			in, args, out := make([]int64, n), make([]Value, n), make([]Value, n)
			check := func(of func(i int) Value) {
				for i, want := range allReduced(n, in) {
					require.Equal(t, want, of(i).Int(), "output %d under %v", i, policy)
				}
			}
			for range runs {
				for i := range in {
					in[i] = rand.Int64N(1000)
					args[i] = Int(in[i])
				}
				require.NoError(t, x.Run(t.Context(), Args{In: args, Out: out}))
				check(func(i int) Value { return out[i] })
			}
			l, err := x.Loop(t.Context(), LoopOptions{In: args, Slots: 3, Limit: 10})
			require.NoError(t, err)
			for range 10 {
				r, err := l.Next(t.Context())
				require.NoError(t, err)
				check(r.Output)
				r.Release()
			}
			l.Close()
			require.NoError(t, x.Close())
		})
	}
}

// skipping leaves out one wait of one stream for another, on any of the devices.
type skipping struct {
	streams.Device
	*waits
}

type waits struct{ seen, skip int }

type skippingStream struct {
	streams.Stream
	*waits
}

type skippingEvent struct {
	streams.Event
	of streams.Stream
}

func (d skipping) NewStream() (streams.Stream, error) {
	s, err := d.Device.NewStream()
	return skippingStream{s, d.waits}, err
}

func (s skippingStream) Record() streams.Event { return skippingEvent{s.Stream.Record(), s.Stream} }

func (s skippingStream) Wait(e streams.Event) {
	event := e.(skippingEvent)
	if event.of != s.Stream {
		s.seen++
		if s.seen-1 == s.skip {
			return
		}
	}
	s.Stream.Wait(event.Event)
}

// The race check speaks if any one wait between the devices is left out.
func TestAllReduceNeedsEveryWait(t *testing.T) {
	run := func(skip int) (seen int, races []streamtest.Race) {
		devices := streamtest.NewDevices(1, 2)
		w := &waits{skip: skip}
		issued := make(chan struct{})
		g, steps := allReduce(2, issued) // else the host may learn of an event and keep the order itself
		total := g.Add("total", onDevices([]int{0}, sum), steps...)
		g.Add("last", Op{Backend: Device, Run: func(context.Context, *Call) error { close(issued); return nil }}, total.Out(0))
		p, err := Compile(g, CompileOptions{})
		require.NoError(t, err)
		x, err := New(p, Options{Workers: 1, Devices: []streams.Device{skipping{devices[0], w}, skipping{devices[1], w}}})
		require.NoError(t, err)
		require.NoError(t, x.Run(t.Context(), Args{In: []Value{Int(1), Int(2)}}))
		require.NoError(t, x.Close())
		return w.seen, closeTogether(t, devices)
	}
	seen, races := run(-1)
	require.Empty(t, races)
	require.Equal(t, 5, seen, "to come together, to start, to end, to go on, and the total")
	for skip := range seen {
		_, races := run(skip)
		require.NotEmpty(t, races, "without wait %d of %d", skip, seen)
	}
}

// drawPlaced adds a random graph of host and device nodes on any of three devices, or on
// several of them, each of which computes the same function of its inputs.
func drawPlaced(t *rapid.T, g *Graph, hosts, several bool) []Output {
	lists := [][]int{{0}, {1}, {2}}
	if several {
		lists = append(lists, []int{0, 1}, []int{1, 2}, []int{0, 1, 2})
	}
	return drawNodes(t, g, rapid.IntRange(1, 15).Draw(t, "nodes"), hosts, func() Op {
		return onDevices(rapid.SampledFrom(lists).Draw(t, "devices"), sum)
	})
}

// Random graphs over three devices compute what they compute on the spot, under every
// policy, budget and interleaving, and leave no access unordered.
func TestDevicesRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewGraph()
		for i, o := range drawPlaced(t, g, true, true) {
			g.Output(fmt.Sprint(i), o)
		}
		p, err := Compile(g, CompileOptions{})
		require.NoError(t, err)
		devices := streamtest.NewDevices(rapid.Uint64().Draw(t, "seed"), 3)
		x, err := New(p, Options{
			Workers: rapid.IntRange(1, 2).Draw(t, "workers"), Devices: asDevices(devices),
			StreamPolicy: streams.Policy(rapid.IntRange(0, 4).Draw(t, "policy")), StreamBudget: rapid.SampledFrom([]int{0, 3, 4}).Draw(t, "budget"),
		})
		require.NoError(t, err)
		got := make([]Value, len(p.outputs))
		for range 2 {
			require.NoError(t, x.Run(context.Background(), Args{Out: got}))
		}
		require.NoError(t, x.Close())
		require.Empty(t, closeTogether(t, devices))

		p.taken.Store(false) // the same program without devices
		plain, err := New(p, Options{Workers: 1})
		require.NoError(t, err)
		want := make([]Value, len(p.outputs))
		require.NoError(t, plain.Run(context.Background(), Args{Out: want}))
		require.NoError(t, plain.Close())
		for i := range want {
			require.Equal(t, want[i].Int(), got[i].Int())
		}
	})
}

// A plan over three devices that the caller gives is carried out: the work of each node
// runs on the streams that the plan says. It waits as often as the plan says where no node
// is on several of them and the order of issue does not matter, as under Optimal.
func TestDevicesAsPlanned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		several := rapid.Bool().Draw(t, "several")
		g := NewGraph()
		drawPlaced(t, g, false, several)
		p, err := Compile(g, CompileOptions{})
		require.NoError(t, err)
		graph := p.StreamGraph()
		policy := streams.Policy(rapid.IntRange(0, 4).Draw(t, "policy"))
		plan, err := streams.Assign(graph, policy, streams.Options{})
		require.NoError(t, err)
		devices := streamtest.NewDevices(1, 3)
		x, err := New(p, Options{Workers: 1, Devices: asDevices(devices), Plan: plan})
		require.NoError(t, err)
		require.NoError(t, x.Run(context.Background(), Args{}))
		require.NoError(t, x.Close())
		require.Empty(t, closeTogether(t, devices))

		work, waits := make([]int, plan.NumStreams), 0
		for _, s := range devices[0].Trace() {
			switch s.Op {
			case "do":
				work[s.Stream]++ // the streams of a plan are made in its order
			case "wait":
				waits++
			}
		}
		planned, plannedWaits := make([]int, plan.NumStreams), 0
		for v, on := range plan.Streams {
			for _, s := range on {
				planned[s]++
			}
			if graph.Devices != nil {
				require.Len(t, on, len(graph.Devices[v]))
			}
		}
		for _, w := range plan.Waits {
			if len(plan.Streams[w.Producer]) > 0 { // what the host has done needs no event
				plannedWaits++
			}
		}
		require.Equal(t, planned, work)
		if !several && policy == streams.Optimal {
			require.Equal(t, plannedWaits, waits)
		}
	})
}

// Memory of each device is its own pool's, and nothing is overwritten in place for
// another device.
func TestDevicesMemory(t *testing.T) {
	op := func(devices []int, sizes ...int) Op {
		return Op{Backend: Device, Devices: devices, Outputs: len(sizes), OutputDevices: devices, Run: func(_ context.Context, c *Call) error {
			for i, n := range sizes {
				if _, err := c.Alloc(i, n); err != nil {
					return err
				}
			}
			return nil
		}}
	}
	forward := func(device int, want bool) Op {
		return Op{Backend: Device, Devices: []int{device}, Outputs: 1, Run: func(_ context.Context, c *Call) error {
			if _, got, err := c.Forward(0, 0, 1000); err != nil || got != want {
				return fmt.Errorf("forwarded: %v (%v)", got, err)
			}
			return nil
		}}
	}
	g := NewGraph()
	both := op([]int{0, 1}, 1000, 2000, 30)
	both.OutputDevices, both.HostOutputs = []int{1, 0, 0}, []int{2}
	n := g.Add("both", both)
	g.Add("there", op([]int{1}, 300), n.Out(2))
	g.Output("same", g.Add("same", forward(1, true), n.Out(0)).Out(0))
	locked := g.Add("locked", alloc(Host, 40))
	up := alloc(Mixed, 1000)
	up.Devices = []int{2}
	third := g.Add("up", up, locked.Out(0))
	g.Output("other", g.Add("other", forward(0, false), third.Out(0)).Out(0))
	p, err := Compile(g, CompileOptions{})
	require.NoError(t, err)
	for node, want := range map[string]Attr{"both": OnDevice(1), "there": OnDevice(1), "same": OnDevice(1), "up": OnDevice(2), "other": OnDevice(0), "locked": OnHost | DeviceCompatible} {
		require.Equal(t, want, p.Attr(node, 0), node)
	}
	require.Equal(t, OnDevice(0), p.Attr("both", 1))
	require.Equal(t, OnHost|DeviceCompatible, p.Attr("both", 2))
	require.Equal(t, "device 2", p.Attr("up", 0).String())
	require.Equal(t, 2, p.Attr("up", 0).Device())

	checked := memstats.NewChecked(memstats.Heap{})
	newPool := func(kind memstats.Kind, limit int64) *memstats.Pool {
		pool, err := memstats.NewPool(memstats.PoolOptions{Kind: kind, Allocator: checked, Gate: memstats.NewBudget(limit)})
		require.NoError(t, err)
		return pool
	}
	pools := Pools{PageLocked: newPool(memstats.PageLocked, 70), Devices: []*memstats.Pool{
		newPool(memstats.Device, 3000), newPool(memstats.Device, 1300), newPool(memstats.Device, 1000),
	}}
	devices := streamtest.NewDevices(1, 3)
	x, err := New(p, Options{Workers: 1, Devices: asDevices(devices), Allocator: pools}) // one goroutine: what is forwarded is certain
	require.NoError(t, err)
	for range 5 {
		out := make([]Value, 2)
		require.NoError(t, x.Run(t.Context(), Args{Out: out}))
		require.Equal(t, OnDevice(1), out[0].Buffer().Attr())
		require.Equal(t, OnDevice(0), out[1].Buffer().Attr())
		for _, o := range out {
			o.Buffer().Release()
		}
	}
	require.NoError(t, x.Close())
	require.Empty(t, closeTogether(t, devices))
	for d, peak := range []int64{3000, 1300, 1000} {
		require.Equal(t, peak, pools.Devices[d].Stats().Peak)
		pools.Devices[d].Trim()
	}
	pools.PageLocked.Trim()
	require.NoError(t, checked.Check())

	_, err = pools.Alloc(8, OnDevice(3))
	require.EqualError(t, err, "executor: there is no pool of device memory for 8 bytes (device 3): set it in Pools")
	require.PanicsWithValue(t, "executor: there is no device 256; devices are 0 to 255", func() { OnDevice(256) })
}
