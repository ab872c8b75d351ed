package executor

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/streamtest"
)

// alloc is a node that allocates size bytes and tells a test device what it
// touches.
func alloc(b Backend, size int) Op {
	return Op{Backend: b, Outputs: 1, Run: func(_ context.Context, c *Call) error {
		out, err := c.Alloc(0, size)
		if err != nil || b == Host {
			return err
		}
		var in []*byte
		for i := range c.NumIn() {
			in = append(in, &c.In(i).Buffer().Bytes()[0])
		}
		c.Issue(func(sc *streams.Context) error {
			for _, x := range in {
				streamtest.Reads(sc, x)
			}
			streamtest.Writes(sc, &out.Bytes()[0])
			return nil
		})
		return nil
	}}
}

// Which pool memory comes from is decided by the edges: what a mixed node reads of
// the host is page-locked. Later runs take what earlier ones have freed, within
// budgets that one run needs, and nothing leaks.
func TestPools(t *testing.T) {
	g := NewGraph()
	plain := g.Add("plain", alloc(Host, 10))
	g.Add("host", Op{Run: nothing}, plain.Out(0))
	locked := g.Add("locked", alloc(Host, 200))
	up := g.Add("up", alloc(Mixed, 3000), locked.Out(0))
	g.Output("x", g.Add("device", alloc(Device, 3000), up.Out(0)).Out(0))
	p, err := Compile(g, CompileOptions{})
	require.NoError(t, err)

	pools := Pools{Devices: make([]*memstats.Pool, 1)}
	checked := map[memstats.Kind]*memstats.Checked{}
	for kind, of := range map[memstats.Kind]**memstats.Pool{memstats.Host: &pools.Host, memstats.PageLocked: &pools.PageLocked, memstats.Device: &pools.Devices[0]} {
		checked[kind] = memstats.NewChecked(memstats.Heap{})
		limit := map[memstats.Kind]int64{memstats.Host: 10, memstats.PageLocked: 200, memstats.Device: 6000}[kind]
		*of, err = memstats.NewPool(memstats.PoolOptions{Kind: kind, Allocator: checked[kind], Gate: memstats.NewBudget(limit)})
		require.NoError(t, err)
	}
	d := streamtest.New(1)
	x, err := New(p, Options{Workers: 2, Devices: []streams.Device{d}, Allocator: pools})
	require.NoError(t, err)
	for range 5 {
		out := make([]Value, 1)
		require.NoError(t, x.Run(t.Context(), Args{Out: out}))
		require.Equal(t, Attr(0), out[0].Buffer().Attr())
		out[0].Buffer().Release()
	}
	require.NoError(t, x.Close())
	require.NoError(t, d.Close())
	require.Empty(t, d.Races())
	require.Equal(t, memstats.Stats{Peak: 10, Allocations: 5}, pools.Host.Stats())
	require.Equal(t, memstats.Stats{Live: 200, Peak: 200, Idle: 200, Allocations: 1}, pools.PageLocked.Stats())
	require.Equal(t, memstats.Stats{Live: 6000, Peak: 6000, Idle: 6000, Allocations: 2}, pools.Devices[0].Stats())
	pools.PageLocked.Trim()
	pools.Devices[0].Trim()
	for kind, c := range checked {
		require.NoError(t, c.Check(), kind)
	}
}

// A budget that a node's memory does not fit into fails the node, which is named
// with the bytes.
func TestANodeThatDoesNotFit(t *testing.T) {
	g := NewGraph()
	g.Output("x", g.Add("device", alloc(Device, 300), g.Add("up", alloc(Mixed, 800)).Out(0)).Out(0))
	p, err := Compile(g, CompileOptions{})
	require.NoError(t, err)
	checked := memstats.NewChecked(memstats.Heap{})
	pool, err := memstats.NewPool(memstats.PoolOptions{Kind: memstats.Device, Allocator: checked, Gate: memstats.NewBudget(1000)})
	require.NoError(t, err)
	d := streamtest.New(2)
	x, err := New(p, Options{Devices: []streams.Device{d}, Allocator: Pools{Devices: []*memstats.Pool{pool}}})
	require.NoError(t, err)
	err = x.Run(t.Context(), Args{})
	var node *NodeError
	require.ErrorAs(t, err, &node)
	require.Equal(t, "device", node.Node)
	var over *memstats.BudgetError
	require.ErrorAs(t, err, &over)
	require.Equal(t, memstats.BudgetError{Need: 300, Used: 800, Limit: 1000}, *over)
	require.NoError(t, x.Close())
	require.NoError(t, d.Close())
	require.EqualValues(t, 800, pool.Trim())
	require.NoError(t, checked.Check())
}

func TestAKindWithoutAPool(t *testing.T) {
	var none Pools
	for attr, want := range map[Attr]string{
		OnHost: "", OnHost | NetworkCompatible: "", 0: "there is no pool of device memory for 8 bytes",
		OnHost | DeviceCompatible: "there is no pool of page-locked memory for 8 bytes",
	} {
		mem, err := none.Alloc(8, attr)
		if want != "" {
			require.ErrorContains(t, err, want)
			continue
		}
		require.NoError(t, err)
		require.Len(t, mem, 8)
		none.Free(mem, attr)
	}
	mem, err := none.Alloc(0, 0)
	require.NoError(t, err)
	require.Empty(t, mem)
	none.Free(mem, 0)
}

func ExamplePools() {
	pool, err := memstats.NewPool(memstats.PoolOptions{
		Kind: memstats.PageLocked, Allocator: memstats.Heap{}, // of a device in earnest
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	pools := Pools{PageLocked: pool}
	for range 3 {
		mem, err := pools.Alloc(1000, OnHost|DeviceCompatible)
		if err != nil {
			fmt.Println(err)
			return
		}
		pools.Free(mem, OnHost|DeviceCompatible)
	}
	fmt.Println(pool.Stats().Allocations, "allocation,", pool.Stats().Idle, "bytes idle")
	fmt.Println(pool.Trim(), "bytes given back")
	// Output:
	// 1 allocation, 1000 bytes idle
	// 1000 bytes given back
}
