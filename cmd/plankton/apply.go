package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	First    string         `json:"first"` // an operator that prepares the input, as "decoders.image output_type=RGB"
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
	res.Output = []applyArray{out}
	return res
}

func (c *applyCmd) run(e applyEntry, call applyOp) (applyArray, error) {
	if len(e.Inputs) != 1 {
		return applyArray{}, fmt.Errorf("%d inputs; one is wanted", len(e.Inputs))
	}
	in, err := c.input(e.Inputs[0])
	if err != nil {
		return applyArray{}, err
	}
	args := &applyArgs{values: e.Args}
	p, err := pipeline.New(pipeline.Options{BatchSize: 1, Workers: 1, PrefetchDepth: 1, ExactRGB: true}, func(g *pipeline.Graph) {
		args.g = g
		v := readers.External(g, readers.ExternalOptions{
			Len: 1, Outputs: []datum.Spec{in.spec}, Read: in.read, Describe: func(int64) string { return in.name },
		})[0]
		if e.First != "" {
			v = applyFirst(g, v, e.First)
		}
		g.Output("out", call(g, v, args))
		g.Fail(e.Operator, args.err())
	})
	if err != nil {
		return applyArray{}, err
	}
	loader, err := iterator.New(iterator.Options{}, p)
	if err != nil {
		return applyArray{}, err
	}
	defer loader.Close()
	var out applyArray
	for b, err := range loader.Epoch(context.Background()) {
		if err != nil {
			return out, err
		}
		t := b.Sample("out", 0)
		out = applyArray{DType: t.DType().String(), Shape: append([]int{}, t.Shape()...), Layout: string(t.Layout())}
		out.Data, err = elementsOf(t)
		if err != nil {
			return out, err
		}
	}
	return out, nil
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
	v = call(g, v, args)
	g.Fail("first", args.err())
	return v
}

// applyInput is the only sample of an entry's pipeline.
type applyInput struct {
	name string // in errors
	spec datum.Spec
	mem  []byte
}

func (in *applyInput) read(_ context.Context, _ int64, out []*datum.Tensor) error {
	shape := in.spec.Shape
	if len(shape) == 1 && shape[0] < 0 {
		shape = []int{len(in.mem)}
	}
	mem, err := out[0].Resize(shape...)
	copy(mem, in.mem)
	return err
}

func (c *applyCmd) input(a applyArray) (*applyInput, error) {
	if a.File != "" {
		if c.Data == "" {
			return nil, errors.New("an input names a file: say with --data where it lies")
		}
		mem, err := os.ReadFile(filepath.Join(c.Data, a.File))
		return &applyInput{a.File, datum.Spec{DType: datum.Uint8, Shape: []int{-1}}, mem}, err
	}
	t, err := datum.ParseDType(a.DType)
	if err != nil {
		return nil, err
	}
	mem, err := bytesOfJSON(t, a.Data)
	if err != nil {
		return nil, err
	}
	n := 1
	for _, d := range a.Shape {
		if d < 1 || n > len(a.Data) {
			n = -1
			break
		}
		n *= d
	}
	if n != len(a.Data) {
		return nil, fmt.Errorf("%d elements for shape %v", len(a.Data), a.Shape)
	}
	return &applyInput{"the input", datum.Spec{DType: t, Shape: a.Shape, Layout: datum.Layout(a.Layout)}, mem}, nil
}
