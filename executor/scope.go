package executor

import "fmt"

// scope is the body of a loop or of a branch while it is being built. A value
// from outside that is used inside is brought in once: by a constant Enter
// into a loop, by the Switch into a branch.
type scope struct {
	parent *scope
	prefix string
	bring  func(o Output) Output // brings in a value of the parent
	frame  bool                  // the body is a frame of its own: a loop
	values map[Output]Output     // what has been brought in
	tokens map[*Node]*Node       // the same of control edges

	// pivot is alive exactly when the body runs. A node that would not depend
	// on it otherwise gets a control edge from it.
	pivot *Node
}

func (g *Graph) push(prefix string) *scope {
	g.scope = &scope{
		parent: g.scope, prefix: g.scope.prefix + prefix + "/",
		values: make(map[Output]Output), tokens: make(map[*Node]*Node),
	}
	return g.scope
}

func (g *Graph) pop() { g.scope = g.scope.parent }

// inside runs f with s as the current scope.
func (g *Graph) inside(s *scope, f func()) {
	defer func(old *scope) { g.scope = old }(g.scope)
	g.scope = s
	f()
}

func (s *scope) within(outer *scope) bool {
	for ; s != nil; s = s.parent {
		if s == outer {
			return true
		}
	}
	return false
}

// captureValue returns what stands for o in scope s.
func (g *Graph) captureValue(o Output, s *scope) Output {
	if o.node.scope == s {
		return o
	}
	if !s.within(o.node.scope) {
		g.fail(o.node.name, "belongs to the body of a loop or a branch and is used outside of it: return it from the body")
		return o
	}
	if v, ok := s.values[o]; ok {
		return v
	}
	v := s.bring(g.captureValue(o, s.parent))
	s.values[o] = v
	return v
}

// captureControl returns the node that a control edge from n to a node of
// scope s starts at. A control edge cannot cross into a frame: there, a
// constant that waits for n is entered in its stead.
func (g *Graph) captureControl(n *Node, s *scope) *Node {
	if n.scope == s {
		return n
	}
	if !s.within(n.scope) {
		g.fail(n.name, "belongs to the body of a loop or a branch and is waited for outside of it")
		return n
	}
	outer := g.captureControl(n, s.parent)
	if !s.frame {
		return outer
	}
	if t, ok := s.tokens[n]; ok {
		return t
	}
	var token Output
	g.inside(s.parent, func() {
		c := g.add(kindConst, "", 1, nil, []*Node{outer})
		c.value = Bool(true)
		token = c.Out(0)
	})
	t := s.bring(token).node
	s.tokens[n] = t
	return t
}

// needsPivot reports whether nothing that n waits for depends on whether the
// body runs. What is brought into a branch does. What is brought into a loop does
// not, nor do the variables and what the condition computes: they are there in
// every iteration, also in the last, which only finds that the loop is over.
func (n *Node) needsPivot() bool {
	s := n.scope
	if s.pivot == nil {
		return false
	}
	inside := func(m *Node) bool { return m.scope == s && !m.always }
	for _, o := range n.in {
		if !s.frame || inside(o.node) {
			return false
		}
	}
	for _, a := range n.after {
		if inside(a) {
			return false
		}
	}
	return true
}

// results checks what a body returned and brings it into the current scope.
func (g *Graph) results(what string, outs []Output, want int) []Output {
	if len(outs) != want {
		g.fail(what, "the body returned %d values, expected %d", len(outs), want)
	}
	in := make([]Output, 0, want)
	for i, o := range outs {
		if o.node == nil || o.node.graph != g {
			g.fail(what, "value %d that the body returned is not an output of this graph", i)
			continue
		}
		o = g.captureValue(o, g.scope)
		if o.node.always {
			o = g.Identity(fmt.Sprintf("result%d", i), o)
		}
		in = append(in, o)
	}
	return in
}
