package executor

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/planktonml/plankton/streams"
)

// Kernel does the work of a node. One kernel serves all iterations and all
// concurrent runs of its program, so Run must be safe for concurrent use
// unless the node's Order and the way the program is run rule that out.
//
// A kernel that implements io.Closer is closed by Executor.Close.
type Kernel interface {
	// Run reads the inputs from c and sets the outputs on it. For an async
	// node (Op.Async) Run only starts the work; the node is finished when
	// c.Done is called. An error from Run fails the node either way; after it,
	// Done must not be called.
	//
	// ctx ends when the run or loop is cancelled: by its caller, by Close, or because
	// another node failed.
	Run(ctx context.Context, c *Call) error
}

// KernelFunc is a function that serves as a Kernel.
type KernelFunc func(ctx context.Context, c *Call) error

// Run calls f.
func (f KernelFunc) Run(ctx context.Context, c *Call) error { return f(ctx, c) }

// Call is one run of one node: its inputs, its outputs and where it stands. It
// belongs to the kernel until Run returns or, for an async node, until Done;
// then it is used again for other nodes.
type Call struct {
	st   *step
	item *nodeItem
	iter *iteration
	in   []Value
	out  []Value
	dead bool // only transfer nodes run when dead

	// Of an async node:
	own     []Value       // room for out
	state   atomic.Uint32 // callStarting, callParked, callDone
	stops   atomic.Bool   // it has failed, and that has to stop the step
	limited bool          // it counts as running in its limiter
	armed   int64         // of a node with rows: its place among those armed, from 1; 0 while it is not

	streamCall // of a node with a stream
}

const (
	callStarting uint32 = iota // Run has not returned yet
	callParked                 // Run has returned, Done has not been called
	callDone
)

// NumIn returns the number of data inputs.
func (c *Call) NumIn() int { return len(c.in) }

// In returns data input i.
func (c *Call) In(i int) Value {
	if s, ok := c.in[i].ref.(*staged); ok {
		return s.v
	}
	return c.in[i]
}

// NumOut returns the number of outputs.
func (c *Call) NumOut() int { return len(c.out) }

// Set sets output i. If v holds a *Buffer, Set takes over one reference: that
// of Alloc or Forward, or one that the kernel took with Retain.
func (c *Call) Set(i int, v Value) { c.out[i] = v }

// Attr returns the kind of memory that output i needs.
func (c *Call) Attr(i int) Attr { return c.st.x.prog.attrs[int(c.item.attrs)+i] }

// Node returns the name of the node.
func (c *Call) Node() string { return c.st.x.prog.names[c.item.id] }

// Frame returns the path of the frame that the node runs in: "" for the root
// frame, else like "outer@3/inner". Together with Iteration and Root it tells
// any two calls of one node in one run or loop apart. It allocates except in the root
// frame.
func (c *Call) Frame() string { return c.iter.frame.path() }

// Iteration returns the iteration of Frame that the node runs in.
func (c *Call) Iteration() int64 { return c.iter.index }

// Root returns the iteration of the root frame: 0 in Run, the number of the
// batch in a Loop.
func (c *Call) Root() int64 { return c.iter.root.index }

// Slot returns the slot of the root iteration, from 0 to LoopOptions.Slots − 1.
// No other root iteration alive has the same one, so what is kept per slot
// belongs to this iteration until its last Result is released. It is 0 in Run.
func (c *Call) Slot() int { return c.iter.root.slot }

// Alloc allocates size bytes for output i and sets the output.
func (c *Call) Alloc(i, size int) (*Buffer, error) {
	b, err := NewBuffer(c.st.x.opts.Allocator, size, c.Attr(i))
	if err != nil {
		return nil, err
	}
	c.out[i] = Ref(b)
	return b, nil
}

// Forward sets output i to the buffer of input in, to be overwritten in place,
// if nobody else can see it: the input is its last use, it is solely owned,
// has size bytes, and is of the kind of memory that the output needs.
// Otherwise it is Alloc; forwarded says which. The contents of a forwarded
// buffer are still those of the input, which reads as empty afterwards.
func (c *Call) Forward(in, i, size int) (b *Buffer, forwarded bool, err error) {
	from := &c.in[in]
	if s, ok := from.ref.(*staged); ok && s.sole() {
		from = &s.v
	}
	if b, ok := from.ref.(*Buffer); ok && len(b.mem) == size && b.attr == c.Attr(i) && b.sole() {
		c.out[i], *from = *from, Value{}
		return b, true, nil
	}
	b, err = c.Alloc(i, size)
	return b, false, err
}

// Done finishes an async node, with an error if it failed. It may be called from any
// goroutine, also before Run returns, and exactly once: a second call panics, or, where the
// Call is used for another node by then, finishes that node too early. Nodes that become
// ready by it and are neither async nor expensive run before Done returns, so the caller
// must not hold locks that kernels take.
func (c *Call) Done(err error) {
	// The outcome is kept in the call: when Run is still on its way the
	// goroutine that runs it goes on from there.
	if err != nil && c.state.Load() != callDone {
		c.noteFailure(err)
	}
	if c.armed > 0 {
		c.st.x.rows.forget(c)
	}
	switch c.state.Swap(callDone) {
	case callParked:
		c.st.resume(c)
	case callDone:
		panic("executor: Call.Done was called twice for node " + c.Node())
	}
}

// Issue adds work to the stream of the node, in the order of these calls. Only the kernel of
// a mixed or device node that is not async may call it, before Run returns. Run works out
// sizes, allocates and sets the outputs, on the host and at once; the work, which runs later,
// writes what is in them. When the work runs, what it reads has been written; outputs and
// inputs stay until it has run. Without Options.Devices the work runs when Run has returned.
// Of a node on several devices, Issue means the first.
func (c *Call) Issue(work func(*streams.Context) error) { c.IssueOn(0, work) }

// IssueOn is Issue for Op.Devices[i]. On each device the work starts when the streams of all
// of them have come to the node; on different devices it runs side by side, in no order, and
// must not wait for each other before it returns. What comes after the node comes after the
// work on all of its devices.
func (c *Call) IssueOn(i int, work func(*streams.Context) error) {
	switch n := c.st.x.prog.devicesOf(c.item.id); {
	case c.item.flags&nodeStream == 0:
		panic("executor: Call.Issue is for mixed and device nodes that are not async, which node " + c.Node() + " is not")
	case i < 0 || i >= n:
		panic(fmt.Sprintf("executor: there is no device %d of node %s; it has %d, counted from 0", i, c.Node(), n))
	}
	c.issued = append(c.issued, issued{i, work})
}

// noteFailure fails the node from outside of a session. Whoever finishes the
// node stops the step, if need be.
func (c *Call) noteFailure(err error) {
	if c.st.fail(c.iter, c.item, err) {
		c.stops.Store(true)
	}
}
