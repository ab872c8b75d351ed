package gorgoniaplugin

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// New makes a node in g for every output of the loader's pipeline, or for those
// that the option Outputs names: an input of the output's name, with its type and
// its shape, the batch size first.
//
// The error is a *BindError when an output cannot be a node: its samples differ in
// shape (ErrRagged), its type is not float32 or float64, or g has a node of its
// name already. Nothing is added to g then. A loader of several pipelines is
// refused.
func New(g *gorgonia.ExprGraph, loader *iterator.Loader, opts ...Option) (*Feed, error) {
	if g == nil {
		return nil, errors.New("gorgoniaplugin: New was given no graph")
	}
	c := newConfig(opts)
	f, outputs, err := newFeed(loader, c, c.outputs)
	if err != nil {
		return nil, err
	}
	f.graph = g
	for _, in := range outputs {
		if len(g.ByName(in.output)) > 0 {
			return nil, &BindError{Output: in.output, Err: errors.New("the graph has a node of this name: use Bind to show the output to it, or give the output another name")}
		}
	}
	if err := f.adoptRows(c); err != nil {
		return nil, err
	}
	for _, in := range outputs {
		if in.onDevice {
			in.node = newSource(g, in)
			continue
		}
		in.node = gorgonia.NewTensor(g, in.dtype, len(in.shape), gorgonia.WithShape(in.shape...), gorgonia.WithName(in.output))
	}
	f.inputs = append(f.inputs, outputs...)
	return f, nil
}

// Bind shows outputs of the loader's pipeline to nodes that exist, by the name of
// the output. The nodes are inputs of one graph, and have the type and shape of
// their outputs, the batch size first. Outputs that are not named are not shown.
//
// The error is a *BindError that names the output and the node that do not fit
// together. A loader of several pipelines is refused.
func Bind(loader *iterator.Loader, nodes map[string]*gorgonia.Node, opts ...Option) (*Feed, error) {
	c := newConfig(opts)
	switch {
	case len(nodes) == 0:
		return nil, errors.New("gorgoniaplugin: Bind was given no nodes")
	case len(c.outputs) > 0:
		return nil, errors.New("gorgoniaplugin: the option Outputs is for New; Bind shows the outputs that are given a node")
	}
	f, outputs, err := newFeed(loader, c, slices.Sorted(maps.Keys(nodes)))
	if err != nil {
		return nil, err
	}
	for _, in := range outputs {
		if err := f.adopt(in, nodes[in.output]); err != nil {
			return nil, err
		}
	}
	if err := f.adoptRows(c); err != nil {
		return nil, err
	}
	return f, nil
}

// newFeed returns a feed without inputs, and an input without a node for each of
// the named outputs, in the pipeline's order; none names them all.
func newFeed(loader *iterator.Loader, c config, outputs []string) (*Feed, []*input, error) {
	if loader == nil {
		return nil, nil, errors.New("gorgoniaplugin: there is no loader")
	}
	pipes := loader.Pipelines()
	if len(pipes) != 1 {
		return nil, nil, fmt.Errorf("gorgoniaplugin: the loader has %d pipelines, a feed serves one: make a loader and a feed for each", len(pipes))
	}
	inputs, err := inputsOf(pipes[0], outputs)
	if err != nil {
		return nil, nil, err
	}
	declared, err := c.declared(inputs)
	if err != nil {
		return nil, nil, err
	}
	return &Feed{loader: loader, rows: pipes[0].Options().BatchSize, float: inputs[0].dtype, declared: declared}, inputs, nil
}

func inputsOf(p *pipeline.Pipeline, outputs []string) ([]*input, error) {
	if len(outputs) == 0 {
		outputs = p.Outputs()
	}
	for _, name := range outputs {
		if !slices.Contains(p.Outputs(), name) {
			return nil, &BindError{Output: name, Err: fmt.Errorf("the pipeline has no such output; it has %q", p.Outputs())}
		}
	}
	var inputs []*input
	for _, name := range p.Outputs() {
		if !slices.Contains(outputs, name) {
			continue
		}
		spec := p.Spec(name)
		dtype, err := dtypeOf(spec)
		if err != nil {
			return nil, &BindError{Output: name, Err: err}
		}
		if p.OnDevice(name) {
			if err := readable(p.Options().Device); err != nil {
				return nil, &BindError{Output: name, Err: err}
			}
		}
		inputs = append(inputs, &input{
			output: name, onDevice: p.OnDevice(name),
			dtype:  dtype,
			shape:  append(tensor.Shape{p.Options().BatchSize}, spec.Shape...),
			memory: func(b *iterator.Batch) []byte { return b.Bytes(name) },
		})
	}
	return inputs, nil
}

// dtypeOf returns the element type of a node that can show spec.
func dtypeOf(spec datum.Spec) (tensor.Dtype, error) {
	switch {
	case slices.ContainsFunc(spec.Shape, func(d int) bool { return d < 0 }):
		return tensor.Dtype{}, fmt.Errorf("%w (%s), but a node has one shape: resize or crop them to one size in the pipeline (ops.Resize, ops.Crop), or leave the output out (Outputs)", ErrRagged, spec)
	case slices.Contains(spec.Shape, 0):
		return tensor.Dtype{}, fmt.Errorf("its samples are empty (%s)", spec)
	case spec.DType == datum.Float32:
		return tensor.Float32, nil
	case spec.DType == datum.Float64:
		return tensor.Float64, nil
	}
	return tensor.Dtype{}, fmt.Errorf("its samples are %s, but Gorgonia computes with float32 and float64: cast it in the pipeline (ops.Cast; ops.OneHot for labels), or leave the output out (Outputs)", spec)
}

// adopt makes an existing node that of an input.
func (f *Feed) adopt(in *input, n *gorgonia.Node) error {
	fail := func(format string, args ...any) error {
		name := ""
		if n != nil {
			name = n.Name()
		}
		return &BindError{in.output, name, fmt.Errorf(format, args...)}
	}
	switch {
	case n == nil:
		return fail("the node is nil")
	case sourceOf(n) != nil && !in.onDevice:
		return fail("the node reads the GPU's memory, but the output is on the host: end it with ops.ToDevice in a pipeline on Device()")
	case sourceOf(n) == nil && in.onDevice:
		return fail("the output is on the GPU, from where an input cannot show it: let New make the node, or leave ops.ToDevice out")
	case sourceOf(n) == nil && !n.IsVar():
		return fail("the node is computed by the graph; only an input can show a batch")
	case n.IsScalar() || !slices.Equal(n.Shape(), in.shape):
		return fail("the node has shape %v, but %v is what the batches have", n.Shape(), in.shape)
	case n.Dtype() != in.dtype:
		return fail("the node is %v, but the batches are %v: cast the output in the pipeline (ops.Cast) or change the node", n.Dtype(), in.dtype)
	case f.graph != nil && n.Graph() != f.graph:
		return fail("the node belongs to another graph than the feed's other nodes")
	case slices.ContainsFunc(f.inputs, func(other *input) bool { return other.node == n }):
		return fail("the node shows something else already")
	}
	in.node, in.source, f.graph = n, sourceOf(n), n.Graph()
	f.inputs = append(f.inputs, in)
	return nil
}

// adoptRows makes the nodes of the options those of the weights and the mask.
func (f *Feed) adoptRows(c config) error {
	if c.weights != nil {
		if err := f.adopt(f.newRows(share), c.weights); err != nil {
			return err
		}
	}
	if c.mask != nil {
		if err := f.adopt(f.newRows(one), c.mask); err != nil {
			return err
		}
	}
	f.weights, f.mask = c.weights, c.mask
	return nil
}
