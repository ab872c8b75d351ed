//go:build cuda

package gorgoniaplugin

import (
	"fmt"
	"slices"

	"github.com/planktonml/plankton/streams/cuda/kernels/elementwise"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// loadKernels gives the machine the kernels of Gorgonia's operators for single elements
// that the graph has. Kernels that the machine has already, made by Gorgonia's command
// cudagen or by a program, stay.
func loadKernels(g *gorgonia.ExprGraph, vm gorgonia.CUDAMachine) error {
	for _, m := range []struct {
		elementwise.Module
		operators string // their type in Gorgonia
	}{{elementwise.Binary, "elemBinOp"}, {elementwise.Unary, "elemUnaryOp"}} {
		used, err := usesOperators(g, m.operators)
		if err != nil {
			return err
		}
		if !used {
			continue
		}
		engine := &vm.Engines()[0]
		missing := slices.DeleteFunc(m.Kernels(), func(name string) bool { return engine.HasFunc(m.Name + "." + name) })
		if len(missing) == 0 {
			continue
		}
		if err := onEngine(vm, func() error { return engine.LoadCUDAFunc(m.Name, m.PTX, missing) }); err != nil {
			return fmt.Errorf("gorgoniaplugin: the kernels of operators for single elements, which need a driver of CUDA 11.8 or later and a GPU since Pascal, cannot be loaded: %w", err)
		}
	}
	return nil
}

// usesOperators reports whether the graph has operators of a type of Gorgonia's for
// single elements. It refuses numbers that are not float32 or float64: Gorgonia looks for
// a kernel by the size of a number, and would compute with integers as with floats.
func usesOperators(g *gorgonia.ExprGraph, operators string) (used bool, err error) {
	for _, n := range g.AllNodes() {
		if n.Op() == nil {
			continue
		}
		if pkg, name := typeOf(n.Op()); pkg != gorgoniaPath || name != operators {
			continue
		}
		used = true
		for inputs := g.From(n.ID()); inputs.Next(); {
			in := inputs.Node().(*gorgonia.Node)
			if t := in.Dtype(); t != tensor.Float32 && t != tensor.Float64 {
				return false, fmt.Errorf("gorgoniaplugin: %s of %s is of %s, which Gorgonia computes on the GPU as if it were a float: make it float32 or float64", n.Op(), in.Name(), t)
			}
		}
	}
	return used, nil
}
