// Package streams runs work on in-order queues ("streams") and plans which
// node of a graph runs on which of them.
//
// A [Device] makes [Stream]s. What is issued on one stream runs strictly in
// the order of issue; streams run beside each other. A stream waits for work of
// another one through an [Event], which is returned by what issued the work; nil
// is refused. [NewHost] is a device whose streams are goroutines; package
// streamtest has one for tests, which finds accesses that nothing orders.
//
// # Plans
//
// The planner is separate from any device: [Assign] turns a [Graph] into a [Plan].
//
//	g := &streams.Graph{N: 4, Edges: streams.DataEdges(0, 1, 0, 2, 1, 3, 2, 3)}
//	plan, err := streams.Assign(g, streams.Optimal, streams.Options{})
//
// What is planned: the streams of every node, an order of issue, and the waits and
// events of that order. What is proven: [Verify] proves that a plan orders every edge
// of its graph if it is issued in that order.
//
// What is derived: the waits that really happen. [Lanes] carry plans out, whatever
// the order of issue. A node is issued behind the marks of what it is to come after;
// it waits for each of them, except for what its streams, or another of its waits,
// come after already. Issued in the order of the plan it waits for what the plan says.
//
// # Devices
//
// A stream belongs to one device, so a node that works on several devices has a stream on
// each of them: [Graph].Devices lists them. Its work starts when all of its streams have
// come to it, and each goes on when all of its work has completed, on whichever of them.
// [Lanes.Issue] takes work for each of the streams. Events wait across devices.
//
// A [Runner] issues the nodes of a plan in the plan's order, with given kernels. The
// executor of package executor issues nodes as they become ready.
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
// wait for that nor close the runner. [Lanes] issue work with their lock held, so it comes
// before those of a device; what they issue, and the callbacks of events, may issue through
// the same lanes.
package streams
