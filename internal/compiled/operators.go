package compiled

import (
	"fmt"
	"slices"

	"github.com/planktonml/plankton/pipeline/datum"
)

// OperatorInfo is pipeline.OperatorInfo.
type OperatorInfo struct {
	Name    string
	Reader  bool
	Batch   bool
	Inputs  []int
	Outputs []datum.Spec
}

// Operators describes the operators in the order of execution, and returns for every value
// those that make it.
func (p *Pipeline) Operators() (ops []OperatorInfo, makers [][]int) {
	makers = make([][]int, len(p.values))
	add := func(info OperatorInfo, in, out []int) {
		for _, v := range in {
			info.Inputs = append(info.Inputs, makers[v]...)
		}
		slices.Sort(info.Inputs)
		info.Inputs = slices.Compact(info.Inputs)
		for _, v := range out {
			info.Outputs = append(info.Outputs, p.values[v].Spec)
			makers[v] = append(makers[v], len(ops))
		}
		ops = append(ops, info)
	}
	for i := range p.nodes {
		n := &p.nodes[i]
		if n.Kind == Operator {
			add(OperatorInfo{Name: n.Name, Reader: n.Reader >= 0}, n.In, n.Out)
			continue
		}
		for k := range n.Out { // a copy has the makers of what it copies
			makers[n.Out[k]] = append(makers[n.Out[k]], makers[n.In[k]]...)
		}
	}
	for i := range p.ops {
		b := &p.ops[i]
		add(OperatorInfo{Name: b.Name, Batch: true}, p.ValuesOf(b.In), p.ValuesOf(b.Out))
	}
	return ops, makers
}

// ValuesOf returns the values that outputs show.
func (p *Pipeline) ValuesOf(outputs []int) []int {
	var values []int
	for _, o := range outputs {
		values = append(values, p.outputs[o].Value)
	}
	return values
}

// OperatorOf returns the place of every node in Operators, -1 where it is none.
func (p *Pipeline) OperatorOf() []int {
	of := make([]int, len(p.nodes))
	n := 0
	for i := range p.nodes {
		of[i] = -1
		if p.nodes[i].Kind == Operator {
			of[i] = n
			n++
		}
	}
	return of
}

// NodeNames returns the names of the operators for single samples and readers, by node;
// those of control are empty. Of operators with the same name, the second is name#2 and so on.
func (p *Pipeline) NodeNames() []string {
	names := make([]string, len(p.nodes))
	count := map[string]int{}
	for i := range p.nodes {
		if n := &p.nodes[i]; n.Kind == Operator {
			names[i] = numbered(n.Name, count)
		}
	}
	return names
}

// BatchOpNames returns the names of the operators for whole batches, likewise.
func (p *Pipeline) BatchOpNames() []string {
	names := make([]string, len(p.ops))
	count := map[string]int{}
	for i := range p.ops {
		names[i] = numbered(p.ops[i].Name, count)
	}
	return names
}

func numbered(name string, count map[string]int) string {
	if count[name]++; count[name] > 1 {
		return fmt.Sprintf("%s#%d", name, count[name])
	}
	return name
}

// Maker returns the name of the operator or reader that makes an output.
func (p *Pipeline) Maker(output int) string {
	v := p.outputs[output].Value
	for i, name := range p.NodeNames() {
		if name != "" && slices.Contains(p.nodes[i].Out, v) {
			return name
		}
	}
	for i, name := range p.BatchOpNames() {
		if slices.Contains(p.ValuesOf(p.ops[i].Out), v) {
			return name
		}
	}
	return "if or while" // whose results are moved where they belong
}

// setHints finds out what every value is presized to.
func (p *Pipeline) setHints(d *Definition) error {
	p.hints = make([]int, len(p.values))
	for i := range p.hints {
		p.hints[i] = d.BytesPerSample
	}
	names := p.NodeNames()
	for name, sizes := range d.BytesPerSampleHint {
		i := slices.Index(names, name)
		if name == "" || i < 0 {
			known := slices.DeleteFunc(names, func(s string) bool { return s == "" })
			return fmt.Errorf("BytesPerSampleHint names %q, but the operators that run are %q", name, known)
		}
		out := p.nodes[i].Out
		if len(sizes) != 1 && len(sizes) != len(out) {
			return fmt.Errorf("BytesPerSampleHint has %d sizes for %q, which has %d outputs; give one for all, or one for each", len(sizes), name, len(out))
		}
		for k, v := range out {
			size := sizes[min(k, len(sizes)-1)]
			if size < 0 {
				return fmt.Errorf("BytesPerSampleHint of %q is %d; it must not be negative", name, size)
			}
			p.hints[v] = size
		}
	}
	return nil
}
