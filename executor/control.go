package executor

// kind is what the executor does with a node.
type kind uint8

const (
	kindKernel kind = iota
	kindConst
	kindInput
	kindOutput
	kindIdentity
	kindNoOp
	kindSwitch
	kindMerge
	kindEnter
	kindExit
	kindNextIteration
	kindLoopCond
	kindTrigger
	kindSend
	kindRecv
)

func (k kind) String() string {
	return [...]string{"kernel", "const", "input", "output", "identity", "noop", "switch", "merge", "enter", "exit",
		"next", "loopcond", "trigger", "send", "recv"}[k]
}

// The operators of this file are TensorFlow's (Yu et al. 2018, "Dynamic control
// flow in large-scale machine learning"). A node is dead when one of its inputs
// is; a dead node runs no kernel, and its outputs are dead. Merge ends
// deadness: it is alive as soon as one of its inputs is. While, Case and If put
// them together; use them unless you need another shape.

// Switch sends data to its second output if pred is true and to the first if
// it is false. The other output is dead.
func (g *Graph) Switch(name string, data, pred Output) (ifFalse, ifTrue Output) {
	ports := g.SwitchN(name, data, pred, 2)
	return ports[0], ports[1]
}

// SwitchN sends data to the output that selector names: an integer from 0 to
// n−1, or for n = 2 a truth value. The others are dead.
func (g *Graph) SwitchN(name string, data, selector Output, n int) []Output {
	return ports(g.addSwitch(name, data, selector, n))
}

func (g *Graph) addSwitch(name string, data, selector Output, n int) *Node {
	if n < 1 || n > maxOutputs {
		g.fail(g.scope.prefix+name, "a switch has 1 to %d outputs, not %d", maxOutputs, n)
		n = 1
	}
	return g.add(kindSwitch, name, n, []Output{data, selector}, nil)
}

func ports(n *Node) []Output {
	outs := make([]Output, n.outs)
	for i := range outs {
		outs[i] = n.Out(i)
	}
	return outs
}

// Merge adds a node that hands on the one live value among its inputs: output 0
// is the value and output 1 the number of the input, an Int. It is dead if all
// inputs are. Two live inputs are an error (ErrTwoValues). Control edges into
// it only order it; a dead one does not kill it.
func (g *Graph) Merge(name string, in ...Output) *Node {
	return g.add(kindMerge, name, 2, in, nil)
}

// Connect adds an input to a Merge that exists already: the back edge of a
// loop, from a NextIteration.
func (g *Graph) Connect(merge *Node, next Output) {
	switch {
	case merge.kind != kindMerge:
		g.fail(merge.name, "only a Merge takes back edges")
	case next.node == nil || next.node.graph != g || next.node.kind != kindNextIteration:
		g.fail(merge.name, "a back edge comes from a NextIteration")
	default:
		merge.in = append(merge.in, next)
	}
}

// LoopSpec names a loop made of Enter, Exit and NextIteration nodes, and says
// how many of its iterations may run at once. All Enter nodes of a loop
// share one.
type LoopSpec struct {
	Name     string
	Parallel int // iterations at once; default 10, as in TensorFlow
}

func (l *LoopSpec) parallel() int {
	if l.Parallel == 0 {
		return 10
	}
	return l.Parallel
}

// Enter hands o into iteration 0 of the loop.
func (g *Graph) Enter(name string, loop *LoopSpec, o Output) Output {
	return g.enter(name, loop, o, false).Out(0)
}

// EnterConstant hands o into every iteration of the loop.
func (g *Graph) EnterConstant(name string, loop *LoopSpec, o Output) Output {
	return g.enter(name, loop, o, true).Out(0)
}

func (g *Graph) enter(name string, loop *LoopSpec, o Output, constant bool) *Node {
	n := g.add(kindEnter, name, 1, []Output{o}, nil)
	n.frame, n.constant = loop, constant
	switch {
	case loop == nil:
		n.frame = &LoopSpec{}
		g.fail(n.name, "an Enter needs a LoopSpec")
	case loop.Parallel < 0:
		g.fail(n.name, "loop %q allows %d parallel iterations, expected 1 or more (0 means 10)", loop.Name, loop.Parallel)
	}
	return n
}

// Exit hands a live value out of the loop, to where the loop was entered. Its output is dead
// if o was live in no iteration.
func (g *Graph) Exit(name string, o Output) Output {
	return g.add(kindExit, name, 1, []Output{o}, nil).Out(0)
}

// NextIteration hands a live value to the next iteration, and drops a dead one.
func (g *Graph) NextIteration(name string, o Output) Output {
	return g.add(kindNextIteration, name, 1, []Output{o}, nil).Out(0)
}

// LoopCond hands on the predicate of a loop, a Bool. It is where a loop without
// kernels notices that its run was cancelled.
func (g *Graph) LoopCond(name string, pred Output) Output {
	return g.add(kindLoopCond, name, 1, []Output{pred}, nil).Out(0)
}

// ControlTrigger adds a node that is alive however dead the nodes are that it
// waits for.
func (g *Graph) ControlTrigger(name string, after ...*Node) *Node {
	return g.add(kindTrigger, name, 0, nil, after)
}
