package streams

import (
	"errors"
	"fmt"
	"slices"
)

// Policy is a rule that gives nodes their streams.
type Policy uint8

// The policies. All of them give a node that works on several devices one
// stream on each, and never put two devices on one stream.
const (
	// Single uses one stream per device for every node that needs one.
	Single Policy = iota
	// PerBackend follows DALI: stream 0 for mixed nodes and stream 1 for the
	// others, or stream 0 where there is no mixed node.
	PerBackend
	// PerOperator follows the rule that DALI's executor was published with: see
	// perOperator for what it does and does not achieve.
	PerOperator
	// Ranked follows the static schedule that libnnc documents: a stream goes
	// along the longest chain, and a stream that is certain to be idle is used
	// again.
	Ranked
	// Optimal uses as few streams as can keep independent nodes apart, which is
	// the width of the graph, then as few waits as such a plan can have, then
	// as many neighbours on a stream with the same command, then as few events.
	// Nothing is ordered that the graph does not order. Where nodes work on
	// several devices each device is planned on its own.
	Optimal
)

var policies = [...]string{Single: "single", PerBackend: "per-backend", PerOperator: "per-operator", Ranked: "ranked", Optimal: "optimal"}

func (p Policy) String() string {
	if int(p) < len(policies) {
		return policies[p]
	}
	return fmt.Sprintf("Policy(%d)", p)
}

// MarshalText returns the name of the policy, such as "per-operator".
func (p Policy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText accepts the names single, per-backend, per-operator, ranked and
// optimal.
func (p *Policy) UnmarshalText(text []byte) error {
	i := slices.Index(policies[:], string(text))
	if i < 0 {
		return fmt.Errorf("streams: unknown policy %q, expected single, per-backend, per-operator, ranked or optimal", text)
	}
	*p = Policy(i)
	return nil
}

// Options bounds a plan.
type Options struct {
	// Budget is the largest number of streams, on all devices together; 0 sets
	// no bound. Where the policy wants more, the graph is planned by
	// critical-path list scheduling within the budget instead.
	Budget int
}

// ErrBudget is the error of a budget that no plan can keep: negative, or smaller
// than the number of devices.
var ErrBudget = errors.New("streams: budget cannot be kept")

// Assign plans the graph under a policy. The error matches ErrGraph or
// ErrBudget, or tells of an unknown policy.
//
// Planning takes N²/8 bytes of memory for the partial order of the nodes, a few
// times that for Optimal, and (N·(D+1))²/8 where loop-carried edges span D
// iterations.
func Assign(g *Graph, policy Policy, o Options) (*Plan, error) {
	if int(policy) >= len(policies) {
		return nil, fmt.Errorf("streams: unknown policy %d", policy)
	}
	pr, err := newProblem(g)
	if err != nil {
		return nil, err
	}
	devices := pr.devices()
	if o.Budget < 0 || o.Budget > 0 && o.Budget < len(devices) {
		return nil, fmt.Errorf("%w: %d streams for %d devices, expected 0 for no bound or at least one per device", ErrBudget, o.Budget, len(devices))
	}
	a := newAssignment(pr)
	for _, d := range devices {
		a.place(d, pr.chains(policy, pr.members(d), o.Budget))
	}
	if o.Budget > 0 {
		a.closeGaps()
		if len(a.device) > o.Budget {
			a = listSchedule(pr, shareBudget(pr, a, o.Budget))
			a.closeGaps()
		}
	}
	return newPlan(pr, policy, a), nil
}

// chains applies a policy to the nodes of one device and returns the stream of
// each, counted from 0, or -1 for the other nodes.
func (p *problem) chains(policy Policy, member []bool, budget int) []int {
	switch policy {
	case PerBackend:
		return perBackend(p, member)
	case PerOperator:
		return perOperator(p, member)
	case Ranked:
		return ranked(p, member)
	case Optimal:
		return optimal(p, member, budget)
	default:
		return single(member)
	}
}

// members marks the nodes with a stream on device d.
func (p *problem) members(d int) []bool {
	member := make([]bool, p.N)
	for v, list := range p.on {
		member[v] = slices.Contains(list, d)
	}
	return member
}

// assignment is a plan in the making: the streams of the nodes and the order of
// issue, before the waits.
type assignment struct {
	streams [][]int // per node, by device
	device  []int   // per stream
	order   []int
}

func newAssignment(p *problem) *assignment {
	a := &assignment{streams: make([][]int, p.N), order: make([]int, p.N)}
	for v := range p.N {
		a.order[v] = v
	}
	return a
}

// place appends streams on device d for the nodes that have one there.
func (a *assignment) place(d int, stream []int) {
	base := len(a.device)
	for v, s := range stream {
		if s < 0 {
			continue
		}
		a.streams[v] = append(a.streams[v], base+s)
		for base+s >= len(a.device) {
			a.device = append(a.device, d)
		}
	}
}

// closeGaps renumbers the streams so that each carries a node.
func (a *assignment) closeGaps() {
	number := make([]int, len(a.device))
	for _, list := range a.streams {
		for _, s := range list {
			number[s] = 1
		}
	}
	var device []int
	for s, used := range number {
		if used != 0 {
			number[s] = len(device)
			device = append(device, a.device[s])
		}
	}
	for _, list := range a.streams {
		for i, s := range list {
			list[i] = number[s]
		}
	}
	a.device = device
}
