package pipeline

import (
	"fmt"
	"slices"

	"github.com/planktonml/plankton/internal/compiled"
	"github.com/planktonml/plankton/pipeline/datum"
)

// Control flow inside the sample region: the operators of branches and loops
// stand in the same list as all others, and control nodes among them say where
// a worker goes on.

// block is a list of operators that run together: the definition itself, a
// branch, or a part of a loop.
type block struct {
	parent *block // nil for the definition
}

// holds reports whether values made in b can be used in c.
func (b *block) holds(c *block) bool {
	for ; c != nil; c = c.parent {
		if b == c {
			return true
		}
	}
	return false
}

// inside runs define, whose operators are a block of their own, and returns its
// results; false if they are none that can leave the block.
func (g *Graph) inside(name string, define func() []Value) ([]Value, bool) {
	outside := g.block
	g.block = &block{parent: outside}
	defer func() { g.block = outside }()
	vs := define()
	for i, v := range vs {
		switch {
		case g.err != nil:
		case v.g == nil:
			g.Fail(name, fmt.Errorf("result %d is missing", i))
		case v.g != g:
			g.Fail(name, fmt.Errorf("result %d belongs to another pipeline", i))
		case !g.values[v.id].block.holds(g.block):
			g.Fail(name, fmt.Errorf("result %d was made in another branch or loop", i))
		case v.ofBatches():
			g.Fail(name, fmt.Errorf("result %d is made for whole batches; branches and loops are for single samples and come before", i))
		}
	}
	return vs, g.err == nil
}

// control adds a control node and returns its number.
func (g *Graph) control(name string, kind compiled.Kind, in []Value, out []int) int {
	n := node{op: Op{Name: name, Inputs: in}, reader: -1, kind: kind, target: -1, block: g.block, out: out}
	for _, v := range in {
		n.in = append(n.in, v.id)
	}
	g.nodes = append(g.nodes, n)
	return len(g.nodes) - 1
}

// belong makes control nodes the parts of one If or While: all of them are
// needed if one is.
func (g *Graph) belong(nodes ...int) {
	g.structures++
	for _, n := range nodes {
		g.nodes[n].owner = g.structures
	}
}

// If computes values in one of two ways, chosen per sample: by then where pred
// is not zero, by otherwise where it is. Both functions are called once, now, to
// add their operators; each returns as many values, of the same types and
// layouts, and If returns what stands for the chosen ones. Extents in which the
// two differ are not known afterwards. The operators of a branch run only for
// the samples that take it. Values made in a branch cannot be used outside of it.
func (g *Graph) If(pred Value, then, otherwise func() []Value) []Value {
	const name = "if"
	if !g.checkSamples(name, pred) {
		return nil
	}
	if !oneNumber(pred.Spec().Shape) {
		g.Fail(name, fmt.Errorf("the predicate is %s; one number per sample is wanted", pred.Spec()))
		return nil
	}
	branch := g.control(name, compiled.Test, []Value{pred}, nil)
	yes, ok := g.inside(name, then)
	thenEnd := g.control(name, compiled.Move, yes, nil)
	g.nodes[branch].target = len(g.nodes)
	no, ok2 := g.inside(name, otherwise)
	otherwiseEnd := g.control(name, compiled.Move, no, nil)
	g.nodes[thenEnd].target = len(g.nodes)
	if !ok || !ok2 {
		return make([]Value, len(yes))
	}
	if len(yes) != len(no) {
		g.Fail(name, fmt.Errorf("one branch returns %d values and the other %d", len(yes), len(no)))
		return make([]Value, len(yes))
	}
	out := make([]Value, len(yes))
	for i := range yes {
		spec, err := either(yes[i].Spec(), no[i].Spec())
		if err != nil {
			g.Fail(name, fmt.Errorf("result %d: %w", i, err))
			return make([]Value, len(yes))
		}
		out[i] = g.newValue(spec, thenEnd)
		g.nodes[thenEnd].out = append(g.nodes[thenEnd].out, out[i].id)
		g.nodes[otherwiseEnd].out = append(g.nodes[otherwiseEnd].out, out[i].id)
	}
	g.belong(branch, thenEnd, otherwiseEnd)
	return out
}

// While repeats operators per sample: as long as cond is not zero for the
// variables, body computes their next values. It returns what stands for the
// last ones. Both functions are called once, now, to add their operators.
// Random operators inside draw anew in every iteration.
//
// A variable keeps the type, layout and known extents of its first value; where
// the extents change from iteration to iteration, start with Varying.
func (g *Graph) While(vars []Value, cond func(vars []Value) Value, body func(vars []Value) []Value) []Value {
	const name = "while"
	if !g.checkSamples(name, vars...) {
		return make([]Value, len(vars))
	}
	first := g.control(name, compiled.Move, vars, nil)
	cur := make([]Value, len(vars))
	for i, v := range vars {
		cur[i] = g.newValue(v.Spec(), first)
		g.nodes[first].out = append(g.nodes[first].out, cur[i].id)
	}
	begin := g.control(name, compiled.Enter, nil, nil)
	again := g.control(name, compiled.Iterate, nil, nil)
	pred, ok := g.inside(name, func() []Value { return []Value{cond(slices.Clone(cur))} })
	if !ok {
		return make([]Value, len(vars))
	}
	branch := g.control(name, compiled.Test, pred, nil)
	next, ok := g.inside(name, func() []Value { return slices.Clone(body(slices.Clone(cur))) })
	if !ok {
		return make([]Value, len(vars))
	}
	if len(next) != len(vars) {
		g.Fail(name, fmt.Errorf("the body returns %d values for %d variables", len(next), len(vars)))
		return make([]Value, len(vars))
	}
	for i := range next {
		if want, got := cur[i].Spec(), next[i].Spec(); !covers(want, got) {
			g.Fail(name, fmt.Errorf("variable %d begins as %s and becomes %s; begin with Varying if its extents change", i, want, got))
			return make([]Value, len(vars))
		}
	}
	parts := g.apart(name, cur, next)
	back := g.control(name, compiled.Move, next, g.nodes[first].out)
	end := g.control(name, compiled.Leave, nil, nil)
	g.nodes[back].target, g.nodes[branch].target = again, end
	g.belong(append(parts, first, begin, again, branch, back, end)...)
	return cur
}

// apart makes the next values of a loop's variables independent of each other: one
// that is another variable as it was is copied before that one changes, so that a
// body may exchange variables. It returns the nodes that copy.
func (g *Graph) apart(name string, cur, next []Value) (nodes []int) {
	for i, v := range next {
		if v == cur[i] || !slices.Contains(cur, v) {
			continue
		}
		n := g.control(name, compiled.Move, []Value{v}, nil)
		next[i] = g.newValue(v.Spec(), n)
		g.nodes[n].out = []int{next[i].id}
		nodes = append(nodes, n)
	}
	return nodes
}

// Varying returns v as a value whose extents may differ from sample to sample.
func (g *Graph) Varying(v Value) Value {
	const name = "varying"
	if !g.checkSamples(name, v) {
		return Value{}
	}
	spec := v.Spec()
	spec.Shape = make([]int, len(spec.Shape))
	for i := range spec.Shape {
		spec.Shape[i] = -1
	}
	n := g.control(name, compiled.Move, []Value{v}, nil)
	out := g.newValue(spec, n)
	g.nodes[n].out = []int{out.id}
	return out
}

// newValue returns a value that a node makes.
func (g *Graph) newValue(spec datum.Spec, node int) Value {
	g.values = append(g.values, value{spec: spec, node: node, block: g.block})
	return Value{g: g, id: len(g.values) - 1}
}

// checkInputs reports whether values can be used where the definition is now.
func (g *Graph) checkInputs(name string, vs ...Value) bool {
	for i, v := range vs {
		switch {
		case g.err != nil:
			return false
		case v.g == nil:
			g.Fail(name, fmt.Errorf("input %d is missing", i))
		case v.g != g:
			g.Fail(name, fmt.Errorf("input %d belongs to another pipeline", i))
		case !g.values[v.id].block.holds(g.block):
			g.Fail(name, fmt.Errorf("input %d was made in a branch or loop and cannot be used outside of it; return it from there", i))
		}
	}
	return g.err == nil
}

// checkSamples is checkInputs for what works on single samples.
func (g *Graph) checkSamples(name string, vs ...Value) bool {
	g.checkInputs(name, vs...)
	for i, v := range vs {
		if g.err == nil && v.ofBatches() {
			g.Fail(name, fmt.Errorf("input %d is made for whole batches; operators for single samples come before", i))
		}
	}
	return g.err == nil
}

// ofBatches reports whether a value is for whole batches.
func (v Value) ofBatches() bool { return v.whole || v.g.values[v.id].batch }

// either returns what is known of a value that is like a or like b.
func either(a, b datum.Spec) (datum.Spec, error) {
	if a.DType != b.DType || a.Layout != b.Layout || len(a.Shape) != len(b.Shape) {
		return a, fmt.Errorf("one branch makes %s and the other %s; types, layouts and numbers of dimensions must agree", a, b)
	}
	s := a
	s.Shape = make([]int, len(a.Shape))
	for i := range a.Shape {
		s.Shape[i] = a.Shape[i]
		if a.Shape[i] != b.Shape[i] {
			s.Shape[i] = -1
		}
	}
	if a.Classes != b.Classes {
		s.Classes = 0
	}
	return s, nil
}

// covers reports whether every sample of spec t is one of s.
func covers(s, t datum.Spec) bool {
	if s.DType != t.DType || s.Layout != t.Layout || len(s.Shape) != len(t.Shape) {
		return false
	}
	for i, d := range s.Shape {
		if d >= 0 && d != t.Shape[i] {
			return false
		}
	}
	return true
}

// oneNumber reports whether an array of a shape holds one element, as far as is known.
func oneNumber(shape []int) bool {
	for _, d := range shape {
		if d != 1 {
			return false
		}
	}
	return true
}
