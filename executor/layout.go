package executor

import "fmt"

// layout says in which order the nodes of a graph can run and which frame each
// of them runs in.
type layout struct {
	order   []*Node // topological, back edges of loops aside
	frames  []frameInfo
	frameOf []int32 // by Node.id: where the node runs
	entered []int32 // by Node.id: the frame that an Enter leads into
}

// layOut follows the graph from its roots. An Enter runs in the outer frame and
// its outputs are in the inner one; an Exit the other way round. All inputs of
// a node must be in one frame.
func layOut(g *Graph) (*layout, error) {
	l := &layout{
		frames:  []frameInfo{{parent: -1}},
		frameOf: make([]int32, len(g.nodes)), entered: make([]int32, len(g.nodes)),
	}
	missing := make([]int, len(g.nodes))
	followers := make([][]*Node, len(g.nodes))
	specs := make(map[*LoopSpec]int32)
	known := make([]bool, len(g.nodes)) // whether frameOf is known

	for _, n := range g.nodes {
		for _, o := range n.in {
			if o.node.kind == kindNextIteration && n.kind == kindMerge {
				continue
			}
			missing[n.id]++
			followers[o.node.id] = append(followers[o.node.id], n)
		}
		for _, a := range n.after {
			missing[n.id]++
			followers[a.id] = append(followers[a.id], n)
		}
		if missing[n.id] == 0 {
			if n.kind == kindMerge {
				return nil, &GraphError{Node: n.name, Reason: "a Merge needs an input that is no back edge"}
			}
			known[n.id] = true
			l.order = append(l.order, n)
		}
	}
	for i := 0; i < len(l.order); i++ {
		n := l.order[i]
		out, err := l.frameOfOutputs(n, specs)
		if err != nil {
			return nil, err
		}
		for _, f := range followers[n.id] {
			if known[f.id] && l.frameOf[f.id] != out {
				return nil, &GraphError{Node: f.name, Reason: fmt.Sprintf("has inputs from different frames, %q and %q",
					l.frames[l.frameOf[f.id]].name, l.frames[out].name)}
			}
			known[f.id], l.frameOf[f.id] = true, out
			if missing[f.id]--; missing[f.id] == 0 {
				l.order = append(l.order, f)
			}
		}
	}
	if len(l.order) < len(g.nodes) {
		for _, n := range g.nodes {
			if missing[n.id] > 0 {
				return nil, &GraphError{Node: n.name, Reason: "is part of a cycle, or behind one: only NextIteration may lead back, to a Merge"}
			}
		}
	}
	return l, l.check(g)
}

// frameOfOutputs returns the frame that the nodes behind n are in.
func (l *layout) frameOfOutputs(n *Node, specs map[*LoopSpec]int32) (int32, error) {
	f := l.frameOf[n.id]
	switch n.kind {
	case kindEnter:
		child, ok := specs[n.frame]
		if !ok {
			child = int32(len(l.frames))
			specs[n.frame] = child
			for i := range l.frames {
				if l.frames[i].parent == f && l.frames[i].name == n.frame.Name {
					return 0, &GraphError{Node: n.name, Reason: fmt.Sprintf("enters a second loop named %q in the same frame: give it a name of its own", n.frame.Name)}
				}
			}
			l.frames = append(l.frames, frameInfo{
				name: n.frame.Name, parent: f, ordinal: int32(l.frames[f].children), parallel: n.frame.parallel(),
			})
			l.frames[f].children++
		}
		if l.frames[child].parent != f {
			return 0, &GraphError{Node: n.name, Reason: fmt.Sprintf("loop %q is entered from different frames: give every loop a LoopSpec of its own", n.frame.Name)}
		}
		l.entered[n.id] = child
		return child, nil
	case kindExit:
		if f == 0 {
			return 0, &GraphError{Node: n.name, Reason: "an Exit stands outside of any loop"}
		}
		return l.frames[f].parent, nil
	case kindNextIteration:
		if f == 0 {
			return 0, &GraphError{Node: n.name, Reason: "a NextIteration stands outside of any loop"}
		}
	}
	return f, nil
}

// check refuses what would be wrong at run time, and marks the loops that
// successive root iterations enter one after the other.
func (l *layout) check(g *Graph) error {
	for _, n := range l.order {
		f := l.frameOf[n.id]
		if n.kind == kindOutput && f != 0 {
			return &GraphError{Node: n.name, Reason: fmt.Sprintf("an output of the graph is inside of loop %q: let it leave by an Exit", l.frames[f].name)}
		}
		if n.kind == kindMerge {
			for _, o := range n.in {
				if l.frameOf[o.node.id] != f && o.node.kind == kindNextIteration {
					return &GraphError{Node: n.name, Reason: "a back edge comes from another frame"}
				}
			}
		}
		if n.kind == kindNextIteration {
			continue
		}
		if n.op.Order == Unordered {
			continue
		}
		for ; f != 0; f = l.frames[f].parent {
			if l.frames[f].parallel != 1 {
				return &GraphError{Node: n.name, Reason: fmt.Sprintf("must not overlap itself, but loop %q allows %d parallel iterations: set LoopSpec.Parallel to 1",
					l.frames[f].name, l.frames[f].parallel)}
			}
			if l.frames[f].parent == 0 {
				l.frames[f].ordered = true
			}
		}
	}
	return nil
}
