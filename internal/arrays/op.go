package arrays

import (
	"fmt"

	"github.com/planktonml/plankton/pipeline/datum"
)

// Op is an operation on one, two or three elements.
type Op uint8

// The operations, under the names of NVIDIA DALI's.
const (
	Plus Op = iota + 1
	Minus
	Abs
	Not // of every bit, or of a truth value

	Add
	Sub
	Mul
	Div      // in floating point
	FloorDiv // of integers towards zero, as in C; of others as Div
	Mod      // with the sign of the dividend, as in C
	Pow      // of integers to negative powers 0
	Fpow     // in floating point
	Atan2
	Min
	Max

	And
	Or
	Xor
	Shl // by the lowest 5 bits of the right operand, 6 for types of 64 bits
	Shr

	Eq
	Ne
	Lt
	Le
	Gt
	Ge

	Clamp // of x, the lowest and the highest

	Sqrt
	Rsqrt
	Cbrt
	Exp
	Log
	Log2
	Log10
	Fabs
	Floor
	Ceil
	Sin
	Cos
	Tan
	Asin
	Acos
	Atan
	Sinh
	Cosh
	Tanh
	Asinh
	Acosh
	Atanh
	lastOp
)

// takes is which operands an operation takes.
type takes uint8

const (
	anything takes = iota
	numbers        // anything but a bool, or two bools: one of the operands must be a number
	bits           // integers and bools
)

// gives is the type that an operation computes in or returns.
type gives uint8

const (
	promoted gives = iota
	floating       // the promoted type where that is floating-point, else float32
	truth          // Bool, computed in the promoted type
)

var ops = [lastOp]struct {
	name  string
	arity int
	takes takes
	gives gives
}{
	Plus: {"+", 1, anything, promoted}, Minus: {"-", 1, numbers, promoted}, Abs: {"abs", 1, numbers, promoted}, Not: {"~", 1, bits, promoted},
	Add: {"+", 2, numbers, promoted}, Sub: {"-", 2, numbers, promoted}, Mul: {"*", 2, numbers, promoted}, Div: {"/", 2, numbers, floating},
	FloorDiv: {"//", 2, numbers, promoted}, Mod: {"%", 2, numbers, promoted}, Pow: {"pow", 2, numbers, promoted},
	Fpow: {"fpow", 2, numbers, floating}, Atan2: {"atan2", 2, numbers, floating}, Min: {"min", 2, numbers, promoted}, Max: {"max", 2, numbers, promoted},
	And: {"&", 2, bits, promoted}, Or: {"|", 2, bits, promoted}, Xor: {"^", 2, bits, promoted}, Shl: {"<<", 2, bits, promoted}, Shr: {">>", 2, bits, promoted},
	Eq: {"==", 2, anything, truth}, Ne: {"!=", 2, anything, truth}, Lt: {"<", 2, anything, truth}, Le: {"<=", 2, anything, truth},
	Gt: {">", 2, anything, truth}, Ge: {">=", 2, anything, truth},
	Clamp: {"clamp", 3, numbers, promoted},
	Sqrt:  {"sqrt", 1, numbers, floating}, Rsqrt: {"rsqrt", 1, numbers, floating}, Cbrt: {"cbrt", 1, numbers, floating},
	Exp: {"exp", 1, numbers, floating}, Log: {"log", 1, numbers, floating}, Log2: {"log2", 1, numbers, floating}, Log10: {"log10", 1, numbers, floating},
	Fabs: {"fabs", 1, numbers, floating}, Floor: {"floor", 1, numbers, floating}, Ceil: {"ceil", 1, numbers, floating},
	Sin: {"sin", 1, numbers, floating}, Cos: {"cos", 1, numbers, floating}, Tan: {"tan", 1, numbers, floating},
	Asin: {"asin", 1, numbers, floating}, Acos: {"acos", 1, numbers, floating}, Atan: {"atan", 1, numbers, floating},
	Sinh: {"sinh", 1, numbers, floating}, Cosh: {"cosh", 1, numbers, floating}, Tanh: {"tanh", 1, numbers, floating},
	Asinh: {"asinh", 1, numbers, floating}, Acosh: {"acosh", 1, numbers, floating}, Atanh: {"atanh", 1, numbers, floating},
}

// String returns the operation's sign or name.
func (op Op) String() string { return ops[op].name }

// Arity returns the number of operands.
func (op Op) Arity() int { return ops[op].arity }

// Types returns the type that operands are converted to, and that of the result.
func (op Op) Types(operands ...DType) (compute, result DType, err error) {
	o := ops[op]
	compute = operands[0]
	for _, t := range operands {
		compute = Promote(compute, t)
		if t == datum.Float16 && op != Plus {
			return 0, 0, fmt.Errorf("an operand is float16, with which nothing is computed: cast it to float32 first")
		}
	}
	switch {
	case o.takes == numbers && compute == datum.Bool:
		return 0, 0, fmt.Errorf("all operands are bool; a number is wanted: cast one of them first")
	case o.takes == bits && compute.IsFloat():
		return 0, 0, fmt.Errorf("an operand is %v; integers and bool have bits: cast it first", compute)
	}
	switch {
	case o.gives == truth:
		return compute, datum.Bool, nil
	case o.gives == floating && !compute.IsFloat():
		return datum.Float32, datum.Float32, nil
	}
	return compute, compute, nil
}
