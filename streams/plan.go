package streams

import (
	"fmt"
	"slices"
)

// Plan says where the nodes of a graph run and what waits for what. It belongs
// to the caller; the planner keeps nothing of it.
//
// A node on several streams starts when all of them have come to it, and when
// any of them is past it the node has finished on all. Each iteration issues the
// nodes in Order; the next one follows on the same streams.
//
// Waits, Signals and Makespan are those of that order of issue. In another one some
// of the waits are missing and others in vain: Lanes work them out then.
type Plan struct {
	Policy     Policy
	NumStreams int     // every stream number is below it
	Streams    [][]int // per node: its streams, by ascending device; empty for a node on the host
	Device     []int   // per stream: the device it belongs to
	Order      []int   // the order of issue
	Waits      []Wait  // in the order of issue of the consumers
	Signals    []int   // the producers that somebody waits for, ascending: each records one event
	// Makespan is the time of one iteration when every node takes its cost, a
	// stream runs one node at a time and the host any number.
	Makespan float64
}

// Wait says that every stream of Consumer, or the host if it has none, waits
// for Producer to have finished. The event is that of the same iteration, or of
// the iteration Distance before.
type Wait struct {
	Producer, Consumer int
	Distance           int
}

// Used returns how many streams carry a node. It is below NumStreams where a
// policy leaves out numbers (PerOperator).
func (p *Plan) Used() int {
	used := make([]bool, p.NumStreams)
	n := 0
	for _, list := range p.Streams {
		for _, s := range list {
			if !used[s] {
				used[s] = true
				n++
			}
		}
	}
	return n
}

// String returns the policy and the sizes of the plan.
func (p *Plan) String() string {
	return fmt.Sprintf("%v: %s, %s, %s, makespan %g", p.Policy,
		counted(p.Used(), "stream"), counted(len(p.Waits), "wait"), counted(len(p.Signals), "event"), p.Makespan)
}

// counted returns a number of things, as in "1 wait" or "2 waits".
func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// timeline returns when each node starts and finishes if the plan is followed,
// nodes take their cost and waiting is free.
func (p *Plan) timeline(cost func(v int) float64) (start, finish []float64) {
	start, finish = make([]float64, len(p.Streams)), make([]float64, len(p.Streams))
	free := make([]float64, p.NumStreams)
	waits := p.Waits
	for _, v := range p.Order {
		for _, s := range p.Streams[v] {
			start[v] = max(start[v], free[s])
		}
		for ; len(waits) > 0 && waits[0].Consumer == v; waits = waits[1:] {
			if waits[0].Distance == 0 {
				start[v] = max(start[v], finish[waits[0].Producer])
			}
		}
		finish[v] = start[v] + cost(v)
		for _, s := range p.Streams[v] {
			free[s] = finish[v]
		}
	}
	return start, finish
}

// newPlan completes an assignment to a plan.
func newPlan(pr *problem, policy Policy, a *assignment) *Plan {
	p := &Plan{
		Policy:     policy,
		NumStreams: len(a.device),
		Streams:    a.streams,
		Device:     a.device,
		Order:      a.order,
	}
	p.Waits = planWaits(pr, p)
	for _, w := range p.Waits {
		p.Signals = append(p.Signals, w.Producer)
	}
	slices.Sort(p.Signals)
	p.Signals = slices.Compact(p.Signals)
	_, finish := p.timeline(func(v int) float64 { return pr.cost[v] })
	for _, t := range finish {
		p.Makespan = max(p.Makespan, t)
	}
	return p
}
