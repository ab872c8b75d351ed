package executor

import "fmt"

// While adds a loop: as long as cond is true of the variables, body computes
// their next values. It returns the last values, which are vars themselves if
// cond is false at once. Iterations overlap as far as the data allows and
// loop.Parallel says; all else that an iteration needs (sizes, buffers) is
// worked out anew each time.
//
// cond and body are called once, here, to add the nodes of the loop. They may
// use any output from around the loop: it is brought in, unchanged for all
// iterations. They must return outputs; what else they add runs for its side
// effects. body may use what cond computes. Loops and branches nest freely.
func (g *Graph) While(loop LoopSpec, vars []Output, cond func(vars []Output) Output, body func(vars []Output) []Output) []Output {
	if loop.Name == "" {
		loop.Name = g.autoName("while")
	}
	if len(vars) == 0 {
		g.fail(g.scope.prefix+loop.Name, "a loop needs at least one variable")
		return nil
	}
	outside := g.scope
	enter := func(s *scope, o Output, constant bool) Output {
		var n *Node
		g.inside(outside, func() { n = g.enter("", &loop, o, constant) })
		n.scope, n.always = s, constant
		return n.Out(0)
	}

	s := g.push(loop.Name)
	defer g.pop()
	s.frame = true
	s.bring = func(o Output) Output { return enter(s, o, true) }

	merges, current := make([]*Node, len(vars)), make([]Output, len(vars))
	for i, v := range vars {
		merges[i] = g.Merge(fmt.Sprintf("var%d", i), enter(s, v, false))
		current[i] = merges[i].Out(0)
	}
	s.pivot = merges[0]
	pred := g.LoopCond("cond", cond(current))
	for _, n := range g.nodes[merges[0].id:] {
		n.always = n.always || n.scope == s
	}

	// What goes on depends on the predicate, so that the last iteration, which
	// only finds that the loop is over, computes nothing else.
	exits := make([]Output, len(vars))
	for i := range vars {
		done, goesOn := g.Switch(fmt.Sprintf("switch%d", i), current[i], pred)
		current[i] = goesOn
		exits[i] = g.raw(kindExit, outside, fmt.Sprintf("exit%d", i), 1, done).Out(0)
	}
	current[0] = g.Identity("pivot", current[0])
	s.pivot = current[0].node
	for i, o := range g.results(s.prefix, body(current), len(vars)) {
		g.Connect(merges[i], g.NextIteration(fmt.Sprintf("next%d", i), o))
	}
	return exits
}

// raw adds a node to scope s whose inputs may come from inside of it.
func (g *Graph) raw(k kind, s *scope, name string, outs int, in ...Output) *Node {
	var n *Node
	prefix := g.scope.prefix
	g.inside(&scope{prefix: prefix}, func() { n = g.add(k, name, outs, nil, nil) })
	n.scope, n.in = s, in
	return n
}
