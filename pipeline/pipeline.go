package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline/datum"
)

// Pipeline is a compiled pipeline. It has one owner at a time, a loader.
type Pipeline struct {
	opt         Options
	readers     []*Reader
	batchOps    []batchNode
	nodes       []node // in the order of execution, fused, without what nobody needs
	values      []value
	outputs     []output
	shown       int // outputs that have a name; the others are inputs of batchOps
	grain       int
	pool        *memstats.Pool
	devicePools map[memstats.Kind]*memstats.Pool // page-locked and device memory of Options.Device, if it has any
	hints       []int                            // bytes that buffers are presized to, by value

	fingerprint []string

	latest atomic.Pointer[hostRegion] // of the latest run, nil before the first

	cpus [][]int // that each worker may run on; nil for any

	mu    sync.Mutex
	owned bool
}

// New runs define, which adds readers, operators and outputs to a graph, and
// compiles the result. Nothing is read yet. The error is a *BuildError that
// names the reader, operator or option at fault.
func New(o Options, define func(*Graph)) (*Pipeline, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, &BuildError{Op: "options", Err: err}
	}
	g := &Graph{opt: o, block: &block{}}
	define(g)
	switch {
	case g.err != nil:
	case len(g.readers) == 0:
		g.Fail("definition", errors.New("there is no reader"))
	case len(g.outputs) == 0:
		g.Fail("definition", errors.New("there is no output: call Graph.Output"))
	}
	if g.err != nil {
		return nil, g.err
	}
	p := &Pipeline{opt: o, readers: g.readers, values: g.values, outputs: g.outputs, fingerprint: g.fingerprint()}
	prune(g)
	fuse(g)
	p.grain = min(16, max(1, o.BatchSize/4/p.maxWorkers()))
	p.shown = len(p.outputs)
	p.takeBatchOps(g)
	p.nodes = alive(g)
	if slices.ContainsFunc(p.nodes, func(n node) bool { return n.op.Expensive }) {
		p.grain = 1
	}
	if slices.ContainsFunc(p.readers, func(r *Reader) bool { return r.Source == nil }) {
		p.grain = 1
	}
	for _, check := range []func() error{p.checkFingerprint, p.checkDepths, p.placeOutputs, p.checkRoom, p.checkBudgets} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(p.setMemory(), p.setAffinity()); err != nil {
		return nil, &BuildError{Op: "options", Err: err}
	}
	return p, nil
}

// alive returns the nodes that are left, with targets that fit.
func alive(g *Graph) []node {
	var nodes []node
	place := make([]int, len(g.nodes)+1) // of the first node that is left from here on
	for i, n := range g.nodes {
		place[i] = len(nodes)
		if !n.dead {
			nodes = append(nodes, n)
		}
	}
	place[len(g.nodes)] = len(nodes)
	for i := range nodes {
		if nodes[i].target >= 0 {
			nodes[i].target = place[nodes[i].target]
		}
	}
	return nodes
}

// prune marks operators that lead to no output. Readers stay, and all control
// nodes of an If or While that makes something needed.
func prune(g *Graph) {
	needed := make([]bool, len(g.values))
	for _, o := range g.outputs {
		needed[o.value] = true
	}
	owners := make([]bool, g.structures+1)
	for i := len(g.nodes) - 1; i >= 0; i-- {
		n := &g.nodes[i]
		makes := slices.ContainsFunc(n.out, func(v int) bool { return needed[v] })
		n.dead = n.reader < 0 && !makes && !(n.owner > 0 && owners[n.owner])
		if !n.dead {
			owners[n.owner] = true
			for _, v := range n.in {
				needed[v] = true
			}
		}
	}
	// The end of a loop comes before anything shows that the loop is needed.
	for i := range g.nodes {
		if n := &g.nodes[i]; n.owner > 0 && owners[n.owner] {
			n.dead = false
		}
	}
}

// fuse replaces chains of operators by fused ones, from the last to the first.
func fuse(g *Graph) {
	uses := make([]int, len(g.values))
	for _, o := range g.outputs {
		uses[o.value]++
	}
	for _, n := range g.nodes {
		if !n.dead {
			for _, v := range n.in {
				uses[v]++
			}
		}
	}
	for i := len(g.nodes) - 1; i >= 0; i-- {
		n := &g.nodes[i]
		for !n.dead && n.op.Fuse != nil && len(n.in) > 0 {
			p := &g.nodes[g.values[n.in[0]].node]
			if p.reader >= 0 || p.kind != noControl || p.block != n.block || len(p.out) != 1 || uses[p.out[0]] != 1 {
				break
			}
			fused := n.op.Fuse(&p.op)
			if fused == nil {
				break
			}
			n.op = *fused
			n.in = append(slices.Clone(p.in), n.in[1:]...)
			p.dead = true
		}
	}
}

// Options returns the options, defaults filled in.
func (p *Pipeline) Options() Options { return p.opt }

// Readers returns the readers in the order in which they were added.
func (p *Pipeline) Readers() []*Reader { return p.readers }

// Outputs returns the names of the outputs in the order in which they were
// added.
func (p *Pipeline) Outputs() []string {
	names := make([]string, p.shown)
	for i, o := range p.outputs[:p.shown] {
		names[i] = o.name
	}
	return names
}

// Spec says what is known of the samples of an output; false if there is none
// of that name.
func (p *Pipeline) Spec(name string) (datum.Spec, bool) {
	i := p.output(name)
	if i < 0 {
		return datum.Spec{}, false
	}
	return p.outputs[i].spec, true
}

func (p *Pipeline) output(name string) int {
	return slices.IndexFunc(p.outputs[:p.shown], func(o output) bool { return o.name == name })
}

// Memory returns what the pipeline's buffers hold of the host's ordinary memory;
// MemoryOf tells of the other kinds.
func (p *Pipeline) Memory() memstats.Stats { return p.pool.Stats() }

// String lists the operators as they run and the outputs, a line each.
func (p *Pipeline) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", p.opt)
	for _, n := range p.nodes {
		fmt.Fprintf(&b, "%s", n.op.Name)
		for i, v := range n.out {
			sep := ","
			if i == 0 {
				sep = " →"
			}
			fmt.Fprintf(&b, "%s %s", sep, p.values[v].spec)
		}
		b.WriteByte('\n')
	}
	for _, n := range p.batchOps {
		fmt.Fprintf(&b, "%s, whole batches, %s\n", n.op.Name, n.op.Backend)
	}
	for _, o := range p.outputs[:p.shown] {
		fmt.Fprintf(&b, "output %q: %s\n", o.name, o.spec)
	}
	return b.String()
}

// own makes the caller the owner.
func (p *Pipeline) own() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.owned {
		return fmt.Errorf("%w by another loader; make a pipeline for each", ErrBusy)
	}
	p.owned = true
	return nil
}

func (p *Pipeline) disown() {
	p.mu.Lock()
	p.owned = false
	p.mu.Unlock()
}
