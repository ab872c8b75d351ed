package streams

import "slices"

// planWaits returns the fewest waits that put every edge in order, given the
// streams and the order of issue, without ordering anything else: the transitive
// reduction of graph and stream order, less the steps along streams.
//
// Loop-carried edges are looked at in the unrolled graph of as many iterations
// as the longest of them spans. What is implied does not depend on the
// iteration, so the last one of that window shows the waits of all that have a
// predecessor.
func planWaits(p *problem, plan *Plan) []Wait {
	o := newOrder(p.N, p.window+1, plan)
	into := newInto(p)
	var waits []Wait
	for iteration := range p.window + 1 {
		waits = waits[:0]
		for _, v := range plan.Order {
			at := len(waits)
			waits = o.missing(waits, iteration, v, into[v])
			o.issue(iteration, v, waits[at:])
		}
	}
	return slices.Clip(waits)
}

// newInto lists the edges that lead into each node, of the iteration reduced.
func newInto(p *problem) [][]Edge {
	into := make([][]Edge, p.N)
	for v, list := range p.closure.prev {
		for _, u := range list {
			into[v] = append(into[v], Edge{From: u, To: v})
		}
	}
	for _, e := range p.carried {
		into[e.To] = append(into[e.To], e)
	}
	return into
}

// order is what is known to come before what while a plan is issued, iteration
// after iteration. Its numbers are iteration·N + node.
type order struct {
	plan    *Plan
	n       int
	before  matrix // per number: what has finished before it has
	tail    []int  // per stream: the last number issued on it, or -1
	come    bitset // scratch of arrival
	implied bitset // scratch of missing
}

func newOrder(n, iterations int, plan *Plan) *order {
	return &order{
		plan:    plan,
		n:       n,
		before:  newMatrix(n*iterations, n*iterations),
		tail:    slices.Repeat([]int{-1}, plan.NumStreams),
		come:    newBitset(n * iterations),
		implied: newBitset(n * iterations),
	}
}

// past adds x, and what comes before it, to set.
func (o *order) past(set bitset, x int) {
	set.add(x)
	set.union(o.before.row(x))
}

// arrival returns what has finished when node v has been reached on every one
// of its streams, before any wait. It is valid until the next call.
func (o *order) arrival(v int) bitset {
	clear(o.come)
	for i, s := range o.plan.Streams[v] {
		t := o.tail[s]
		switch {
		case t < 0:
			clear(o.come)
			return o.come
		case i == 0:
			o.past(o.come, t)
		default:
			also := slices.Clone(o.before.row(t))
			also.add(t)
			o.come.intersect(also)
		}
	}
	return o.come
}

// missing appends the waits that node v needs: the edges that neither its
// streams nor another wait put in order.
func (o *order) missing(waits []Wait, iteration, v int, into []Edge) []Wait {
	come := o.arrival(v)
	first := len(waits)
	for _, e := range into {
		if e.Distance <= iteration {
			w := Wait{Producer: e.From, Consumer: v, Distance: e.Distance}
			if !come.has(o.number(iteration, w)) {
				waits = append(waits, w)
			}
		}
	}
	clear(o.implied)
	for _, w := range waits[first:] {
		o.implied.union(o.before.row(o.number(iteration, w)))
	}
	needed := slices.DeleteFunc(waits[first:], func(w Wait) bool {
		return o.implied.has(o.number(iteration, w))
	})
	return waits[:first+len(needed)]
}

// number returns the producer of a wait of this iteration.
func (o *order) number(iteration int, w Wait) int {
	return (iteration-w.Distance)*o.n + w.Producer
}

// issue puts node v on its streams. When it has finished, everything that any
// of its streams came past has, too.
func (o *order) issue(iteration, v int, waits []Wait) {
	x := iteration*o.n + v
	row := o.before.row(x)
	for _, s := range o.plan.Streams[v] {
		if o.tail[s] >= 0 {
			o.past(row, o.tail[s])
		}
		o.tail[s] = x
	}
	for _, w := range waits {
		o.past(row, o.number(iteration, w))
	}
}
