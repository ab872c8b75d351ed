package pipeline

import (
	"errors"
	"fmt"
	"strings"

	"github.com/planktonml/plankton/internal/compiled"
	"github.com/planktonml/plankton/internal/entropyindex"
	"github.com/planktonml/plankton/internal/run"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/stats"
)

// Pipeline is a compiled pipeline. It has one owner at a time, a loader.
type Pipeline struct {
	opt         Options
	readers     []*Reader
	fingerprint []string
	mixes       bool // Mixes
	indexes     map[int]*entropyindex.Store
	compiled    *compiled.Pipeline
	engine      *run.Engine
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
	p := &Pipeline{opt: o, readers: g.readers, fingerprint: g.fingerprint(), mixes: g.mixes(), indexes: g.indexes}
	if err := p.checkFingerprint(); err != nil {
		return nil, err
	}
	var err error
	if p.compiled, err = g.compile(); err != nil {
		return nil, err
	}
	if p.engine, err = run.New(p.compiled); err != nil {
		return nil, err
	}
	return p, nil
}

// Options returns the options, defaults filled in.
func (p *Pipeline) Options() Options { return p.opt }

// Readers returns the readers in the order in which they were added.
func (p *Pipeline) Readers() []*Reader { return p.readers }

// Outputs returns the names of the outputs in the order in which they were
// added.
func (p *Pipeline) Outputs() []string {
	return p.compiled.OutputNames()
}

// Spec says what is known of the samples of an output. It panics if there is none of that
// name in Outputs.
func (p *Pipeline) Spec(name string) datum.Spec {
	return p.compiled.Outputs()[p.compiled.Output(name)].Spec
}

// Memory returns what the pipeline's buffers hold of the host's ordinary memory;
// MemoryOf tells of the other kinds.
func (p *Pipeline) Memory() memstats.Stats { return p.MemoryOf(memstats.Host) }

// String lists the operators as they run and the outputs, a line each.
func (p *Pipeline) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", p.opt)
	for i, n := range p.compiled.Nodes() {
		if i == p.compiled.Cut() {
			p.describeCut(&b)
		}
		b.WriteString(n.Name)
		for i, v := range n.Out {
			sep := ","
			if i == 0 {
				sep = " →"
			}
			fmt.Fprintf(&b, "%s %s", sep, p.compiled.Values()[v].Spec)
		}
		b.WriteByte('\n')
	}
	for _, op := range p.compiled.BatchOps() {
		fmt.Fprintf(&b, "%s, whole batches, %s\n", op.Name, op.Backend)
	}
	for _, o := range p.compiled.Shown() {
		fmt.Fprintf(&b, "output %q: %s\n", o.Name, o.Spec)
	}
	return b.String()
}

// MemoryOf returns what the pipeline's buffers of one kind hold: Host, which is what
// Memory returns, or with an Options.Device that has memory of its own, PageLocked and
// Device.
func (p *Pipeline) MemoryOf(kind memstats.Kind) memstats.Stats {
	if pool := p.engine.Pool(kind); pool != nil {
		return pool.Stats()
	}
	return memstats.Stats{}
}

// OnDevice reports whether an output is in the memory of Options.Device. It panics if there
// is none of that name in Outputs.
func (p *Pipeline) OnDevice(name string) bool {
	return p.compiled.Outputs()[p.compiled.Output(name)].OnDevice()
}

// SetBufferRules changes how the pipeline's buffers grow and shrink from now on;
// it may be called while the pipeline runs.
func (p *Pipeline) SetBufferRules(r memstats.Rules) error {
	return p.engine.Pool(memstats.Host).SetRules(r)
}

// BufferRules returns how the pipeline's buffers grow and shrink.
func (p *Pipeline) BufferRules() memstats.Rules { return p.engine.Pool(memstats.Host).Rules() }

// Stats returns what the latest run has done so far, whether an iterator or the
// program runs the pipeline; the zero stats.Run before the first. It may be called from
// any goroutine, also after Close.
func (p *Pipeline) Stats() stats.Run { return p.engine.Stats() }

// OperatorMemory returns the memory that every operator has needed in the
// latest run, in the order of execution; nil without Options.EnableMemoryStats. It
// may be called from any goroutine, while the pipeline runs and after it was
// closed.
func (p *Pipeline) OperatorMemory() stats.Memory { return p.engine.OperatorMemory() }

// Engine returns what runs the pipeline, for the iterators of this module.
func (p *Pipeline) Engine() *run.Engine { return p.engine }
