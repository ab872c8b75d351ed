package pipeline

import (
	"errors"
	"fmt"

	"github.com/planktonml/plankton/internal/compiled"
	"github.com/planktonml/plankton/internal/entropyindex"
	"github.com/planktonml/plankton/pipeline/datum"
)

// Graph collects the readers, operators and outputs of a pipeline while its
// definition runs. The first mistake is kept and comes out of New; values made
// after it are empty, and everything accepts them.
type Graph struct {
	opt     Options
	readers []*Reader
	nodes   []node
	values  []value
	outputs []output
	randoms uint64

	indexRoom *entropyindex.Room          // of all indexes, nil before there is one
	indexes   map[int]*entropyindex.Store // by the place of the reader

	block      *block  // where operators are added now
	mixing     *mixing // the mix whose sources are added now, or nil
	structures int     // If and While so far
	err        error
}

// Value is one output of a reader or operator, a sample of which exists while
// the pipeline runs. The zero Value means "none": an option that takes a Value
// then has its default.
type Value struct {
	g     *Graph
	id    int
	whole bool // WholeBatch
}

// Set reports whether v is a value.
func (v Value) Set() bool { return v.g != nil }

// Spec says what is known of v's samples.
func (v Value) Spec() datum.Spec {
	if v.g == nil {
		return datum.Spec{}
	}
	return v.g.values[v.id].spec
}

// Detail returns Op.Detail of the operator that makes v, nil where there is none.
func (v Value) Detail() any {
	if v.g == nil {
		return nil
	}
	return v.g.nodes[v.g.values[v.id].node].op.Detail
}

// Op describes one operator to Graph.Add.
type Op struct {
	Name    string       // the name in errors and statistics
	Inputs  []Value      // what it reads
	Outputs []datum.Spec // what it makes

	// New makes the operator's kernel for one worker, so a kernel may hold
	// scratch memory. It is called once per worker.
	New func() (datum.Kernel, error)

	// Expensive marks work of more than some microseconds per sample, such as
	// decoding. Workers take cheap samples several at a time.
	Expensive bool

	// Fuse may return one operator that does the work of producer and of this
	// one, to be used in place of both; nil if it cannot. Producer is what
	// makes the first input. Fuse is only asked where nobody else uses the
	// producer's outputs. The new operator's inputs must be producer's and
	// then this one's without the first.
	Fuse func(producer *Op) *Op

	// Config tells operators of the same name apart in Pipeline.Fingerprint: all
	// that decides what the operator makes of its inputs, as text in UTF-8: its options,
	// and the library that does its work where a program can be built with another one.
	Config string

	// Detail is an operator's private description, for fusing it and for the operators
	// behind it; see Value.Detail.
	Detail any
}

type node struct {
	op     Op
	reader int // index into readers, or -1
	in     []int
	out    []int
	dead   bool

	block  *block
	kind   compiled.Kind
	owner  int // number of the If or While that a control node is a part of
	target int // node that control goes to, -1 for the next one
	batch  *BatchOp
	cut    bool // AddCut
}

type value struct {
	spec  datum.Spec
	node  int
	block *block
	batch bool // made for whole batches
}

type output struct {
	name  string
	value int
}

// Options returns the options of the pipeline that is being built.
func (g *Graph) Options() Options { return g.opt }

// Err returns the first mistake so far.
func (g *Graph) Err() error { return g.err }

// Fail reports a mistake in the definition, found by the operator or reader
// that is named. Only the first is kept.
func (g *Graph) Fail(name string, err error) {
	if g.err == nil && err != nil {
		g.err = &BuildError{Op: name, Err: err}
	}
}

// NewRandom returns a source of random numbers of its own for an operator.
func (g *Graph) NewRandom() datum.Random {
	g.randoms++
	return datum.NewRandom(g.randoms)
}

// Add adds an operator and returns its outputs.
func (g *Graph) Add(op Op) []Value {
	n := node{op: op, reader: -1}
	if op.New == nil {
		g.Fail(op.Name, errors.New("Op.New is missing"))
	}
	g.checkSamples(op.Name, op.Inputs...)
	for _, v := range op.Inputs {
		n.in = append(n.in, v.id)
	}
	return g.add(n)
}

func (g *Graph) add(n node) []Value {
	vs := make([]Value, len(n.op.Outputs))
	if g.err != nil {
		return vs
	}
	for i, spec := range n.op.Outputs {
		if len(spec.Shape) > datum.MaxDims {
			g.Fail(n.op.Name, fmt.Errorf("output %d has %d dimensions, at most %d are possible", i, len(spec.Shape), datum.MaxDims))
			return make([]Value, len(n.op.Outputs))
		}
		if !spec.Countable() {
			g.Fail(n.op.Name, fmt.Errorf("output %d is %s; an int must hold the number of its bytes", i, spec))
			return make([]Value, len(n.op.Outputs))
		}
		vs[i] = g.newValue(spec, len(g.nodes))
		n.out = append(n.out, vs[i].id)
	}
	n.block, n.target = g.block, -1
	g.nodes = append(g.nodes, n)
	return vs
}

// WholeBatch returns v for use by operators for whole batches and Output alone,
// as if one of them had made it.
func (g *Graph) WholeBatch(v Value) Value {
	v.whole = true
	return v
}

// Output makes v a part of every batch under the given name.
func (g *Graph) Output(name string, v Value) {
	switch {
	case g.err != nil:
		return
	case name == "":
		g.Fail("output", errors.New("an output needs a name"))
		return
	case v.g == nil:
		g.Fail("output "+name, errors.New("the value is missing"))
		return
	case v.g != g:
		g.Fail("output "+name, errors.New("the value belongs to another pipeline"))
		return
	case g.block.parent != nil || g.values[v.id].block != g.block:
		g.Fail("output "+name, errors.New("it is inside a branch or loop; return the value from there"))
		return
	}
	for _, o := range g.outputs {
		if o.name == name {
			g.Fail("output "+name, errors.New("two outputs have this name"))
			return
		}
	}
	g.outputs = append(g.outputs, output{name: name, value: v.id})
}
