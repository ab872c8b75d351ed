package executor

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// CompileOptions configures Compile. The zero value is ready to use.
type CompileOptions struct {
	// ForceDeviceCompatible makes all host outputs page-locked.
	ForceDeviceCompatible bool
}

// Compile checks the graph, makes its kernels and lays it out for running. The
// error is a *GraphError that names the node; kernels that were made
// before it are closed again. The graph is not used afterwards.
func Compile(g *Graph, o CompileOptions) (*Program, error) {
	if g.err != nil {
		return nil, g.err
	}
	l, err := layOut(g)
	if err != nil {
		return nil, err
	}
	c := &compiler{layout: l, g: g, p: &Program{}, pos: make([]int32, len(g.nodes))}
	if err := c.addItems(o); err != nil {
		return nil, err
	}
	c.addEdges()
	for _, n := range g.inputs {
		c.p.inputs = append(c.p.inputs, n.name)
	}
	for _, n := range g.outputs {
		c.p.outputs = append(c.p.outputs, strings.TrimPrefix(n.name, outputPrefix))
	}
	if err := c.makeKernels(); err != nil {
		c.p.closeKernels()
		return nil, err
	}
	return c.p, nil
}

// use is a data edge seen from its producer.
type use struct {
	node  *Node
	input int
}

type compiler struct {
	*layout
	g         *Graph
	p         *Program
	pos       []int32          // by Node.id: index of the item
	consumers map[Output][]use // in the order of the consumers' positions
	tokens    []int32          // by Node.id: the next slot for a control edge between streams
}

// addItems numbers the nodes in topological order and gives them their slots
// and counts.
func (c *compiler) addItems(o CompileOptions) error {
	p := c.p
	p.frames = c.frames
	p.items = make([]nodeItem, len(c.order))
	c.consumers = make(map[Output][]use)
	for i, n := range c.order {
		c.pos[n.id] = int32(i)
		for k, in := range n.in {
			c.consumers[in] = append(c.consumers[in], use{n, k})
		}
	}
	attrs := inferAttrs(len(c.pos), c.order, o.ForceDeviceCompatible)
	for i, n := range c.order {
		it := &p.items[i]
		fr := &p.frames[c.frameOf[n.id]]
		*it = nodeItem{
			id: int32(i), kind: n.kind, back: n.op.Backend, outs: uint16(n.outs), attrs: int32(len(p.attrs)),
			in: int32(fr.slots), numIn: int32(len(n.in)), count: -1,
		}
		p.names = append(p.names, n.name)
		p.cmds = append(p.cmds, n.op.Command)
		p.place(i, n)
		waits := c.addOrder(n, it, c.describe(n, it, fr))
		if waits > maxPending || len(n.in) > maxPending {
			return &GraphError{Node: n.name, Reason: fmt.Sprintf("waits for %d edges, expected at most %d: join them in several steps", waits, maxPending)}
		}
		if waits > 1 || n.kind == kindMerge {
			it.count = int32(len(fr.counts))
			fr.counts = append(fr.counts, uint32(waits))
		}
		fr.slots += int(it.numIn)
		if n.op.Rows != nil {
			if p.rows != nil || c.frameOf[n.id] != 0 {
				return &GraphError{Node: n.name, Reason: "has Rows, which one node of a graph may have, in the root frame"}
			}
			p.rows = n.op.Rows
		}
		p.async = p.async || it.flags&(nodeAsync|nodeStream) != 0
		p.expensive = p.expensive || it.mayBeShared()
		p.attrs = append(p.attrs, attrs[n.id]...)
		if fr.slots > math.MaxInt32 || len(p.attrs) > math.MaxInt32 {
			return &GraphError{Reason: "the graph has more than 2³¹ inputs or outputs"}
		}
	}
	return nil
}

// describe fills in what depends on the kind of a node, its arg above all: the
// number of a constant, input or output, the frame of an Enter, the ordinal of
// an Exit, how many dead inputs make a Merge dead, and for a node on a stream
// its slots for control edges. It returns what the node waits for, as counts.go
// has it.
func (c *compiler) describe(n *Node, it *nodeItem, fr *frameInfo) (waits int) {
	p := c.p
	waits = len(n.in) + len(n.after)
	switch n.kind {
	case kindKernel:
		if n.op.Async {
			it.flags |= nodeAsync
		}
		if n.op.Expensive {
			it.flags |= nodeExpensive
		}
		if n.op.Unlimited {
			it.flags |= nodeUnlimited
		}
		if !n.onStream() {
			break
		}
		it.flags |= nodeStream
		if len(n.op.Devices) > 1 {
			it.flags |= nodeSeveral
		}
		// What it waits for on other streams needs a slot, too: the value there
		// says when.
		for _, a := range n.after {
			if a.onStream() {
				it.arg++
			}
		}
		it.numIn += it.arg
	case kindMerge:
		waits = 1 + 2*len(n.after)
		it.numIn = 2 // the value and the number of its input
		it.arg = int32(len(n.in) - backEdges(n))
	case kindConst:
		it.arg = int32(len(p.consts))
		p.consts = append(p.consts, n.value)
	case kindInput:
		it.arg = int32(slices.Index(c.g.inputs, n))
	case kindOutput:
		it.arg = int32(slices.Index(c.g.outputs, n))
	case kindEnter:
		it.arg = c.entered[n.id]
		if n.constant {
			it.flags |= nodeConstant
		}
		p.frames[it.arg].enters = append(p.frames[it.arg].enters, it.id)
	case kindExit:
		it.arg = int32(len(fr.exits))
		fr.exits = append(fr.exits, it.id)
	case kindSwitch:
		if n.passThrough {
			it.flags |= nodePass
		}
	case kindSend, kindRecv:
		it.flags |= nodeTransfer
		if n.kind == kindRecv {
			it.flags |= nodeAsync
		}
		p.transfers = true
	}
	return waits
}

// addOrder makes a node of the root frame wait for its own earlier iteration,
// if it is to. It also finds the roots: such a one waits for the start as well.
func (c *compiler) addOrder(n *Node, it *nodeItem, waits int) int {
	p := c.p
	ordered := n.op.Order != Unordered && c.frameOf[n.id] == 0
	if waits == 0 {
		p.roots = append(p.roots, it.id)
		if ordered {
			waits++
		}
	}
	if ordered {
		it.flags |= map[Order]nodeFlags{InOrder: nodeInOrder, Serial: nodeSerial}[n.op.Order]
	} else if n.kind != kindEnter || !p.frames[it.arg].ordered {
		return waits
	}
	p.ordered = append(p.ordered, it.id)
	return waits + 1
}

func backEdges(merge *Node) (n int) {
	for _, o := range merge.in {
		if o.node.kind == kindNextIteration {
			n++
		}
	}
	return n
}

// addEdges lays the edges out in the order of their producers, and for each
// producer in the order of the consumers.
func (c *compiler) addEdges() {
	controls := make([][]*Node, len(c.g.nodes))
	c.tokens = make([]int32, len(c.g.nodes))
	for i, n := range c.order {
		c.tokens[n.id] = c.p.items[i].in + int32(len(n.in))
	}
	for _, n := range c.order {
		for _, a := range n.after {
			controls[a.id] = append(controls[a.id], n)
		}
	}
	for i, n := range c.order {
		it := &c.p.items[i]
		it.edges = int32(len(c.p.edges))
		for k := range n.outs {
			uses := c.consumers[Output{n, k}]
			for u, use := range uses {
				e := c.edgeTo(use.node)
				e.src, e.port = uint16(k), int32(use.input)
				e.slot = c.p.items[e.dst].in
				if use.node.kind != kindMerge {
					e.slot += int32(use.input)
				}
				if u == len(uses)-1 {
					e.flags |= edgeLast
				}
				c.p.edges = append(c.p.edges, e)
			}
		}
		for _, dst := range controls[n.id] {
			e := c.edgeTo(dst)
			if n.onStream() && dst.onStream() {
				e.src, e.slot = uint16(n.outs), c.tokens[dst.id]
				c.tokens[dst.id]++
				c.p.edges = append(c.p.edges, e)
			}
		}
		for _, dst := range controls[n.id] {
			if !(n.onStream() && dst.onStream()) {
				c.p.edges = append(c.p.edges, c.edgeTo(dst))
				it.later++
			}
		}
		it.numEd = int32(len(c.p.edges)) - it.edges
	}
}

func (c *compiler) edgeTo(n *Node) edge {
	dst := &c.p.items[c.pos[n.id]]
	e := edge{dst: dst.id, slot: -1, count: dst.count}
	if dst.count < 0 {
		e.flags |= edgeOnly
	}
	if dst.mayBeShared() {
		e.flags |= edgeExpensive
	}
	switch dst.kind {
	case kindMerge:
		e.flags |= edgeMerge
	case kindTrigger:
		e.flags |= edgeTrigger
	}
	return e
}

func (c *compiler) makeKernels() error {
	for i, n := range c.order {
		run := n.op.Run
		if n.op.New != nil {
			k, err := n.op.New()
			if err != nil {
				return &GraphError{Node: n.name, Reason: "its kernel cannot be made", Err: err}
			}
			if k == nil {
				return &GraphError{Node: n.name, Reason: "Op.New returned no kernel"}
			}
			if closer, ok := k.(io.Closer); ok {
				c.p.closers = append(c.p.closers, closer)
			}
			run = k.Run
		}
		c.p.items[i].run = run
	}
	return nil
}
