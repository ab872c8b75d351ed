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
// last one. Two marks change that. Expensive nodes are measured, and go to
// other goroutines while they take longer than that costs. Async nodes start
// something and are finished by [Call.Done], from any goroutine. Nodes on a
// device issue their work on a stream ([Call.Issue]) that a plan of package
// streams gives them. The executor follows the plan's choice of streams, but not its
// order: nodes are issued as they become ready. So their waits are worked out when
// they are issued ([streams.Lanes]): a node waits for the work on other streams that
// wrote what it reads, unless its stream comes after that already. A node on the host
// that reads what a stream writes, a predicate, and a selector wait for exactly that,
// and nothing else waits with them.
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
// A batch of work on other goroutines is one async node with the order InOrder:
// its kernel hands the Call over and returns, and Done comes when the batch is
// there.
//
// # Errors
//
// The first failure is the one that is reported, as a [NodeError] with node,
// frame and iteration; what still runs is cancelled and waited for, and the
// next run knows nothing of it. When the caller's context ends, the error is
// its cause.
//
// Whoever may come too late to end a run (its context, Close) has a handle of that
// one run, which does nothing once it is over. When Run has returned, nobody can
// end it, and if it failed its rendezvous has been aborted.
//
// # Locks
//
// Kernels run without locks of the executor, and so does what [Executor.RunAsync],
// [Rendezvous.RecvAsync] and the streams are given. An [Allocator] is called with
// locks held and must not call the executor. A kernel must not close its own
// executor or loop, which would wait for it. The order in which the
// executor's own locks are taken stands in locks.go; the tag invariants checks it.
package executor
