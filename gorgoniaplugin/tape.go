//go:build !cuda

package gorgoniaplugin

import (
	"reflect"
	"slices"
	"unsafe"

	"gorgonia.org/gorgonia"
)

// tape is where a tape machine stands: Gorgonia's RunAll goes on from there, and does
// nothing at the end, without a word, if nobody has called Reset. The zero tape, of other
// machines, shows nothing.
type tape struct {
	at        *int              // the instruction that comes next
	registers *[]gorgonia.Value // what the instructions wrote; Reset empties them

	before []gorgonia.Value // registers when the body began, if the machine had not been reset
}

// tapeOf returns the tape of a machine. Gorgonia exports none of it.
func tapeOf(vm gorgonia.VM) (t tape) {
	m := pointee(reflect.ValueOf(vm))
	at, registers := field(m, "pc"), field(m, "cpumem")
	if at.Kind() == reflect.Int && registers.IsValid() && registers.Type() == reflect.TypeFor[[]gorgonia.Value]() {
		t.at = (*int)(unsafe.Pointer(at.UnsafeAddr()))
		t.registers = (*[]gorgonia.Value)(unsafe.Pointer(registers.UnsafeAddr()))
	}
	return t
}

// begin looks at the machine before a body.
func (t *tape) begin() {
	clear(t.before)
	t.before = t.before[:0]
	if t.at != nil && *t.at > 0 {
		t.before = append(t.before, *t.registers...)
	}
}

// ran looks at it behind the body. One that had not been reset before the body and has
// the very values of then has computed nothing in it. A body that begins with Reset leaves
// values of its own, as those of before are still held here.
func (t *tape) ran() error {
	if len(t.before) > 0 && *t.at > 0 && slices.EqualFunc(t.before, *t.registers, same) {
		return ErrNotReset
	}
	return nil
}

// same reports whether two values are one.
func same(a, b gorgonia.Value) bool {
	if of := reflect.TypeOf(a); of != nil && !of.Comparable() {
		return false
	}
	return a == b
}
