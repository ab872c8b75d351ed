package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A spec describes a graph without loops in a form that can be enumerated,
// built, and interpreted one node after the other.
type spec []specNode

type specNode struct {
	kind  kind // kindKernel, kindSwitch, kindMerge, kindTrigger
	in    []int
	ctl   []int // nodes
	taken int   // of a switch
}

// outputs returns (node, output) of every output of the first n nodes; node −1
// is the live constant that everything starts from.
func (s spec) outputs(n int) [][2]int {
	outs := [][2]int{{-1, 0}}
	for i, node := range s[:n] {
		switch node.kind {
		case kindKernel, kindMerge:
			outs = append(outs, [2]int{i, 0})
		case kindSwitch:
			outs = append(outs, [2]int{i, 0}, [2]int{i, 1})
		}
	}
	return outs
}

// interpret is the reference: for every node whether it is alive, and
// whether some Merge has two live inputs.
func (s spec) interpret() (alive []bool, twoValues bool) {
	alive = make([]bool, len(s))
	for i, node := range s {
		outs := s.outputs(i)
		live := func(k int) bool {
			at := outs[k]
			if at[0] < 0 {
				return true
			}
			src := s[at[0]]
			return alive[at[0]] && (src.kind != kindSwitch || src.taken == at[1])
		}
		n := 0
		for _, k := range node.in {
			if live(k) {
				n++
			}
		}
		controls := true
		for _, c := range node.ctl {
			controls = controls && alive[c]
		}
		switch node.kind {
		case kindMerge:
			alive[i] = n > 0
			twoValues = twoValues || n > 1
		case kindTrigger:
			alive[i] = true
		default:
			alive[i] = n == len(node.in) && controls
		}
	}
	return alive, twoValues
}

// build makes the graph, with a probe behind every node that says whether it
// was alive.
func (s spec) build(ran []bool) *Graph {
	g := NewGraph()
	start := g.Const("start", Int(1))
	taken := []Output{g.Const("0", Int(0)), g.Const("1", Int(1))}
	nodes := make([]*Node, len(s))
	for i, node := range s {
		outs := s.outputs(i)
		var in []Output
		for _, k := range node.in {
			if outs[k][0] < 0 {
				in = append(in, start)
			} else {
				in = append(in, nodes[outs[k][0]].Out(outs[k][1]))
			}
		}
		var after []*Node
		for _, c := range node.ctl {
			after = append(after, nodes[c])
		}
		name := fmt.Sprintf("node%d", i)
		switch node.kind {
		case kindKernel:
			nodes[i] = g.Add(name, Op{Outputs: 1, After: after, Run: func(_ context.Context, c *Call) error {
				c.Set(0, Int(int64(i)))
				return nil
			}}, in...)
		case kindSwitch:
			nodes[i] = g.addSwitch(name, in[0], taken[node.taken], 2)
			g.After(nodes[i], after...)
		case kindMerge:
			nodes[i] = g.Merge(name, in...)
			g.After(nodes[i], after...)
		case kindTrigger:
			nodes[i] = g.ControlTrigger(name, after...)
		}
		g.Add(fmt.Sprintf("probe%d", i), Op{After: []*Node{nodes[i]}, Run: func(context.Context, *Call) error {
			if ran[i] {
				return errors.New("ran twice")
			}
			ran[i] = true
			return nil
		}})
	}
	return g
}

// runInOrder runs x on one goroutine; choose picks which of the n ready nodes
// is next.
func runInOrder(x *Executor, choose func(n int) int, out ...Value) (*step, error) {
	st, err := x.take()
	if err != nil {
		return nil, err
	}
	if err := x.activate(st.begin(context.Background(), nil, nil)); err != nil {
		return nil, err
	}
	over := false
	defer func() {
		if !over { // choose has panicked, as rapid does to give a case up
			x.end(st, nil, true)
		}
	}()
	st.root.armRoot(0)
	st.inflight.Store(1)
	s := x.newSession(st)
	s.startRoot(st.root)
	for {
		for !s.ready.empty() {
			// A node that nobody waits for may as well run at once.
			ready := s.ready.nodes[s.ready.first:]
			k := slices.IndexFunc(ready, func(t tagged) bool { return s.items[t.node].numEd == 0 })
			if k < 0 {
				k = choose(len(ready))
			}
			ready[k], ready[0] = ready[0], ready[k]
			s.process(s.ready.pop())
		}
		if s.cur == nil {
			break
		}
		s.leave()
	}
	s.run()
	over = true
	return st, x.end(st, out, true)
}

// orders calls run with every sequence of choices.
func orders(run func(choose func(n int) int)) {
	var path, width []int
	for {
		depth := 0
		run(func(n int) int {
			if depth == len(path) {
				path, width = append(path, 0), append(width, n)
			}
			depth++
			return path[depth-1]
		})
		k := len(path) - 1
		for k >= 0 && path[k]+1 == width[k] {
			k--
		}
		if k < 0 {
			return
		}
		path[k]++
		path, width = path[:k+1], width[:k+1]
	}
}

func (s spec) check(t require.TestingT, choose func(n int) int) {
	want, twoValues := s.interpret()
	ran := make([]bool, len(s))
	p, err := Compile(s.build(ran), CompileOptions{})
	require.NoError(t, err)
	x, err := New(p, Options{Workers: 1})
	require.NoError(t, err)
	defer x.Close()
	run := func(choose func(n int) int) {
		clear(ran)
		st, err := runInOrder(x, choose)
		if twoValues {
			require.ErrorIs(t, err, ErrTwoValues, "%+v", s)
		} else {
			require.NoError(t, err, "%+v", s)
			require.Equal(t, want, ran, "%+v", s)
		}
		audit(t, st)
	}
	if choose != nil {
		run(choose)
		return
	}
	orders(run)
}

// audit checks that a finished step has left nothing behind.
func audit(t require.TestingT, st *step) {
	require.Zero(t, st.inflight.Load())
	for _, v := range st.root.in {
		require.True(t, v.IsEmpty())
	}
	for _, f := range st.root.children {
		require.Nil(t, f)
	}
	for _, stock := range st.frames {
		for _, f := range stock {
			require.Zero(t, f.alive)
			require.Empty(t, f.deferred)
			require.Empty(t, f.invariants)
			for _, it := range f.free {
				for _, v := range it.in {
					require.True(t, v.IsEmpty())
				}
				for _, c := range it.children {
					require.Nil(t, c)
				}
			}
		}
	}
}

// choices returns every node that may follow s.
func (s spec) choices() (nodes []specNode) {
	outs := len(s.outputs(len(s)))
	ctl := [][]int{nil}
	for i := range s {
		ctl = append(ctl, []int{i})
	}
	for _, c := range ctl {
		for a := range outs {
			nodes = append(nodes,
				specNode{kind: kindKernel, in: []int{a}, ctl: c},
				specNode{kind: kindSwitch, in: []int{a}, ctl: c, taken: 0},
				specNode{kind: kindSwitch, in: []int{a}, ctl: c, taken: 1})
			for b := range a {
				nodes = append(nodes,
					specNode{kind: kindKernel, in: []int{a, b}, ctl: c},
					specNode{kind: kindMerge, in: []int{a, b}, ctl: c})
			}
		}
		if c != nil {
			nodes = append(nodes, specNode{kind: kindTrigger, ctl: c})
		}
	}
	return nodes
}

// Every graph of up to three nodes (each with up to two inputs and one control
// edge), in every order in which its nodes can run.
func TestDeadnessExhaustive(t *testing.T) {
	graphs := 0
	var all func(s spec, n int)
	all = func(s spec, n int) {
		if n == 0 {
			graphs++
			if testing.Short() && graphs%10 > 0 {
				return
			}
			s.check(t, nil)
			return
		}
		for _, node := range s.choices() {
			all(append(s[:len(s):len(s)], node), n-1)
		}
	}
	for n := 1; n <= 3; n++ {
		all(nil, n)
	}
	t.Logf("%d graphs", graphs)
}

// Larger graphs, in random orders.
func TestDeadnessRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s spec
		for range rapid.IntRange(3, 20).Draw(t, "nodes") {
			outs := rapid.IntRange(0, len(s.outputs(len(s)))-1)
			node := specNode{kind: rapid.SampledFrom([]kind{kindKernel, kindSwitch, kindMerge, kindMerge, kindTrigger}).Draw(t, "kind")}
			switch node.kind {
			case kindKernel, kindMerge:
				node.in = rapid.SliceOfNDistinct(outs, 1, min(3, len(s.outputs(len(s)))), func(k int) int { return k }).Draw(t, "in")
			case kindSwitch:
				node.in, node.taken = []int{outs.Draw(t, "in")}, rapid.IntRange(0, 1).Draw(t, "taken")
			}
			if len(s) > 0 {
				node.ctl = rapid.SliceOfNDistinct(rapid.IntRange(0, len(s)-1), 0, min(2, len(s)), func(k int) int { return k }).Draw(t, "ctl")
			}
			s = append(s, node)
		}
		s.check(t, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "next") })
	})
}

// A Merge with control edges fires once, in whatever order they and its live
// input arrive; and one that is dead waits for them as well.
func TestMergeControls(t *testing.T) {
	for _, live := range []bool{true, false} {
		taken := 0
		if !live {
			taken = 1
		}
		s := spec{
			{kind: kindSwitch, in: []int{0}, taken: taken},       // outputs 1, 2
			{kind: kindKernel, in: []int{1}},                     // alive if live
			{kind: kindKernel, in: []int{2}, ctl: nil},           // the other one
			{kind: kindSwitch, in: []int{3}, taken: 1},           // its output 0 is dead
			{kind: kindMerge, in: []int{5, 5}, ctl: []int{1, 2}}, // dead; one of its controls is dead
			{kind: kindMerge, in: []int{3, 5}, ctl: []int{2, 4}}, // alive if live
		}
		s.check(t, nil)
	}
}

// A dead Enter into a loop: the whole loop is dead and so is what leaves it,
// also when the loop's Merge has a control edge that comes later.
func TestDeadLoop(t *testing.T) {
	for _, control := range []bool{false, true} {
		ran := 0
		g := NewGraph()
		no, _ := g.Switch("switch", g.num(1), g.Const("pred", Bool(true)))
		loop := &LoopSpec{Name: "loop"}
		merge := g.Merge("merge", g.Enter("enter", loop, no))
		n := g.EnterConstant("n", loop, g.num(10))
		if control {
			g.After(merge, n.Node())
		}
		cond := g.LoopCond("cond", g.less(merge.Out(0), n))
		done, on := g.Switch("exit?", merge.Out(0), cond)
		g.Connect(merge, g.NextIteration("next", g.plus(on, 1)))
		exit := g.Exit("exit", done)
		g.Add("after", Op{Run: func(context.Context, *Call) error { ran++; return nil }}, exit)
		g.Output("n", g.Merge("either", exit, g.num(7)).Out(0))
		p, err := Compile(g, CompileOptions{})
		require.NoError(t, err)
		x, err := New(p, Options{Workers: 1})
		require.NoError(t, err)
		rapid.Check(t, func(t *rapid.T) {
			st, err := runInOrder(x, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "next") })
			require.NoError(t, err)
			audit(t, st)
		})
		require.Zero(t, ran)
		out := make([]Value, 1)
		require.NoError(t, x.Run(t.Context(), Args{Out: out}))
		require.EqualValues(t, 7, out[0].Int())
		require.NoError(t, x.Close())
	}
}

// A hand-made loop with two variables and several parallel iterations gives the
// same in every order of its nodes: constant Enters that come late, deferred
// NextIterations, Exits that are dead in all iterations but the last.
func TestLoopAnyOrder(t *testing.T) {
	for _, parallel := range []int{1, 2, 3, 10} {
		g := NewGraph()
		loop := &LoopSpec{Name: "loop", Parallel: parallel}
		mi := g.Merge("i", g.Enter("i0", loop, g.num(0)))
		ms := g.Merge("s", g.Enter("s0", loop, g.num(0)))
		limit := g.EnterConstant("n", loop, g.num(6))
		late := g.EnterConstant("late", loop, g.plus(g.plus(g.num(1), 1), 1))
		cond := g.LoopCond("cond", g.less(mi.Out(0), limit))
		_, i := g.Switch("si", mi.Out(0), cond)
		done, s := g.Switch("ss", ms.Out(0), cond)
		g.Connect(mi, g.NextIteration("ni", g.plus(i, 1)))
		g.Connect(ms, g.NextIteration("ns", g.add2(s, g.mul(i, late))))
		g.Output("s", g.Exit("exit", done))
		p, err := Compile(g, CompileOptions{})
		require.NoError(t, err)
		x, err := New(p, Options{Workers: 1})
		require.NoError(t, err)
		rapid.Check(t, func(t *rapid.T) {
			got := make([]Value, 1)
			st, err := runInOrder(x, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "next") }, got...)
			require.NoError(t, err)
			require.EqualValues(t, 3*15, got[0].Int())
			audit(t, st)
			for _, stock := range st.frames {
				for _, f := range stock {
					require.LessOrEqual(t, len(f.free), parallel, "iterations alive at once")
				}
			}
		})
		require.NoError(t, x.Close())
	}
}
