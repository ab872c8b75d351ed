package pipeline

import (
	"os"
	"slices"

	"github.com/planktonml/plankton/internal/compiled"
	"github.com/planktonml/plankton/memstats"
)

// compile makes an immutable pipeline of the definition.
func (g *Graph) compile() (*compiled.Pipeline, error) {
	lines := g.rowLines() // of the definition as it was written
	prune(g)
	cuttable := g.cuttable()
	fuse(g)
	if err := g.endCut(); err != nil {
		return nil, err
	}
	o, err := g.opt.compile()
	if err != nil {
		return nil, &BuildError{Op: "options", Err: err}
	}
	if len(g.indexes) > 0 {
		o.IndexBytes, o.Closed = g.opt.indexBytes(), g.saveIndexes
	}
	d := compiled.Definition{Options: o, Cuttable: cuttable, BytesPerSample: g.opt.BytesPerSample, BytesPerSampleHint: g.opt.BytesPerSampleHint}
	for _, r := range g.readers {
		d.Readers = append(d.Readers, r.compile(&g.opt))
	}
	for _, v := range g.values {
		d.Values = append(d.Values, compiled.Value{Spec: v.spec, Whole: v.batch})
	}
	for _, o := range g.outputs {
		d.Outputs = append(d.Outputs, compiled.Output{Name: o.name, Value: o.value})
	}
	g.takeBatchOps(&d)
	d.Cut = g.inFront()
	for _, n := range alive(g) {
		d.Nodes = append(d.Nodes, compiled.Node{
			Name: n.op.Name, Kind: n.kind, Reader: n.reader, In: n.in, Out: n.out, Target: n.target,
			Expensive: n.op.Expensive, New: n.op.New,
		})
	}
	d.RowLines = lines
	return compiled.New(d)
}

// compile returns what a run goes by.
func (o *Options) compile() (c compiled.Options, err error) {
	c = compiled.Options{
		BatchSize: o.BatchSize, Workers: o.Workers, MaxWorkers: o.Workers, PrefetchDepth: o.PrefetchDepth, MaxPrefetch: o.PrefetchDepth,
		HostDepth: o.HostPrefetchDepth, DeviceDepth: o.DevicePrefetchDepth, Seed: o.Seed,
		Device: o.Device, StreamPolicy: o.StreamPolicy, StreamBudget: o.StreamBudget, Concurrency: o.Concurrency,
		OnError: compiled.Policy(o.OnError), OnSampleError: o.OnSampleError, MaxBad: o.MaxBad, MaxBadShare: o.MaxBadShare,
		RetryFor: o.RetryFor, SampleTimeout: o.SampleTimeout,
		MemoryBudget: o.MemoryBudget, DeviceMemoryBudget: o.DeviceMemoryBudget, CountMemory: o.EnableMemoryStats,
		Allocator: o.Allocator, OutputMemory: o.OutputMemory, Rules: o.BufferRules, Events: o.Events, Remote: o.Remote,
	}
	if a := o.Autotune; a != nil {
		c.MaxWorkers, c.MaxPrefetch = a.MaxWorkers, a.MaxPrefetch
		c.Tuning = &compiled.Tuning{MaxMemory: a.MaxMemory, Interval: a.Interval}
	}
	if c.Rules == nil {
		rules, err := memstats.RulesFromEnv(os.LookupEnv)
		if err != nil {
			return c, err
		}
		c.Rules = &rules
	}
	c.CPUs, err = o.cpus(c.MaxWorkers)
	return c, err
}

// compile returns what a run needs of the reader.
func (r *Reader) compile(o *Options) compiled.Reader {
	c := compiled.Reader{Name: r.Name, Source: r.Source, Sequence: r.Sequence, Mixes: r.Sources != nil, Leader: -1, Index: r.WholeIndex}
	c.ShardID = r.ShardID
	if r.Source != nil {
		c.Plan = r.PlanConfig(o.BatchSize, o.Seed)
	}
	if r.leader != nil {
		c.Leader = r.leader.place
	}
	return c
}

// takeBatchOps moves the operators for whole batches from the graph to the definition.
// Values that only they use become outputs that nobody sees.
func (g *Graph) takeBatchOps(d *compiled.Definition) {
	place := func(v int) int {
		for i, o := range d.Outputs {
			if o.Value == v {
				return i
			}
		}
		d.Outputs = append(d.Outputs, compiled.Output{Value: v})
		return len(d.Outputs) - 1
	}
	for i := range g.nodes {
		n := &g.nodes[i]
		if n.batch == nil || n.dead {
			continue
		}
		n.dead = true // for the region
		op := compiled.BatchOp{Name: n.batch.Name, Backend: n.batch.Backend, Command: n.batch.Command, Moves: n.batch.Moves, New: n.batch.New}
		for _, v := range n.in {
			op.In = append(op.In, place(v))
		}
		for _, v := range n.out {
			op.Out = append(op.Out, place(v))
		}
		d.BatchOps = append(d.BatchOps, op)
	}
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

// fuse replaces chains of operators by fused ones, from the last to the first, none of them
// across the cut.
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
	cut := g.cutAt()
	for i := len(g.nodes) - 1; i >= 0; i-- {
		n := &g.nodes[i]
		for !n.dead && n.op.Fuse != nil && len(n.in) > 0 {
			at := g.values[n.in[0]].node
			p := &g.nodes[at]
			if at <= cut && cut < i || p.reader >= 0 || p.kind != compiled.Operator || p.batch != nil || p.block != n.block || len(p.out) != 1 || uses[p.out[0]] != 1 {
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
