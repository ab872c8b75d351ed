package executor

import "fmt"

// Case runs one of several branches, or none: selector is an integer, and the
// branch of that number computes new values for args. Selector −1 hands args on
// as they are. Any other number is an error of the node (ErrSelector).
//
// Every branch is called once, here, with what stands for args inside of it,
// and returns as many outputs. It may use other outputs from around it as well.
// The nodes that a branch adds run only when it is selected.
func (g *Graph) Case(name string, selector Output, args []Output, branches ...func(args []Output) []Output) []Output {
	if name == "" {
		name = g.autoName("case")
	}
	n := len(branches)
	b := g.branches(name, selector, n+1, len(args))
	b.passThrough = true
	for i, build := range branches {
		b.add(i, func() []Output {
			inside := make([]Output, len(args))
			for j, a := range args {
				inside[j] = g.captureValue(a, g.scope)
			}
			return build(inside)
		})
	}
	b.add(n, func() []Output { return args })
	return b.merge()
}

// If runs one of two branches, chosen by the truth value pred, and returns what
// it returned. Both return the same number of outputs, and may use any output
// from around them.
func (g *Graph) If(name string, pred Output, then, otherwise func() []Output) []Output {
	if name == "" {
		name = g.autoName("if")
	}
	b := g.branches(name, pred, 2, -1)
	b.add(0, otherwise)
	b.add(1, then)
	return b.merge()
}

// branches is a choice among bodies while it is being built.
type branches struct {
	g           *Graph
	name        string
	selector    Output
	ports       int
	results     int              // per branch; −1 until the first one says
	passThrough bool             // selector −1 means the last port
	switches    map[Output]*Node // of the values that any branch uses
	outs        [][]Output       // by branch
}

func (g *Graph) branches(name string, selector Output, ports, results int) *branches {
	return &branches{g: g, name: name, selector: selector, ports: ports, results: results, switches: make(map[Output]*Node)}
}

// switched returns the Switch that distributes o over the branches.
func (b *branches) switched(o Output) *Node {
	if n := b.switches[o]; n != nil {
		return n
	}
	n := b.g.addSwitch("", o, b.selector, b.ports)
	n.passThrough = b.passThrough
	b.switches[o] = n
	return n
}

func (b *branches) add(port int, build func() []Output) {
	g := b.g
	outside := g.scope
	if !g.owns(b.name, b.selector) {
		return
	}
	s := g.push(fmt.Sprintf("%s/%d", b.name, port))
	defer g.pop()
	s.bring = func(o Output) (v Output) {
		g.inside(outside, func() { v = b.switched(o).Out(port) })
		return v
	}
	// The pivot is not the Switch, which is alive whichever port it chooses.
	s.pivot = g.raw(kindIdentity, s, "pivot", 1, s.bring(b.selector)).Out(0).node
	outs := build()
	if b.results < 0 {
		b.results = len(outs)
	}
	b.outs = append(b.outs, g.results(s.prefix, outs, b.results))
}

func (b *branches) merge() []Output {
	g := b.g
	merged := make([]Output, max(b.results, 0))
	for i := range merged {
		var in []Output
		for _, outs := range b.outs {
			if i < len(outs) {
				in = append(in, outs[i])
			}
		}
		merged[i] = g.raw(kindMerge, g.scope, fmt.Sprintf("%s/result%d", b.name, i), 2, in...).Out(0)
	}
	return merged
}
