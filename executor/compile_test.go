package executor

import (
	"context"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestItemSize(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(nodeItem{}), uintptr(64), "a node is one cache line")
}

// A graph that cannot run is refused, with the node that is to blame.
func TestGraphErrors(t *testing.T) {
	other := NewGraph()
	foreign := other.num(1)
	op := Op{Run: identity, Outputs: 1}
	for _, c := range []struct {
		name, node, want string
		build            func(g *Graph)
	}{
		{"two frames", "sum", "inputs from different frames", func(g *Graph) {
			d := g.num(1)
			g.Add("sum", op, g.Enter("a", &LoopSpec{Name: "f1"}, d), g.Enter("b", &LoopSpec{Name: "f2"}, d))
		}},
		{"one loop from two frames", "b", "entered from different frames", func(g *Graph) {
			inner := &LoopSpec{Name: "inner"}
			d := g.num(1)
			g.Enter("a", inner, d)
			g.Enter("b", inner, g.Enter("o", &LoopSpec{Name: "outer"}, d))
		}},
		{"two loops of a name", "b", "second loop named", func(g *Graph) {
			d := g.num(1)
			g.Enter("a", &LoopSpec{Name: "f"}, d)
			g.Enter("b", &LoopSpec{Name: "f"}, d)
		}},
		{"no loop", "e", "needs a LoopSpec", func(g *Graph) { g.Enter("e", nil, g.num(1)) }},
		{"parallel", "e", "-1 parallel iterations", func(g *Graph) { g.Enter("e", &LoopSpec{Parallel: -1}, g.num(1)) }},
		{"cycle", "m", "cycle", func(g *Graph) {
			m := g.Merge("m", g.num(1))
			n := g.Add("n", op, m.Out(0))
			g.After(m, n)
		}},
		{"merge of back edges only", "m", "no back edge", func(g *Graph) {
			m := g.Merge("m")
			g.Connect(m, g.NextIteration("n", m.Out(0)))
		}},
		{"back edge to no merge", "n", "only a Merge", func(g *Graph) {
			n := g.Add("n", op, g.num(1))
			g.Connect(n, n.Out(0))
		}},
		{"back edge from no NextIteration", "m", "comes from a NextIteration", func(g *Graph) {
			m := g.Merge("m", g.num(1))
			g.Connect(m, m.Out(0))
		}},
		{"back edge from another frame", "m", "another frame", func(g *Graph) {
			d := g.num(1)
			m := g.Merge("m", g.Enter("a", &LoopSpec{Name: "f1"}, d))
			g.Connect(m, g.NextIteration("n", g.Enter("b", &LoopSpec{Name: "f2"}, d)))
		}},
		{"exit", "x", "outside of any loop", func(g *Graph) { g.Exit("x", g.num(1)) }},
		{"next", "x", "outside of any loop", func(g *Graph) { g.NextIteration("x", g.num(1)) }},
		{"output in a loop", "output y", "Exit", func(g *Graph) { g.Output("y", g.Enter("e", &LoopSpec{Name: "f"}, g.num(1))) }},
		{"name", "a", "exists already", func(g *Graph) { g.Const("a", Int(1)); g.Const("a", Int(1)) }},
		{"foreign", "a", "not an output of this graph", func(g *Graph) { g.Add("a", op, foreign) }},
		{"foreign control", "a", "another graph", func(g *Graph) { g.NoOp("a", foreign.Node()) }},
		{"no output", "a", "no output 1", func(g *Graph) { g.Add("a", op, g.num(1)).Out(1) }},
		{"no kernel", "a", "exactly one", func(g *Graph) { g.Add("a", Op{}) }},
		{"order", "a", "Op.Order is 9", func(g *Graph) { g.Add("a", Op{Run: nothing, Order: 9}) }},
		{"backend", "a", "Op.Backend 9", func(g *Graph) { g.Add("a", Op{Run: nothing, Backend: 9}) }},
		{"nil kernel", "a", "no kernel", func(g *Graph) { g.Add("a", Op{New: func() (Kernel, error) { return nil, nil }}) }},
		{"outputs", "a", "-1 outputs", func(g *Graph) { g.Add("a", Op{Run: nothing, Outputs: -1}) }},
		{"host outputs", "a", "HostOutputs", func(g *Graph) { g.Add("a", Op{Run: nothing, HostOutputs: []int{0}}) }},
		{"empty constant", "a", "needs a value", func(g *Graph) { g.Const("a", Value{}) }},
		{"ports", "a", "not 0", func(g *Graph) { g.SwitchN("a", g.num(1), g.num(1), 0) }},
		{"loop without variables", "loop", "at least one variable", func(g *Graph) { g.While(LoopSpec{Name: "loop"}, nil, nil, nil) }},
		{"body", "loop/", "returned 0 values, expected 1", func(g *Graph) {
			g.While(LoopSpec{Name: "loop"}, []Output{g.num(1)}, func(v []Output) Output { return v[0] }, func([]Output) []Output { return nil })
		}},
		{"branches", "if/1/", "returned 1 values, expected 0", func(g *Graph) {
			g.If("if", g.Const("p", Bool(true)), func() []Output { return []Output{g.num(1)} }, func() []Output { return nil })
		}},
		{"foreign selector", "if", "not an output of this graph", func(g *Graph) {
			g.If("if", foreign, func() []Output { return nil }, func() []Output { return nil })
		}},
		{"foreign value", "if/0/", "value 0 that the body returned", func(g *Graph) {
			g.If("if", g.Const("p", Bool(true)), func() []Output { return nil }, func() []Output { return []Output{foreign} })
		}},
		{"body used outside", "if/0/inside", "return it from the body", func(g *Graph) {
			var leak Output
			g.If("if", g.Const("p", Bool(true)), func() []Output { return nil }, func() []Output { leak = g.Const("inside", Int(1)); return nil })
			g.Add("a", op, leak)
		}},
		{"body waited for outside", "if/0/inside", "waited for outside", func(g *Graph) {
			var leak *Node
			g.If("if", g.Const("p", Bool(true)), func() []Output { return nil }, func() []Output { leak = g.NoOp("inside"); return nil })
			g.NoOp("a", leak)
		}},
		{"overlapping", "loop/n", "set LoopSpec.Parallel to 1", func(g *Graph) {
			g.While(LoopSpec{Name: "loop"}, []Output{g.num(0)}, g.upTo(0, 1), func(v []Output) []Output {
				return []Output{g.Add("n", Op{Run: identity, Outputs: 1, Order: Serial}, v[0]).Out(0)}
			})
		}},
		{"too many edges", "join", "join them in several steps", func(g *Graph) {
			n := g.NoOp("n")
			all := make([]*Node, maxPending+1)
			for i := range all {
				all[i] = n
			}
			g.NoOp("join", all...)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewGraph()
			c.build(g)
			_, err := Compile(g, CompileOptions{})
			var ge *GraphError
			require.ErrorAs(t, err, &ge)
			require.Equal(t, c.node, ge.Node)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// The kinds of memory that are inferred: on the host, page-locked where a
// device reads it or a transfer leads to one, and for the network next to a
// transfer to another address space.
func TestAttrs(t *testing.T) {
	build := func() *Graph {
		g := NewGraph()
		node := func(name string, b Backend, in ...Output) Output {
			return g.Add(name, Op{Run: nothing, Outputs: 1, Backend: b}, in...).Out(0)
		}
		plain := node("plain", Host)
		locked := node("locked", Host)
		node("host", Host, plain, locked)
		up := node("up", Mixed, locked)
		down := g.Add("down", Op{Run: nothing, Outputs: 2, Backend: Device, HostOutputs: []int{1}}, up)
		node("reads", Device, down.Out(1))
		g.Send("s1", "s1", Peer{Name: "gpu", Backend: Device}, node("to-gpu", Host))
		g.Send("s2", "s2", Peer{Name: "far", Remote: true}, node("to-net", Host))
		g.Send("s3", "s3", Peer{Name: "far", Remote: true}, node("dev-to-net", Device))
		g.Send("s4", "s4", Peer{Name: "near"}, node("to-host", Host))
		g.Recv("from-gpu", "r1", Peer{Name: "gpu", Backend: Device})
		g.Recv("from-net", "r2", Peer{Name: "far", Remote: true})
		both := node("both", Host)
		node("both-reader", Device, both)
		g.Send("s5", "s5", Peer{Name: "far", Remote: true}, both)
		return g
	}
	want := map[string]Attr{
		"plain": OnHost, "locked": OnHost | DeviceCompatible, "up": 0, "down": 0, "host": OnHost,
		"to-gpu": OnHost | DeviceCompatible, "to-net": OnHost | NetworkCompatible, "dev-to-net": NetworkCompatible,
		"to-host": OnHost, "from-gpu": OnHost | DeviceCompatible, "from-net": OnHost | NetworkCompatible,
		"both": OnHost | DeviceCompatible | NetworkCompatible,
	}
	for _, force := range []bool{false, true} {
		p, err := Compile(build(), CompileOptions{ForceDeviceCompatible: force})
		require.NoError(t, err)
		for node, attr := range want {
			if force && attr&OnHost != 0 {
				attr |= DeviceCompatible
			}
			require.Equal(t, attr, p.Attr(node, 0), node)
		}
		require.Equal(t, OnHost|DeviceCompatible, p.Attr("down", 1))
		require.PanicsWithValue(t, `executor: there is no output 2 of node "down"; it has 2, counted from 0`, func() { p.Attr("down", 2) })
		require.NoError(t, p.Close())
	}
	require.Equal(t, "host|device-compatible|network-compatible", (OnHost | DeviceCompatible | NetworkCompatible).String())
	require.Equal(t, "device 0", Attr(0).String())
}

// What a device asks of a value it asks of the node that made the value, through whatever
// hands the value on.
func TestAttrsThroughControlFlow(t *testing.T) {
	node := func(g *Graph, name string, b Backend, in ...Output) Output {
		return g.Add(name, Op{Run: nothing, Outputs: 1, Backend: b}, in...).Out(0)
	}
	for name, reads := range map[string]func(g *Graph, x Output){
		"identity": func(g *Graph, x Output) { node(g, "up", Mixed, g.Identity("", g.Identity("", x))) },
		"send":     func(g *Graph, x Output) { g.Send("s", "s", Peer{Name: "gpu", Backend: Device}, g.Identity("", x)) },
		"if": func(g *Graph, x Output) {
			g.If("", g.Const("", Bool(true)), func() []Output { return []Output{node(g, "up", Mixed, x)} },
				func() []Output { return []Output{node(g, "other", Host)} })
		},
		"behind if": func(g *Graph, x Output) {
			y := g.If("", g.Const("", Bool(true)), func() []Output { return []Output{g.Identity("", x)} },
				func() []Output { return []Output{node(g, "other", Host)} })
			node(g, "up", Device, y[0])
		},
		"case": func(g *Graph, x Output) {
			y := g.Case("", g.Const("", Int(0)), []Output{x}, func(args []Output) []Output { return args })
			node(g, "up", Mixed, y[0])
		},
		"variable of a loop": func(g *Graph, x Output) {
			g.While(LoopSpec{}, []Output{g.Const("", Int(0)), x},
				func(vars []Output) Output { return g.Identity("", g.Const("", Bool(false))) },
				func(vars []Output) []Output { node(g, "up", Device, vars[1]); return vars })
		},
		"behind a loop in a branch": func(g *Graph, x Output) {
			y := g.If("", g.Const("", Bool(true)), func() []Output {
				return g.While(LoopSpec{}, []Output{x, g.Const("", Int(1))},
					func(vars []Output) Output { return g.Identity("", g.Const("", Bool(false))) },
					func(vars []Output) []Output { return []Output{vars[0], g.Identity("", vars[1])} })[:1]
			}, func() []Output { return []Output{node(g, "other", Host)} })
			node(g, "up", Mixed, y[0])
		},
		"around a loop": func(g *Graph, x Output) {
			g.While(LoopSpec{}, []Output{g.Const("", Int(0))},
				func(vars []Output) Output { return g.Identity("", g.Const("", Bool(false))) },
				func(vars []Output) []Output { node(g, "up", Mixed, x); return vars })
		},
	} {
		g := NewGraph()
		x := node(g, "x", Host)
		reads(g, x)
		y := node(g, "y", Host) // which only chooses
		g.SwitchN("", node(g, "z", Host), y, 2)
		p, err := Compile(g, CompileOptions{})
		require.NoError(t, err, name)
		for of, want := range map[string]Attr{"x": OnHost | DeviceCompatible, "y": OnHost, "z": OnHost} {
			require.Equal(t, want, p.Attr(of, 0), "%s of %s", of, name)
		}
		require.NoError(t, p.Close())
	}
}

// A value that goes around in a loop is asked for by what reads it in the next iteration.
func TestAttrsOfALoopsNextValue(t *testing.T) {
	g := NewGraph()
	g.While(LoopSpec{Name: "loop"}, []Output{g.Const("", Int(0))},
		func(vars []Output) Output { return g.Identity("", g.Const("", Bool(false))) },
		func(vars []Output) []Output {
			g.Add("up", Op{Run: nothing, Backend: Mixed}, vars[0])
			return []Output{g.Add("next", Op{Run: nothing, Outputs: 1}, vars[0]).Out(0)}
		})
	p, err := Compile(g, CompileOptions{})
	require.NoError(t, err)
	require.Equal(t, OnHost|DeviceCompatible, p.Attr("loop/next", 0))
	require.NoError(t, p.Close())
}

// A node with n inputs of which some are dead is ready with the last of them,
// dead or not as it must be; 8 inputs and more are no boundary.
func TestCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(1, 20), rapid.IntRange(250, 300)).Draw(t, "inputs")
		dead := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "dead")
		someDead := false
		ran := false
		g := NewGraph()
		no, yes := g.Switch("", g.num(1), g.Const("", Bool(true)))
		in := make([]Output, n)
		for i := range in {
			if in[i] = yes; dead[i] {
				in[i], someDead = no, true
			}
		}
		g.Add("n", Op{Run: func(context.Context, *Call) error { ran = true; return nil }}, in...)
		p, err := Compile(g, CompileOptions{})
		require.NoError(t, err)
		x, err := New(p, Options{Workers: 1})
		require.NoError(t, err)
		defer x.Close()
		_, err = runInOrder(x, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "next") })
		require.NoError(t, err)
		require.Equal(t, !someDead, ran)
	})
}
