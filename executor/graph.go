package executor

import (
	"fmt"
	"slices"
)

// Graph is where a program is put together: nodes are added in an order in
// which every input exists already, the back edges of loops excepted. A Graph
// is for one goroutine. Mistakes are remembered and come out of Compile.
type Graph struct {
	nodes   []*Node
	byName  map[string]*Node
	inputs  []*Node
	outputs []*Node
	scope   *scope
	auto    int // for names
	err     error
}

// NewGraph returns an empty graph.
func NewGraph() *Graph {
	return &Graph{byName: make(map[string]*Node), scope: new(scope)}
}

// Node is a node of a Graph.
type Node struct {
	graph *Graph
	id    int
	name  string
	kind  kind
	op    Op
	in    []Output
	after []*Node
	outs  int
	scope *scope

	value       Value     // of a constant
	frame       *LoopSpec // of an Enter
	constant    bool      // of an Enter
	passThrough bool      // of a switch: selector −1 means the last port
	peer        *Peer     // of a transfer node
	always      bool      // alive in the last iteration of the loop as well, which has no body
}

// Output is one output of a node. The zero Output is none.
type Output struct {
	node  *Node
	index int
}

// Name returns the node's name.
func (n *Node) Name() string { return n.name }

// Out returns output i.
func (n *Node) Out(i int) Output {
	if i < 0 || i >= n.outs {
		n.graph.fail(n.name, "has %d outputs, there is no output %d", n.outs, i)
		i = 0
	}
	return Output{n, i}
}

// Node returns the node that writes the output.
func (o Output) Node() *Node { return o.node }

// Order says how the calls of one node in successive iterations of a Loop
// relate. It has no effect in Run.
type Order uint8

const (
	// Unordered calls may run in any order and at the same time.
	Unordered Order = iota
	// InOrder calls start in iteration order: the next one when Run has
	// returned. Those of an async node may be unfinished together.
	InOrder
	// Serial calls never overlap: the next one starts when the earlier
	// iteration's is finished. A node with state is Serial.
	Serial
)

// Op describes what a node does. The zero value of each field is its default.
type Op struct {
	// Run is the kernel of a node without state; New makes one at compile
	// time. Exactly one of them is set.
	Run KernelFunc
	New func() (Kernel, error)

	Outputs int // number of outputs

	// Async says that the node is finished by Call.Done, not by the kernel's
	// return.
	Async bool

	// Expensive marks a kernel that may be worth another goroutine. How long it
	// takes is measured, and it runs inline while it turns out cheap. A kernel
	// without it always runs inline.
	Expensive bool

	Order Order

	// Unlimited says that Options.Concurrency does not count the node. It is for nodes
	// that wait for others or keep books. A node that does count must wait for nothing
	// that the same limit may hold back: an async one counts until Done.
	Unlimited bool

	// Backend says where the node works. The kernel of a mixed or device node
	// that is not async issues its work on a stream, by Call.Issue.
	Backend Backend

	// HostOutputs lists outputs of a mixed or device node that are in host
	// memory.
	HostOutputs []int

	// Devices lists the devices that a mixed or device node works on, as ascending places
	// in Options.Devices. The node has a stream on each of them (Call.IssueOn). Default: 0
	// alone.
	Devices []int

	// OutputDevices says of which of Devices the memory of each output is; entries of
	// HostOutputs are not used. A node on one device needs none, a node on several that
	// has outputs in their memory does.
	OutputDevices []int

	// Command is a number that nodes with the same command share: the planner
	// likes to see them on one stream, which keeps their workspace.
	Command int

	// Rows is the work of a node that is done row by row; see there.
	Rows *Rows

	// After lists nodes that must be finished before this one: control edges.
	After []*Node
}

// Add adds a node that runs a kernel. Within a builder of this package (While,
// Case, If) the name is prefixed by theirs.
func (g *Graph) Add(name string, op Op, in ...Output) *Node {
	n := g.add(kindKernel, name, op.Outputs, in, op.After)
	n.op = op
	switch {
	case (op.Run == nil) == (op.New == nil):
		g.fail(n.name, "set exactly one of Op.Run and Op.New")
	case op.Order > Serial || op.Backend >= numBackends:
		g.fail(n.name, "Op.Order is %d and Op.Backend %d, expected the constants", op.Order, op.Backend)
	case op.Outputs < 0 || op.Outputs > maxOutputs:
		g.fail(n.name, "has %d outputs, expected 0 to %d", op.Outputs, maxOutputs)
	}
	if op.Rows != nil {
		if err := op.Rows.check(&op); err != nil {
			g.fail(n.name, "%v", err)
		}
	}
	for _, i := range op.HostOutputs {
		if i < 0 || i >= op.Outputs {
			g.fail(n.name, "Op.HostOutputs names output %d of %d", i, op.Outputs)
		}
	}
	if err := n.checkDevices(); err != nil {
		g.fail(n.name, "%v", err)
	}
	return n
}

// Input adds an input of the graph: a value that Run or Loop is given. Inputs
// are numbered in the order of these calls.
func (g *Graph) Input(name string) Output {
	n := g.add(kindInput, name, 1, nil, nil)
	g.inputs = append(g.inputs, n)
	return n.Out(0)
}

// Output makes o an output of the graph. Outputs are numbered in the order of
// these calls. Their names are apart from those of the nodes. o is in the root
// frame and in no branch.
func (g *Graph) Output(name string, o Output) {
	g.outputs = append(g.outputs, g.add(kindOutput, outputPrefix+name, 0, []Output{o}, nil))
}

const outputPrefix = "output "

// Const adds a constant. A buffer that it holds belongs to the program and is
// never forwarded.
func (g *Graph) Const(name string, v Value) Output {
	n := g.add(kindConst, name, 1, nil, nil)
	n.value = v
	if v.IsEmpty() {
		g.fail(n.name, "a constant needs a value; Ref(nil) is one")
	}
	return n.Out(0)
}

// Identity adds a node that hands its input on.
func (g *Graph) Identity(name string, o Output) Output {
	return g.add(kindIdentity, name, 1, []Output{o}, nil).Out(0)
}

// NoOp adds a node that only waits for others.
func (g *Graph) NoOp(name string, after ...*Node) *Node {
	return g.add(kindNoOp, name, 0, nil, after)
}

// After adds control edges to n: it runs when all of before are finished.
func (g *Graph) After(n *Node, before ...*Node) {
	for _, b := range before {
		if b == nil || b.graph != g || n.graph != g {
			g.fail(n.name, "a control edge starts at a node of another graph")
			continue
		}
		n.after = append(n.after, g.captureControl(b, n.scope))
	}
}

func (g *Graph) add(k kind, name string, outs int, in []Output, after []*Node) *Node {
	n := &Node{graph: g, kind: k, outs: outs, scope: g.scope}
	if name == "" {
		name = g.autoName(k.String())
	}
	n.name = g.scope.prefix + name
	if g.byName[n.name] != nil {
		g.fail(n.name, "exists already: give every node a name of its own, or none")
	}
	g.byName[n.name] = n
	for _, o := range in {
		if g.owns(n.name, o) {
			o = g.captureValue(o, n.scope)
			if k == kindMerge && o.node.always {
				o = g.Identity("", o) // no control edge keeps a Merge from running
			}
			n.in = append(n.in, o)
		}
	}
	g.After(n, after...)
	if n.needsPivot() {
		n.after = append(n.after, n.scope.pivot)
	}
	n.id = len(g.nodes)
	g.nodes = append(g.nodes, n)
	return n
}

// owns checks that o, an input of the named node, belongs to the graph.
func (g *Graph) owns(name string, o Output) bool {
	if o.node == nil || o.node.graph != g {
		g.fail(name, "an input is not an output of this graph")
		return false
	}
	return true
}

func (g *Graph) autoName(what string) string {
	g.auto++
	return fmt.Sprintf("%s#%d", what, g.auto)
}

// fail remembers the first mistake.
func (g *Graph) fail(node, format string, args ...any) {
	if g.err == nil {
		g.err = &GraphError{Node: node, Reason: fmt.Sprintf(format, args...)}
	}
}

// onStream reports whether the node's kernel issues work on a stream.
func (n *Node) onStream() bool {
	return n.kind == kindKernel && n.op.Backend != Host && !n.op.Async
}

func (n *Node) onHost(output int) bool { return slices.Contains(n.op.HostOutputs, output) }
