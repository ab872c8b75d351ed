package streams

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVerifyNamesTheFirstEdgeWithoutOrder(t *testing.T) {
	g := &Graph{N: 4, Edges: []Edge{
		{From: 0, To: 1}, {From: 0, To: 2}, {From: 1, To: 3, Kind: Control}, {From: 2, To: 3, Kind: Reuse},
		{From: 3, To: 0, Distance: 1},
	}}
	separate := func() *Plan { // every node on a stream of its own
		return &Plan{
			NumStreams: 4,
			Streams:    [][]int{{0}, {1}, {2}, {3}},
			Device:     []int{0, 0, 0, 0},
			Order:      []int{0, 1, 2, 3},
			Waits:      []Wait{{3, 0, 1}, {0, 1, 0}, {0, 2, 0}, {1, 3, 0}, {2, 3, 0}},
			Signals:    []int{0, 1, 2, 3},
		}
	}
	require.NoError(t, Verify(g, separate()))
	for i, edge := range []int{4, 0, 1, 2, 3} {
		p := separate()
		p.Waits = slices.Delete(p.Waits, i, i+1)
		err := Verify(g, p)
		var e *EdgeError
		require.ErrorAs(t, err, &e)
		assert.Equal(t, g.Edges[edge], e.Edge)
		assert.ErrorIs(t, err, ErrPlan)
	}
	p := separate()
	p.Waits = nil
	assert.EqualError(t, Verify(g, p), "streams: bad plan: nothing orders the data edge 0→1 (distance 0)")

	// A wait of one stream of a node does not hold back the other.
	both := &Graph{N: 2, Edges: DataEdges(0, 1), Devices: [][]int{{0}, {0, 1}}}
	p = &Plan{NumStreams: 2, Streams: [][]int{{0}, {0, 1}}, Device: []int{0, 1}, Order: []int{0, 1}}
	assert.ErrorContains(t, Verify(both, p), "0→1")
	p.Waits, p.Signals = []Wait{{0, 1, 0}}, []int{0}
	assert.NoError(t, Verify(both, p))
	p.Streams[1] = []int{1, 0}
	assert.ErrorContains(t, Verify(both, p), "node 1 has streams on devices [1 0], expected one on each of [0 1], in this order")

	// Metadata does not wait, but is issued after.
	meta := &Graph{N: 2, Edges: []Edge{{From: 0, To: 1, Kind: Metadata}}}
	p = &Plan{NumStreams: 2, Streams: [][]int{{0}, {1}}, Device: []int{0, 0}, Order: []int{0, 1}}
	assert.NoError(t, Verify(meta, p))
	p.Order = []int{1, 0}
	assert.ErrorContains(t, Verify(meta, p), "metadata edge 0→1")
}

func TestVerifyRefuses(t *testing.T) {
	g := &Graph{N: 3, Edges: DataEdges(0, 1, 1, 2), Backends: []Backend{GPU, GPU, GPU}}
	for _, c := range []struct {
		name   string
		change func(*Plan)
		want   string
		graph  bool // it is wrong for this graph
	}{
		{"missing node", func(p *Plan) { p.Streams = p.Streams[:2] }, "2 nodes with streams", false},
		{"missing device", func(p *Plan) { p.Device = nil }, "devices of 0 streams", false},
		{"issued twice", func(p *Plan) { p.Order = []int{0, 0, 2} }, "node 0 twice", false},
		{"no such node", func(p *Plan) { p.Order = []int{0, 3, 2} }, "no such node", false},
		{"no such stream", func(p *Plan) { p.Streams[1] = []int{5} }, "stream 5 of 1", false},
		{"no stream", func(p *Plan) { p.Streams[1] = nil }, "node 1 has streams on devices []", true},
		{"wrong device", func(p *Plan) { p.Device = []int{3} }, "node 0 has streams on devices [3]", true},
		{"wait for nobody", func(p *Plan) { p.Waits = []Wait{{9, 0, 0}} }, "plan of 3 nodes", false},
		{"wait for a later node", func(p *Plan) { p.Waits = []Wait{{2, 0, 0}} }, "node 0 waits for node 2, which is issued later", false},
		{"event of nobody", func(p *Plan) { p.Signals = []int{9} }, "node 9 of a plan of 3 nodes records an event", false},
		{"wait for no event", func(p *Plan) { p.Waits = []Wait{{0, 2, 0}} }, "which records no event", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := plan(t, g, Single, Options{})
			c.change(p)
			err := Verify(g, p)
			assert.ErrorIs(t, err, ErrPlan)
			assert.ErrorContains(t, err, c.want)
			if c.graph {
				return
			}
			_, err = NewRunner(p, nil)
			assert.ErrorIs(t, err, ErrPlan, "a plan that nobody has verified")
			assert.ErrorContains(t, err, c.want)
		})
	}
	host := &Graph{N: 1, Backends: []Backend{CPU}}
	p := &Plan{NumStreams: 1, Streams: [][]int{{0}}, Device: []int{0}, Order: []int{0}}
	assert.ErrorContains(t, Verify(host, p), "expected one on each of []")
	assert.ErrorIs(t, Verify(&Graph{N: -1}, p), ErrGraph)
}
