package executor

import (
	"fmt"
	"math"
)

// Value is what travels along a data edge: a number, a truth value, or a
// reference to anything else. Making, copying and reading one allocates
// nothing. The zero Value is "no value"; a node that leaves an output empty
// makes that output dead, which only control-flow and Recv nodes may do.
//
// A Value that holds a *Buffer owns one reference to it while it is on an edge
// (see Buffer).
type Value struct {
	ref  any // a scalar kind, or the reference itself
	bits uint64
}

// scalar is the dynamic type of Value.ref for everything that is no reference.
type scalar uint8

const (
	scalarNil scalar = iota + 1
	scalarInt
	scalarFloat
	scalarBool
)

func (k scalar) String() string {
	return [...]string{"no value", "nil", "an int", "a float", "a bool"}[k]
}

// Int returns a Value that holds an integer.
func Int(v int64) Value { return Value{ref: scalarInt, bits: uint64(v)} }

// Float returns a Value that holds a floating-point number.
func Float(v float64) Value { return Value{ref: scalarFloat, bits: math.Float64bits(v)} }

// Bool returns a Value that holds a truth value.
func Bool(v bool) Value {
	if v {
		return Value{ref: scalarBool, bits: 1}
	}
	return Value{ref: scalarBool}
}

// Ref returns a Value that refers to x. A pointer costs no allocation;
// anything else may cost what Go's conversion to an interface costs. Ref(nil)
// is a value, and not the empty one.
func Ref(x any) Value {
	if x == nil {
		return Value{ref: scalarNil}
	}
	return Value{ref: x}
}

// IsEmpty reports whether v is the zero Value.
func (v Value) IsEmpty() bool { return v.ref == nil }

// Int returns the integer that v holds. It panics with a *TypeError if v holds
// something else; inside a kernel that becomes the node's error.
func (v Value) Int() int64 {
	if v.kind() != scalarInt {
		v = v.plain()
	}
	if v.kind() != scalarInt {
		panic(&TypeError{Want: "an int", Got: v.describe()})
	}
	return int64(v.bits)
}

// Float returns the number that v holds; it panics as Int does.
func (v Value) Float() float64 {
	if v.kind() != scalarFloat {
		v = v.plain()
	}
	if v.kind() != scalarFloat {
		panic(&TypeError{Want: "a float", Got: v.describe()})
	}
	return math.Float64frombits(v.bits)
}

// Bool returns the truth value that v holds; it panics as Int does.
func (v Value) Bool() bool {
	if v.kind() != scalarBool {
		v = v.plain()
	}
	if v.kind() != scalarBool {
		panic(&TypeError{Want: "a bool", Got: v.describe()})
	}
	return v.bits != 0
}

// Ref returns what v refers to, nil if v is a number, a truth value or empty.
func (v Value) Ref() any {
	if v.kind() != 0 {
		return nil
	}
	return v.ref
}

// Buffer returns the buffer that v refers to; it panics as Int does.
func (v Value) Buffer() *Buffer {
	b, ok := v.ref.(*Buffer)
	if !ok {
		panic(&TypeError{Want: "a *Buffer", Got: v.describe()})
	}
	return b
}

// String formats what v holds.
func (v Value) String() string {
	switch v.kind() {
	case scalarInt:
		return fmt.Sprint(v.Int())
	case scalarFloat:
		return fmt.Sprint(v.Float())
	case scalarBool:
		return fmt.Sprint(v.Bool())
	case scalarNil:
		return "nil"
	}
	if v.IsEmpty() {
		return "empty"
	}
	return fmt.Sprint(v.ref)
}

// kind returns 0 for a reference and for the empty value.
func (v Value) kind() scalar {
	k, _ := v.ref.(scalar)
	return k
}

func (v Value) describe() string {
	if k := v.kind(); k != 0 || v.ref == nil {
		return k.String()
	}
	return fmt.Sprintf("a %T", v.ref)
}

// retain takes a further reference to what v holds, if that is counted.
func (v Value) retain() {
	switch r := v.ref.(type) {
	case *Buffer:
		r.Retain()
	case *staged:
		r.refs.Add(1)
	}
}

// clear empties v and gives back its reference.
func (v *Value) clear() {
	switch r := v.ref.(type) {
	case *Buffer:
		r.Release()
	case *staged:
		r.release()
	}
	v.ref = nil
}
