// Package streams runs work on in-order queues ("streams") and plans which
// node of a graph runs on which of them.
//
// A [Device] makes [Stream]s. What is issued on one stream runs strictly in
// the order of issue; streams run beside each other. A stream waits for work of
// another one through an [Event], which a stream has made: there is no way to
// write down a wait for what was never issued, and nil is refused. [NewHost]
// is a device whose streams are goroutines; package streamtest has one for tests,
// which finds accesses that nothing orders.
//
// The planner is separate from any device: [Assign] turns a [Graph] into a
// [Plan] (the streams of every node, the order of issue, the waits and the
// nodes that record an event), and [Verify] proves that a plan orders every
// edge of its graph. A [Runner] carries a plan out with given kernels.
//
//	g := &streams.Graph{N: 4, Edges: streams.DataEdges(0, 1, 0, 2, 1, 3, 2, 3)}
//	plan, err := streams.Assign(g, streams.Optimal, streams.Options{})
//
// Plans are deterministic: the same graph, policy and options give the same
// plan, in every process.
//
// # Locks
//
// A device calls nothing of its user's with a lock held: neither work, nor what
// [Event.Then] or [Schedule] was given. All of these may issue work, record and
// release, on any device; what is given to Then must not block. The locks of a
// device are taken in the order device, stream, event, and then what events are
// made of; those of the host device never inside of each other. A [Runner] is in
// use for the whole of a run: a kernel may issue its next run, and must neither
// wait for that nor close the runner.
package streams
