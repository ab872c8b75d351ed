// Package compiled has what pipeline.New makes of a definition: a Pipeline, which never
// changes. All that runs reads it, and nothing else of a definition.
//
// What its methods return is shared and must not be written either. The tests of package
// run compare its contents before and after they run it.
package compiled

import (
	"errors"
	"fmt"
	"slices"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/fault"
	"github.com/planktonml/plankton/pipeline/stats"
	"github.com/planktonml/plankton/shard"
)

// Pipeline is a compiled pipeline.
type Pipeline struct {
	options Options
	readers []Reader
	nodes   []Node
	values  []Value
	outputs []Output
	shown   int
	ops     []BatchOp
	grain   int
	hints   []int

	cut      int
	crossing []int
	cuttable stats.Cut
	rowLines func() []string
}

// Definition is what a Pipeline is made of.
type Definition struct {
	Options  Options
	Readers  []Reader
	Nodes    []Node
	Cut      int             // of Nodes, those in front of it: see Pipeline.Cut
	Cuttable stats.Cut       // see Pipeline.Cuttable
	RowLines func() []string // see Pipeline.RowLines
	Values   []Value
	Outputs  []Output // first those with a name; then values that only operators for whole batches use
	BatchOps []BatchOp

	// BytesPerSample and its hints by the names of operators, as in pipeline.Options.
	BytesPerSample     int
	BytesPerSampleHint map[string][]int
}

// Reader is one of the pipeline's readers.
type Reader struct {
	Name     string
	Source   datum.Source         // nil for a sequence
	Sequence datum.Sequence       // nil for a source
	Mixes    bool                 // the source is a mix
	ShardID  int                  // the shard that the reader starts with
	Plan     shard.Config         // of the epochs of a source
	Leader   int                  // the reader that it follows, or -1
	Index    func(id int64) int64 // in the whole data set, of a sample of the source
}

// Describe says where a sample comes from.
func (r *Reader) Describe(id int64) string {
	if r.Source == nil {
		return r.Sequence.Describe(id)
	}
	return r.Source.Describe(id)
}

// LookAhead returns the bytes that the reader sets aside to fetch what a run is going to read,
// 0 where it fetches nothing.
func (r *Reader) LookAhead() int64 {
	if src, ok := r.Source.(datum.PlanReader); ok {
		return src.LookAhead()
	}
	return 0
}

// Node is a reader, an operator for single samples or a step of control. A worker goes
// through the nodes in their order.
type Node struct {
	Name      string
	Kind      Kind
	Reader    int   // of Operator; -1 for an operator
	In, Out   []int // values
	Target    int   // where control goes to, -1 for the next node
	Expensive bool
	New       func() (datum.Kernel, error) // of an operator
}

// Kind is what a node does.
type Kind uint8

const (
	Operator Kind = iota // it is an operator or a reader
	Test                 // goes to Target if its input is zero
	Move                 // copies its inputs to its outputs, then goes to Target, if there is one
	Enter                // begins a loop: iterations draw random numbers of their own
	Iterate              // begins an iteration
	Leave                // ends a loop
)

// Value is what a node or an operator for whole batches makes.
type Value struct {
	Spec  datum.Spec
	Whole bool // made for whole batches
}

// Output is one array of a batch. New fills in what stands behind Value.
type Output struct {
	Name  string // empty where programs do not see it
	Value int

	Spec  datum.Spec
	Whole bool          // made for whole batches
	Alias int           // the first output that shows the same value
	Kind  memstats.Kind // of the memory
	Part  Part          // that the memory of a dense output belongs to
	Owns  bool          // it has memory of its own
}

// OnDevice reports whether the host cannot reach the output.
func (o *Output) OnDevice() bool { return o.Kind == memstats.Device }

// BatchOp is an operator for whole batches.
type BatchOp struct {
	Name    string
	In, Out []int // outputs of the pipeline
	Backend executor.Backend
	Command int
	Moves   bool
	New     func() (batchop.Kernel, error)
}

// OnStream reports whether the operator works on streams of Options.Device.
func (o *BatchOp) OnStream() bool { return o.Backend != executor.Host }

// New compiles a definition, which it takes over. The error is a *fault.BuildError.
func New(d Definition) (*Pipeline, error) {
	p := &Pipeline{
		options: d.Options, readers: d.Readers, nodes: d.Nodes, values: d.Values, outputs: d.Outputs, ops: d.BatchOps, cuttable: d.Cuttable,
	}
	p.shown = slices.IndexFunc(p.outputs, func(o Output) bool { return o.Name == "" })
	if p.shown < 0 {
		p.shown = len(p.outputs)
	}
	p.setGrain()
	p.setCut(d.Cut)
	p.rowLines = d.RowLines
	if o := &p.options; o.Depths() && !slices.ContainsFunc(p.ops, func(op BatchOp) bool { return op.OnStream() }) {
		return nil, &fault.BuildError{Op: "options", Err: errors.New("HostPrefetchDepth and DevicePrefetchDepth are for pipelines with mixed or device operators, which this one has not: use PrefetchDepth")}
	}
	if err := p.placeOutputs(); err != nil {
		return nil, err
	}
	if err := p.setHints(&d); err != nil {
		return nil, &fault.BuildError{Op: "options", Err: err}
	}
	return p, nil
}

// setGrain decides how many rows a worker takes at a time: several where they are cheap.
func (p *Pipeline) setGrain() {
	p.grain = min(16, max(1, p.options.BatchSize/4/p.options.MaxWorkers))
	if slices.ContainsFunc(p.nodes, func(n Node) bool { return n.Expensive }) ||
		slices.ContainsFunc(p.readers, func(r Reader) bool { return r.Source == nil }) ||
		p.options.Remote != nil { // rows are handed out and given back one by one
		p.grain = 1
	}
}

// Options returns the options.
func (p *Pipeline) Options() *Options { return &p.options }

// Readers returns the readers in the order in which they were added.
func (p *Pipeline) Readers() []Reader { return p.readers }

// Nodes returns the nodes in the order of execution.
func (p *Pipeline) Nodes() []Node { return p.nodes }

// Values returns all values.
func (p *Pipeline) Values() []Value { return p.values }

// Outputs returns all outputs.
func (p *Pipeline) Outputs() []Output { return p.outputs }

// Shown returns the outputs that programs see, which are the first ones.
func (p *Pipeline) Shown() []Output { return p.outputs[:p.shown] }

// BatchOps returns the operators for whole batches in the order of execution.
func (p *Pipeline) BatchOps() []BatchOp { return p.ops }

// Grain returns how many rows a worker takes at a time.
func (p *Pipeline) Grain() int { return p.grain }

// Hint returns the bytes that buffers of a value are presized to.
func (p *Pipeline) Hint(value int) int { return p.hints[value] }

// Branches reports whether samples take different ways through the nodes.
func (p *Pipeline) Branches() bool {
	return slices.ContainsFunc(p.nodes, func(n Node) bool { return n.Kind != Operator })
}

// Output returns the place of the output that programs know by a name. It panics if there is
// none.
func (p *Pipeline) Output(name string) int {
	i := slices.IndexFunc(p.Shown(), func(o Output) bool { return o.Name == name })
	if i < 0 {
		panic(fmt.Sprintf("pipeline: there is no output %q; the pipeline has %q", name, p.OutputNames()))
	}
	return i
}

// OutputNames returns the names of the outputs that programs see.
func (p *Pipeline) OutputNames() []string {
	names := make([]string, p.shown)
	for i := range names {
		names[i] = p.outputs[i].Name
	}
	return names
}
