// Package executor runs graphs of Go functions and device kernels, with
// branches and loops, once or as an endless pipeline.
//
// # From graph to run
//
// A [Graph] is put together node by node; [Compile] checks it, makes the
// kernels and lays it out as a [Program], which never changes. An [Executor]
// runs the program, as often and from as many goroutines at once as you like:
//
//	g := executor.NewGraph()
//	x := g.Input("x")
//	double := g.Add("double", executor.Op{Outputs: 1, Run: func(ctx context.Context, c *executor.Call) error {
//		c.Set(0, executor.Int(2*c.In(0).Int()))
//		return nil
//	}}, x)
//	g.Output("y", double.Out(0))
//	p, err := executor.Compile(g, executor.CompileOptions{})
//	…
//	e, err := executor.New(p, executor.Options{})
//	…
//	defer e.Close()
//	err = e.Run(ctx, executor.Args{In: in, Out: out})
//
// What travels along an edge is a [Value]: a number, a truth value or a
// reference. Memory that is counted and comes from an [Allocator] is a
// [Buffer]; it is overwritten in place where nobody else can see it
// ([Call.Forward]).
//
// # Kernels
//
// A node runs when all its inputs are there, on the goroutine that brought the
// last one. Two marks change that. The time that an Expensive node takes is measured;
// while it is more than another goroutine costs, the node goes to another goroutine. An
// Async node starts something and returns, and [Call.Done] finishes it, from any goroutine.
//
// Nodes on a device issue their work on a stream ([Call.Issue]). A plan of package streams
// says on which. The executor does not follow the order of the plan: nodes are issued as
// they become ready. So their waits are worked out when they are issued
// ([streams.Lanes]): a node waits for the work on other streams that wrote what it reads,
// unless its stream comes after that work already. A node on the host that reads what a
// stream writes waits for exactly that work, and so do predicates and selectors; nothing
// else waits with them.
//
// # Several devices
//
// [Options].Devices lists devices, and [Op].Devices says by its places in that list on which of
// them a node works; a node that says nothing works on the first. A node on several devices, such
// as an all-reduce, has a stream on each of them and issues work on each ([Call.IssueOn]). That
// starts when all of the node's streams have come to it, and what comes after the node comes
// after all of it. Streams wait for each other across devices by events, on the devices, not on
// the host.
//
// Memory is of one device: [Attr.Device] says which, [Op].OutputDevices decides it where a node
// works on several, and [Pools] has a pool for each. A node may read memory of another device
// than its own as far as its work can: nothing is copied for it, so a copy is a node of its own.
// Page-locked memory is for all devices.
//
//	reduce := g.Add("reduce", executor.Op{
//		Backend: executor.Device, Devices: []int{0, 1}, Outputs: 2, OutputDevices: []int{0, 1}, …
//
// Where one device fails, the run or loop fails, as with any node; what is on its way on the
// others is waited for. A pipeline of package pipeline works on one device: an executor over
// several is made by the program.
//
// # Branches and loops
//
// [Graph.While], [Graph.Case] and [Graph.If] nest freely. They are made of the
// operators of TensorFlow's executor (Yu et al. 2018, "Dynamic control flow in
// large-scale machine learning"): Switch, Merge, Enter, Exit, NextIteration,
// and dead values for what was not chosen. Iterations of a loop overlap as far
// as the data allows.
//
// # Pipelines
//
// A [Loop] makes the whole program the body of a root loop: batch k is
// iteration k, the prefetch depth is the number of iterations that may be
// ahead, and the memory of a batch is free again when its iteration is deleted:
//
//	l, err := e.Loop(ctx, executor.LoopOptions{Slots: depth + 1, Limit: batches})
//	…
//	defer l.Close()
//	for {
//		r, err := l.Next(ctx)
//		if err == io.EOF {
//			break
//		}
//		…
//		use(r.Output(0))
//		r.Release() // starts the iteration that waits for the slot
//	}
//
// Work that other goroutines do for a batch is one async node with the order InOrder.
// Its kernel hands the Call over and returns, and somebody calls Done when the work is
// done. A node with Rows is such a node whose work is done row by row, by workers of the
// executor; a pipeline of package pipeline is a loop around one.
//
// # Errors
//
// The first failure is the one that is reported, as a [NodeError] with node,
// frame and iteration. What still runs is cancelled and waited for, and the next
// run knows nothing of it. When the caller's context ends, the error is its cause.
//
// A run is over when Run returns. A context that ends later, or a later Close, ends no other
// run in its place, and the rendezvous of a run that failed has been aborted by then.
//
// # Locks
//
// Kernels run without locks of the executor, and so does what [Executor.RunAsync],
// [Rendezvous.RecvAsync] and the streams are given. An [Allocator] is called with
// locks held and must not call the executor. A kernel must not close its own
// executor or loop, which would wait for it. The order in which the
// executor's own locks are taken stands in locks.go; the tag invariants checks it.
package executor
