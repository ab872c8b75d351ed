package streams_test

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/streamtest"
)

// place is a node in one of several iterations.
type place struct{ node, iteration int }

// orders reports whether the consumer of e waits for the producer.
func orders(p *streams.Plan, e streams.Edge) bool {
	return e.Kind != streams.Metadata || len(p.Streams[e.From]) == 0
}

// unrolled issues the nodes of a graph through Lanes, for several iterations, behind
// the producers of their edges alone.
type unrolled struct {
	graph *streams.Graph
	plan  *streams.Plan
	lanes *streams.Lanes
	marks map[place]*streams.Mark
	each  bool // a node on several streams works on all of them, and not on the first alone
}

// part is what a node writes on one of its streams, by their order.
type part struct {
	place
	stream int
}

func unroll(t *rapid.T, g *streams.Graph, p *streams.Plan, device func(int) (streams.Device, error), each bool) *unrolled {
	l, err := streams.NewLanes(p, device)
	require.NoError(t, err)
	return &unrolled{g, p, l, map[place]*streams.Mark{}, each}
}

// producers returns what x is to come after.
func (u *unrolled) producers(x place) (list []place) {
	for _, e := range u.graph.Edges {
		if e.To == x.node && e.Distance <= x.iteration && orders(u.plan, e) {
			list = append(list, place{e.From, x.iteration - e.Distance})
		}
	}
	return list
}

func (u *unrolled) issue(t *rapid.T, x place) {
	var after []*streams.Mark
	for _, p := range u.producers(x) {
		after = append(after, u.marks[p])
	}
	if len(u.plan.Streams[x.node]) == 0 {
		m, err := u.lanes.Await(context.Background(), after)
		require.NoError(t, err)
		u.marks[x] = m
		return
	}
	var work []func(*streams.Context) error
	for i := range u.parts(x) {
		work = append(work, func(c *streams.Context) error {
			for _, p := range u.producers(x) {
				u.read(c, p)
			}
			streamtest.Writes(c, part{x, i})
			return nil
		})
	}
	u.marks[x] = u.lanes.Issue(x.node, after, work...)
}

// parts returns on how many of its streams a node works.
func (u *unrolled) parts(x place) int {
	n := len(u.plan.Streams[x.node])
	if !u.each {
		n = min(n, 1)
	}
	return n
}

// read reads what x has written, on all its streams. A node on the host hands on what it
// has read.
func (u *unrolled) read(c *streams.Context, x place) {
	for i := range u.parts(x) {
		streamtest.Reads(c, part{x, i})
	}
	if u.parts(x) > 0 {
		return
	}
	for _, p := range u.producers(x) {
		u.read(c, p)
	}
}

// anyOrder returns the nodes of some iterations in a random order, producers first.
// Nodes of a later iteration may come before those of an earlier one.
func anyOrder(g *streams.Graph, iterations int, seed uint64) (order []place) {
	r := rand.New(rand.NewPCG(seed, 0))
	missing := map[place]int{}
	var ready []place
	for k := range iterations {
		for v := range g.N {
			x := place{v, k}
			for _, e := range g.Edges {
				if e.To == v && e.Distance <= k {
					missing[x]++
				}
			}
			if missing[x] == 0 {
				ready = append(ready, x)
			}
		}
	}
	for len(ready) > 0 {
		i := r.IntN(len(ready))
		x := ready[i]
		ready = slices.Delete(ready, i, i+1)
		order = append(order, x)
		for _, e := range g.Edges {
			if next := (place{e.To, x.iteration + e.Distance}); e.From == x.node && next.iteration < iterations {
				if missing[next]--; missing[next] == 0 {
					ready = append(ready, next)
				}
			}
		}
	}
	return order
}

func drawPlan(t *rapid.T, g *streams.Graph) *streams.Plan {
	return assign(t, g, rapid.SampledFrom(streams.AllPolicies).Draw(t, "policy"),
		streams.Options{Budget: rapid.SampledFrom([]int{0, 0, 3}).Draw(t, "budget")})
}

// watched is a device that notes for which events its streams and the host wait.
type watched struct {
	streams.Device
	*waiting
}

// waiting are the waits of watched devices. One of the streams' is left out if asked to.
type waiting struct {
	waits []streams.Event
	skip  int // number of the wait to leave out, from 0; -1 for none
}

// watch returns the devices of a plan, watched.
func watch[D streams.Device](w *waiting, devices ...D) func(int) (streams.Device, error) {
	return func(n int) (streams.Device, error) { return &watched{devices[n%len(devices)], w}, nil }
}

// together returns the devices of a plan, three test devices made together.
func together(seed uint64) (of func(int) (streams.Device, error), devices []*streamtest.Device) {
	devices = streamtest.NewDevices(seed, 3)
	return func(n int) (streams.Device, error) { return devices[n], nil }, devices
}

// closeAll closes devices made together and returns their races.
func closeAll(t require.TestingT, devices []*streamtest.Device) []streamtest.Race {
	for _, d := range devices {
		require.NoError(t, d.Close())
	}
	return devices[0].Races()
}

type watchedStream struct {
	streams.Stream
	device *watched
}

type watchedEvent struct {
	streams.Event
	device *watched
}

func (d *watched) NewStream() (streams.Stream, error) {
	s, err := d.Device.NewStream()
	return &watchedStream{s, d}, err
}

func (s *watchedStream) Record() streams.Event { return &watchedEvent{s.Stream.Record(), s.device} }

func (s *watchedStream) Wait(e streams.Event) {
	if len(s.device.waits) != s.device.skip {
		s.Stream.Wait(e.(*watchedEvent).Event)
	}
	s.device.waits = append(s.device.waits, e)
}

func (e *watchedEvent) Wait(ctx context.Context) error {
	e.device.waits = append(e.device.waits, e)
	return e.Event.Wait(ctx)
}

// Nodes that are issued in the order of the plan wait for what the plan says, once
// the iterations are there that its loop-carried edges come from.
func TestLanesWaitAsPlanned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := streams.DrawRichGraph(t, 12)
		p := drawPlan(t, g)
		host := streams.NewHost()
		defer host.Close()
		d := &waiting{skip: -1}
		u := unroll(t, g, p, watch(d, host), false)
		last := 0
		for _, e := range g.Edges {
			last = max(last, e.Distance)
		}
		var got []streams.Wait
		for k := range last + 2 { // one more than there must be
			got = nil
			for _, v := range p.Order {
				d.waits = nil
				u.issue(t, place{v, k})
				for _, e := range d.waits {
					for from, m := range u.marks {
						if from != (place{v, k}) && len(p.Streams[from.node]) > 0 && m.Event() == e {
							got = append(got, streams.Wait{Producer: from.node, Consumer: v, Distance: k - from.iteration})
						}
					}
				}
			}
		}
		require.NoError(t, u.lanes.Close())
		want := slices.DeleteFunc(slices.Clone(p.Waits), func(w streams.Wait) bool {
			return len(p.Streams[w.Producer]) == 0 // what the host has done has no event
		})
		for _, list := range [][]streams.Wait{got, want} {
			slices.SortFunc(list, func(a, b streams.Wait) int {
				return cmp.Or(a.Consumer-b.Consumer, a.Producer-b.Producer, a.Distance-b.Distance)
			})
		}
		require.Equal(t, len(want), len(got))
		for i := range want {
			require.Equal(t, want[i], got[i])
		}
	})
}

// In whatever order nodes are issued, each comes after what it reads.
func TestLanesOrderEveryAccess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := streams.DrawRichGraph(t, 10)
		p := drawPlan(t, g)
		device, devices := together(rapid.Uint64().Draw(t, "interleaving"))
		u := unroll(t, g, p, device, rapid.Bool().Draw(t, "each"))
		for _, x := range anyOrder(g, 4, rapid.Uint64().Draw(t, "order")) {
			u.issue(t, x)
		}
		require.NoError(t, u.lanes.Close())
		require.Empty(t, closeAll(t, devices))
	})
}

// No wait is in vain: if one is left out, in whatever order nodes are issued,
// something is read that need not have been written. The graphs have no nodes on the
// host and none on several streams, which order more than the edges of a graph do.
func TestLanesNeedEveryWait(t *testing.T) {
	left := 0
	rapid.Check(t, func(t *rapid.T) {
		g := streams.DrawRichGraph(t, 10)
		g.Backends = nil
		for v, on := range g.Devices {
			g.Devices[v] = on[:1]
		}
		p := drawPlan(t, g)
		order := anyOrder(g, 3, rapid.Uint64().Draw(t, "order"))
		races := func(skip int) (waits int, races []streamtest.Race) {
			devices := streamtest.NewDevices(1, 3)
			d := &waiting{skip: skip}
			u := unroll(t, g, p, watch(d, devices...), false)
			for _, x := range order {
				u.issue(t, x)
			}
			require.NoError(t, u.lanes.Close())
			return len(d.waits), closeAll(t, devices)
		}
		waits, none := races(-1)
		require.Empty(t, none)
		if waits == 0 {
			return
		}
		_, found := races(rapid.IntRange(0, waits-1).Draw(t, "left out"))
		require.NotEmpty(t, found)
		left++
	})
	require.NotZero(t, left)
}

// The waits of a plan are those of its order. Two producers on one stream: only the
// later one is waited for, and which that is depends on the order of issue.
func TestLanesWaitForTheLaterOne(t *testing.T) {
	p := &streams.Plan{NumStreams: 2, Device: []int{0, 0}, Streams: [][]int{{0}, {0}, {1}}, Order: []int{0, 1, 2}}
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		host := streams.NewHost()
		d := &waiting{skip: -1}
		l, err := streams.NewLanes(p, watch(d, host))
		require.NoError(t, err)
		nothing := func(*streams.Context) error { return nil }
		var marks []*streams.Mark
		for _, v := range order {
			marks = append(marks, l.Issue(v, nil, nothing))
		}
		l.Issue(2, marks, nothing)
		require.Equal(t, []streams.Event{marks[1].Event()}, d.waits)
		require.NoError(t, l.Close())
		require.NoError(t, host.Close())
	}
}

// A node on two streams starts when both have come to it, and both go on after it.
// Streams that have met have nothing to wait for.
func TestLanesMeet(t *testing.T) {
	p := &streams.Plan{NumStreams: 3, Device: []int{0, 1, 1}, Streams: [][]int{{0}, {1}, {2}, {0, 1}, {2, 1}}, Order: []int{0, 1, 2, 3, 4}}
	test := streamtest.New(1)
	d := &waiting{skip: -1}
	l, err := streams.NewLanes(p, watch(d, test))
	require.NoError(t, err)
	writes := func(buffers ...any) func(*streams.Context) error {
		return func(c *streams.Context) error { streamtest.Writes(c, buffers...); return nil }
	}
	l.Issue(0, nil, writes("a"))
	far := l.Issue(2, nil, writes("c"))
	l.Issue(1, []*streams.Mark{far}, writes("b")) // stream 1 now comes after stream 2
	l.Issue(3, nil, writes("a", "b", "c"))
	require.Len(t, d.waits, 3, "1 for 2, and two to meet")
	l.Issue(3, nil, writes("a", "b", "c"))
	require.Len(t, d.waits, 4, "they have met: the second goes on after the work, no more")
	l.Issue(0, nil, writes("a", "b", "c"))
	l.Issue(1, nil, writes("d"))
	l.Issue(0, nil, writes("e"))
	l.Issue(3, nil, writes("d", "e"))
	l.Issue(4, nil, writes("f")) // stream 2 counts it, stream 1 comes after it, too
	l.Issue(3, nil, writes("f"))
	require.NoError(t, l.Close())
	require.NoError(t, test.Close())
	require.Empty(t, test.Races())
}

// A node works on each of its streams, with the Context of that stream: behind what
// all of them did before, and ahead of what any of them does next.
func TestLanesWorkOnEach(t *testing.T) {
	p := &streams.Plan{NumStreams: 3, Device: []int{0, 1, 2}, Streams: [][]int{{0}, {1}, {2}, {0, 1, 2}}, Order: []int{0, 1, 2, 3}}
	for seed := range uint64(20) {
		devices := streamtest.NewDevices(seed, 3)
		d := &waiting{skip: -1}
		l, err := streams.NewLanes(p, watch(d, devices...))
		require.NoError(t, err)
		var seen [3]*streams.Context
		var parts, alone, again []func(*streams.Context) error
		for i := range 3 {
			alone = append(alone, func(c *streams.Context) error { seen[i] = c; streamtest.Writes(c, i); return nil })
			parts = append(parts, func(c *streams.Context) error {
				require.Same(t, seen[i], c)
				streamtest.Reads(c, 0, 1, 2)
				streamtest.Writes(c, 10+i)
				return nil
			})
			again = append(again, func(c *streams.Context) error {
				streamtest.Reads(c, 10, 11, 12)
				streamtest.Writes(c, i)
				return nil
			})
		}
		for i := range 3 {
			l.Issue(i, nil, alone[i])
		}
		l.Issue(3, nil, parts...)
		require.Len(t, d.waits, 8, "to meet, to start, to end, to go on; each for the two others")
		for i := range 3 {
			l.Issue(i, nil, again[i])
		}
		l.Issue(3, nil, nil, nil, alone[2])
		require.Len(t, d.waits, 14, "the third alone works")
		l.Issue(3, nil, parts...)
		require.Len(t, d.waits, 18, "they have met")
		l.Issue(3, nil)
		require.NoError(t, l.Close())
		require.Empty(t, closeAll(t, devices))
	}
}

// One stream of a node fails: what is issued behind the node is skipped on all of its
// streams, and its event says why.
func TestLanesFailOnOne(t *testing.T) {
	broken := errors.New("broken")
	p := &streams.Plan{NumStreams: 2, Device: []int{0, 1}, Streams: [][]int{{0}, {1}, {0, 1}}, Order: []int{0, 1, 2}}
	for bad := range 2 {
		devices := streamtest.NewDevices(1, 2)
		l, err := streams.NewLanes(p, watch(&waiting{skip: -1}, devices...))
		require.NoError(t, err)
		work := make([]func(*streams.Context) error, 2)
		work[bad] = func(*streams.Context) error { return broken }
		m := l.Issue(2, nil, work...)
		for v := range 2 {
			l.Issue(v, nil, func(*streams.Context) error { t.Error("ran"); return nil })
		}
		require.Equal(t, broken, m.Event().Wait(t.Context()))
		require.Equal(t, broken, l.Synchronize(t.Context()))
		ran := 0
		for v := range 2 {
			l.Issue(v, nil, func(*streams.Context) error { ran++; return nil })
		}
		require.NoError(t, l.Close())
		require.Empty(t, closeAll(t, devices))
		require.Equal(t, 2, ran)
	}
}

// What comes after a node that has not been issued is skipped, and says so.
func TestLanesRefuseMarksOfOthers(t *testing.T) {
	p := &streams.Plan{NumStreams: 1, Device: []int{0}, Streams: [][]int{{0}}, Order: []int{0}}
	for _, d := range []streams.Device{streams.NewHost(), streamtest.New(1)} {
		l, err := streams.NewLanes(p, on(d))
		require.NoError(t, err)
		other, err := streams.NewLanes(p, on(d))
		require.NoError(t, err)
		nothing := func(*streams.Context) error { return nil }
		for _, m := range []*streams.Mark{nil, other.Issue(0, nil, nothing)} {
			after := []*streams.Mark{m, l.Issue(0, nil, nothing)}
			bad := l.Issue(0, after, func(*streams.Context) error { t.Error("ran"); return nil })
			require.ErrorIs(t, bad.Event().Wait(t.Context()), streams.ErrMark)
			require.ErrorIs(t, l.Synchronize(t.Context()), streams.ErrMark)
			_, err := l.Await(t.Context(), after)
			require.ErrorIs(t, err, streams.ErrMark)
		}
		require.NoError(t, l.Close())
		require.NoError(t, other.Close())
		require.NoError(t, d.Close())
	}
}
