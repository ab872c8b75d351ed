package gorgoniaplugin

import (
	"fmt"
	"reflect"

	"gorgonia.org/gorgonia"
)

// checkGraph refuses a machine that has none of the feed's nodes: it would never see a
// batch. A machine of a part of the graph has some, and one of a kind that is not
// Gorgonia's own is taken at its word.
func (f *Feed) checkGraph(vm gorgonia.VM) error {
	g := graphOf(vm)
	if g == nil {
		return nil
	}
	mine := map[*gorgonia.Node]bool{}
	for _, in := range f.inputs {
		mine[in.node] = true
	}
	for _, n := range g.AllNodes() {
		if mine[n] {
			return nil
		}
	}
	return fmt.Errorf("gorgoniaplugin: %w: it has none of the nodes that show %q: pass a machine of the graph that these are in, or of a part of it (ExactSubgraphRoots)", ErrOtherGraph, names(f.inputs))
}

// graphOf returns the graph of a machine, nil where there is none to be seen. Gorgonia
// exports neither its machines' types nor their fields.
func graphOf(vm gorgonia.VM) *gorgonia.ExprGraph {
	m := pointee(reflect.ValueOf(vm))
	if program := field(m, "p"); program.IsValid() {
		m = pointee(program)
	}
	g := field(m, "g")
	if !g.IsValid() || g.Type() != reflect.TypeFor[*gorgonia.ExprGraph]() {
		return nil
	}
	return (*gorgonia.ExprGraph)(g.UnsafePointer())
}

// pointee returns what v points at, the zero Value if it is no pointer or nil.
func pointee(v reflect.Value) reflect.Value {
	if v.Kind() != reflect.Pointer {
		return reflect.Value{}
	}
	return v.Elem()
}

// field returns a field of a struct, the zero Value if there is none of that name.
func field(v reflect.Value, name string) reflect.Value {
	if v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return v.FieldByName(name)
}
