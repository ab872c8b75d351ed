//go:build cuda

package gorgoniaplugin

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// place decides where the machine reads each of the feed's nodes.
func (f *Feed) place(vm gorgonia.CUDAMachine, on bool) []Placement {
	r := reader{graph: f.graph, kernels: map[string]bool{}}
	if on {
		for name := range vm.Engines()[0].Functions() {
			module, _, _ := strings.Cut(name, ".")
			r.kernels[module], r.kernels[name] = true, true
		}
	}
	places := make([]Placement, len(f.inputs))
	for i, in := range f.inputs {
		p := Placement{Node: in.node.Name()}
		host, gpu := r.reads(in.node)
		switch {
		case in.source == nil && gpu:
			p.Where, p.Why = Copied, "the output is on the host: end it with ops.ToDevice in a pipeline on Device()"
			if in.output == "" {
				p.Why = "the feed makes it on the host"
			}
		case in.source != nil && len(host) > 0:
			p.Where, p.Why = Managed, strings.Join(host, ", ")
		}
		places[i] = p
	}
	return places
}

// onDevice reports whether the feed shows anything that is on the GPU.
func (f *Feed) onDevice() bool {
	return slices.ContainsFunc(f.inputs, func(in *input) bool { return in.source != nil })
}

// reader finds out where operators read their inputs.
type reader struct {
	graph   *gorgonia.ExprGraph
	kernels map[string]bool // that Gorgonia has, and their modules
}

// reads says why operators that read n need it where the host reaches it, and
// whether any reads it on the GPU.
func (r reader) reads(n *gorgonia.Node) (host []string, gpu bool) {
	why := map[string]bool{}
	for readers := r.graph.To(n.ID()); readers.Next(); {
		c := readers.Node().(*gorgonia.Node)
		if _, ok := c.Op().(gorgonia.CUDADoer); !ok {
			continue // the machine copies n back for it
		}
		gpu = true
		if reshapes(c.Op()) {
			more, _ := r.reads(c)
			for _, w := range more {
				why[w] = true
			}
		} else if w := r.onHost(c.Op(), n.Dtype()); w != "" {
			why[w] = true
		}
	}
	return slices.Sorted(maps.Keys(why)), gpu
}

// typeOf returns the package and the name of an operator's type: Gorgonia does not
// export its operators.
func typeOf(op gorgonia.Op) (pkg, name string) {
	t := reflect.TypeOf(op)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.PkgPath(), t.Name()
}

const gorgoniaPath = "gorgonia.org/gorgonia"

func reshapes(op gorgonia.Op) bool {
	pkg, name := typeOf(op)
	return pkg == gorgoniaPath && name == "reshapeOp"
}

// onHost says why an operator for the GPU may read its inputs on the host, "" if
// it does not. The operators that call cuBLAS and cuDNN do not, nor do those for single
// elements that have kernels. One with a single input that has no kernel for its type runs
// on the host; one with two fails.
func (r reader) onHost(op gorgonia.Op, of tensor.Dtype) string {
	switch pkg, name := typeOf(op); {
	case pkg == gorgoniaPath+"/ops/nn":
		return ""
	case pkg != gorgoniaPath:
		return fmt.Sprintf("what %s does is not known", op)
	case name == "linAlgBinOp" && !strings.Contains(op.String(), "×××"): // batches of matrices are multiplied one by one
		return ""
	case name == "elemUnaryOp" && r.kernels[fmt.Sprintf("elemunaryop.%v_f%d", op, 8*of.Size())], name == "elemBinOp" && r.kernels["elembinop"]:
		return ""
	case name == "elemUnaryOp" || name == "elemBinOp":
		return fmt.Sprintf("%s has no kernel", op)
	default:
		return fmt.Sprintf("%s runs on the host", op)
	}
}
