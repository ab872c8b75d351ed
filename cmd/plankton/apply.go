package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/readers"
)

// applyCmd runs operators on arrays that a file spells out. It prints a list
// of results, one per entry.
type applyCmd struct {
	Data string `placeholder:"DIR" help:"Folder of the files that entries name."`
	JSON bool   `name:"json" help:"Accepted for uniformity: the output is always JSON."`
	File string `arg:"" help:"JSON: one entry or a list of {id, operator, args, inputs, first}."`
}

// applyEntry is one operator call.
type applyEntry struct {
	ID       string         `json:"id"`
	Operator string         `json:"operator"`
	Args     map[string]any `json:"args"`
	Inputs   []applyArray   `json:"inputs"`
	First    string         `json:"first"` // an operator that prepares the first input, as "decoders.image output_type=RGB"
	Note     string         `json:"note"`  // the expression of operators that are expressions, over a, b or x
}

// applyArray is an array, or the bytes of a file.
type applyArray struct {
	DType  string `json:"dtype,omitempty"`
	Shape  []int  `json:"shape"`
	Layout string `json:"layout,omitempty"`
	Data   []any  `json:"data"`
	File   string `json:"file,omitempty"`
}

type applyResult struct {
	ID          string       `json:"id"`
	Output      []applyArray `json:"output,omitempty"`
	Error       string       `json:"error,omitempty"`
	Unsupported bool         `json:"unsupported,omitempty"`
}

func (c *applyCmd) Run(std *stdio) error {
	raw, err := os.ReadFile(c.File)
	if err != nil {
		return fmt.Errorf("%w; give a file of operators in JSON, see plankton apply --help", err)
	}
	var entries []applyEntry
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		err = decodeJSON(raw, &entries)
	} else {
		entries = make([]applyEntry, 1)
		err = decodeJSON(raw, &entries[0])
	}
	if err != nil {
		return wrongJSON(c.File, raw, "one entry or a list of entries {id, operator, args, inputs, first}", err)
	}
	results := make([]applyResult, len(entries))
	for i, e := range entries {
		results[i] = c.apply(e)
	}
	return printJSON(std.out, results)
}

// decodeJSON is json.Unmarshal, but that numbers keep their digits: an int64 may be
// more than a float64 holds.
func decodeJSON(raw []byte, to any) error {
	if !json.Valid(raw) {
		return json.Unmarshal(raw, to) // which names the mistake
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(to)
}

// apply runs one entry as a pipeline of one sample.
func (c *applyCmd) apply(e applyEntry) applyResult {
	res := applyResult{ID: e.ID}
	call, ok := applyOps[e.Operator]
	switch {
	case e.Operator == "":
		res.Error = "the entry names no operator"
		return res
	case !ok:
		res.Unsupported = true
		return res
	}
	out, err := c.run(e, call)
	if err != nil {
		res.Error = err.Error()
		return res
	}
	res.Output = out
	return res
}

func (c *applyCmd) run(e applyEntry, call applyOp) ([]applyArray, error) {
	in, err := c.inputs(e.Inputs)
	if err != nil {
		return nil, err
	}
	args := &applyArgs{values: e.Args, expression: e.Note}
	var names []string // of the outputs
	p, err := pipeline.New(pipeline.Options{BatchSize: 1, Workers: 1, PrefetchDepth: 1, ExactRGB: true}, func(g *pipeline.Graph) {
		args.g = g
		vs := readers.External(g, readers.ExternalOptions{Len: 1, Outputs: in.specs(), Read: in.read, Describe: in.describe})
		vs = vs[:len(e.Inputs)]
		if e.First != "" && len(vs) > 0 {
			vs[0] = applyFirst(g, vs[0], e.First)
		}
		for i, v := range call(g, vs, args) {
			names = append(names, fmt.Sprint("out", i))
			g.Output(names[i], v)
		}
		g.Fail(e.Operator, args.err())
	})
	if err != nil {
		return nil, err
	}
	loader, err := iterator.New(iterator.Options{}, p)
	if err != nil {
		return nil, err
	}
	defer loader.Close()
	var out []applyArray
	for b, err := range loader.Epoch(context.Background()) {
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			a, err := arrayOf(b.Sample(name, 0))
			if err != nil {
				return nil, err
			}
			out = append(out, a)
		}
	}
	return out, nil
}

// arrayOf spells a tensor out.
func arrayOf(t *datum.Tensor) (a applyArray, err error) {
	a = applyArray{DType: t.DType().String(), Shape: append([]int{}, t.Shape()...), Layout: string(t.Layout())}
	a.Data, err = elementsOf(t)
	return a, err
}

// applyFirst adds the operator that prepares the input: "operator name=value …",
// each value JSON or a text.
func applyFirst(g *pipeline.Graph, v pipeline.Value, first string) pipeline.Value {
	operator, rest, _ := strings.Cut(first, " ")
	call, ok := applyOps[operator]
	if !ok {
		g.Fail("first", fmt.Errorf("there is no operator %q", operator))
		return pipeline.Value{}
	}
	args := &applyArgs{g: g, values: map[string]any{}}
	for _, w := range strings.Fields(rest) {
		name, text, _ := strings.Cut(w, "=")
		var value any
		if decodeJSON([]byte(text), &value) != nil {
			value = text
		}
		args.values[name] = value
	}
	out := call(g, []pipeline.Value{v}, args)
	g.Fail("first", args.err())
	if len(out) != 1 {
		return pipeline.Value{}
	}
	return out[0]
}

// applyInput is an input of an entry.
type applyInput struct {
	name  string // in errors
	spec  datum.Spec
	shape []int // of the only sample, empty extents among them
	mem   []byte
}

// applyInputs are the only sample of an entry's pipeline.
type applyInputs []*applyInput

func (c *applyCmd) inputs(as []applyArray) (in applyInputs, err error) {
	for _, a := range as {
		one, err := c.input(a)
		if err != nil {
			return nil, err
		}
		in = append(in, one)
	}
	if len(in) == 0 { // a sample has something, also for operators that take nothing
		in = applyInputs{{"no input", datum.Spec{DType: datum.Uint8, Shape: []int{1}}, []int{1}, []byte{0}}}
	}
	return in, nil
}

func (in applyInputs) specs() (specs []datum.Spec) {
	for _, one := range in {
		specs = append(specs, one.spec)
	}
	return specs
}

func (in applyInputs) describe(int64) string { return in[0].name }

func (in applyInputs) read(_ context.Context, _ int64, out []*datum.Tensor) error {
	for i, one := range in {
		mem, err := out[i].Resize(one.shape...)
		if err != nil {
			return err
		}
		copy(mem, one.mem)
	}
	return nil
}

func (c *applyCmd) input(a applyArray) (*applyInput, error) {
	if a.File != "" {
		if c.Data == "" {
			return nil, errors.New("an input names a file: say with --data where it lies")
		}
		mem, err := os.ReadFile(filepath.Join(c.Data, a.File))
		return &applyInput{a.File, datum.Spec{DType: datum.Uint8, Shape: []int{-1}}, []int{len(mem)}, mem}, err
	}
	t, err := datum.ParseDType(a.DType)
	if err != nil {
		return nil, err
	}
	mem, err := bytesOfJSON(t, a.Data)
	if err != nil {
		return nil, err
	}
	n, empty := 1, slices.Contains(a.Shape, 0)
	for _, d := range a.Shape {
		if d < 0 || n > len(a.Data) && !empty {
			n = -1
			break
		}
		n *= d
	}
	if n != len(a.Data) {
		return nil, fmt.Errorf("%d elements for shape %v", len(a.Data), a.Shape)
	}
	known := slices.Clone(a.Shape)
	for i, d := range known {
		if d == 0 { // no reader declares an empty dimension, but a sample may have one
			known[i] = -1
		}
	}
	return &applyInput{"the input", datum.Spec{DType: t, Shape: known, Layout: datum.Layout(a.Layout)}, a.Shape, mem}, nil
}
