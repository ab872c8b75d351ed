package executor

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
)

const (
	maxOutputs = 1<<16 - 1 // edge.src
	maxPending = 1<<15 - 1 // see counts.go; a Merge counts its control edges twice
)

// Program is a compiled graph. It does not change and is shared by all runs.
type Program struct {
	names  []string // by item
	items  []nodeItem
	edges  []edge
	attrs  []Attr  // of all outputs
	cmds   []int   // by item: Op.Command
	places [][]int // by item: Op.Devices; nil where nothing works on another device than 0
	consts []Value // of the constants

	frames  []frameInfo // 0 is the root frame
	roots   []int32     // nodes that wait for nothing but the start
	ordered []int32     // nodes of the root frame that wait for their own earlier iteration
	inputs  []string
	outputs []string

	transfers bool // it has Send or Recv nodes
	async     bool // it has nodes that are finished by somebody else
	expensive bool
	rows      *Rows // of the node that has them, or nil

	closers []io.Closer // kernels, in the order in which they were made
	taken   atomic.Bool // an Executor owns the program
}

// nodeItem is a node in the form that a run reads, within 64 bytes.
type nodeItem struct {
	run   KernelFunc
	id    int32
	in    int32 // first input slot in the arrays of its frame's iterations
	numIn int32
	edges int32 // first of its edges in Program.edges
	numEd int32
	count int32 // its word in the counts of its frame, −1 if it needs none
	attrs int32 // first of its outputs in Program.attrs
	later int32 // how many of its edges, the last ones, wait until its stream has got there
	arg   int32 // see compiler.describe
	outs  uint16
	kind  kind
	flags nodeFlags
	back  Backend
}

type nodeFlags uint16

const (
	nodeAsync nodeFlags = 1 << iota
	nodeExpensive
	nodeTransfer  // runs when dead, and may leave its outputs empty
	nodeConstant  // of an Enter: for every iteration
	nodePass      // of a switch: selector −1 means the last port
	nodeInOrder   // tells its next iteration when its kernel has returned
	nodeSerial    // tells its next iteration when it is finished
	nodeStream    // its kernel issues work on a stream
	nodeUnlimited // Options.Concurrency does not count it
	nodeSeveral   // it has streams on several devices
)

// edge is one output's way to one input, or a control edge.
type edge struct {
	dst   int32
	slot  int32 // input slot at dst, −1 for control
	count int32 // word of dst
	port  int32 // input number, for a Merge
	src   uint16
	flags edgeFlags
}

type edgeFlags uint8

const (
	edgeLast      edgeFlags = 1 << iota // the last of its output: the value moves
	edgeOnly                            // dst waits for nothing else
	edgeMerge                           // dst is a Merge
	edgeTrigger                         // dst is a ControlTrigger, which is never dead
	edgeExpensive                       // dst is expensive
)

// mayBeShared reports whether another goroutine may run the node: one that is
// expensive here and now, and not somewhere else.
func (it *nodeItem) mayBeShared() bool {
	return it.flags&(nodeExpensive|nodeAsync|nodeStream) == nodeExpensive
}

// early are the edges of a node with a stream that are sent when it is issued.
func (it *nodeItem) early(edges []edge) []edge { return edges[it.edges : it.edges+it.numEd-it.later] }

// late are its edges that are sent when the stream has finished it.
func (it *nodeItem) late(edges []edge) []edge {
	return edges[it.edges+it.numEd-it.later : it.edges+it.numEd]
}

// frameInfo is what all instances of a frame share.
type frameInfo struct {
	name     string
	parent   int32 // frame, −1 for the root
	ordinal  int32 // among the parent's children
	parallel int
	slots    int      // input slots of an iteration
	counts   []uint32 // image of an iteration's counts
	children int
	enters   []int32 // nodes that enter it; they run in the parent
	exits    []int32 // its Exit nodes, by their ordinal
	ordered  bool    // successive root iterations enter it one after the other
}

// NumNodes returns the number of nodes, those that builders added included.
func (p *Program) NumNodes() int { return len(p.items) }

// Inputs returns the names of the graph's inputs in the order of Run's in.
func (p *Program) Inputs() []string { return p.inputs }

// Outputs returns the names of the graph's outputs in the order of Run's out.
func (p *Program) Outputs() []string { return p.outputs }

// Attr returns the kind of memory that was inferred for an output of the named
// node. It panics if there is no such node or output.
func (p *Program) Attr(node string, output int) Attr {
	i := slices.Index(p.names, node)
	if i < 0 {
		panic(fmt.Sprintf("executor: there is no node %q; the program has %q", node, p.names))
	}
	if n := int(p.items[i].outs); output < 0 || output >= n {
		panic(fmt.Sprintf("executor: there is no output %d of node %q; it has %d, counted from 0", output, node, n))
	}
	return p.attrs[int(p.items[i].attrs)+output]
}

// Close closes the kernels of a program that has no Executor. An Executor closes its program
// itself.
func (p *Program) Close() error {
	if !p.taken.CompareAndSwap(false, true) {
		return ErrInUse
	}
	return p.closeKernels()
}

func (p *Program) closeKernels() error {
	var errs []error
	for i := len(p.closers) - 1; i >= 0; i-- {
		errs = append(errs, p.closers[i].Close())
	}
	p.closers = nil
	return errors.Join(errs...)
}
