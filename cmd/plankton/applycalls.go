package main

import (
	"strings"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
)

// The functions that expressions call.

var (
	unaryFunctions = map[string]func(g *pipeline.Graph, x pipeline.Value) pipeline.Value{
		"abs": ops.Abs, "fabs": ops.FAbs, "sqrt": ops.Sqrt, "rsqrt": ops.Rsqrt, "cbrt": ops.Cbrt, "exp": ops.Exp,
		"log": ops.Log, "log2": ops.Log2, "log10": ops.Log10, "floor": ops.Floor, "ceil": ops.Ceil,
		"sin": ops.Sin, "cos": ops.Cos, "tan": ops.Tan, "asin": ops.Asin, "acos": ops.Acos, "atan": ops.Atan,
		"sinh": ops.Sinh, "cosh": ops.Cosh, "tanh": ops.Tanh, "asinh": ops.Asinh, "acosh": ops.Acosh, "atanh": ops.Atanh,
	}
	binaryFunctions = map[string]binaryOp{"min": ops.Min, "max": ops.Max, "pow": ops.Pow, "fpow": ops.FPow, "atan2": ops.Atan2}
	// shortTypes are the types of functions such as cast_u8.
	shortTypes = map[string]string{"u": "uint", "i": "int", "f": "float"}
)

// call reads the arguments of a function and calls it.
func (p *exprParser) call(name string) term {
	if name == "types.Constant" || name == "dali.types.Constant" {
		return p.typedConstant()
	}
	short := name[strings.LastIndex(name, ".")+1:]
	if short == "cast" {
		return p.cast()
	}
	var args []pipeline.Value
	for !p.accept(")") {
		args = append(args, p.value(p.compare()))
		if p.token != ")" {
			p.expect(",")
		}
	}
	if one := unaryFunctions[short]; one != nil && len(args) == 1 {
		return term{v: one(p.g, args[0])}
	}
	if two := binaryFunctions[short]; two != nil && len(args) == 2 {
		return term{v: two(p.g, args[0], args[1])}
	}
	if short == "clamp" && len(args) == 3 {
		return term{v: ops.Clamp(p.g, args[0], args[1], args[2])}
	}
	if kind, ok := strings.CutPrefix(short, "cast_"); ok && len(args) == 1 && kind != "" {
		if t, err := datum.ParseDType(shortTypes[kind[:1]] + kind[1:]); err == nil {
			return term{v: ops.Cast(p.g, args[0], t)}
		}
	}
	if t, err := datum.ParseDType(short); err == nil && len(args) == 1 { // numpy's, as np.int8(2)
		return term{v: ops.Cast(p.g, args[0], t)}
	}
	p.fail("there is no function %s of %d arguments", name, len(args))
	return term{}
}

// typedConstant reads types.Constant(number or list, type).
func (p *exprParser) typedConstant() term {
	t := p.compare()
	if t.isValue() {
		p.fail("types.Constant of a value; a number is wanted")
	}
	kind := p.constants
	if p.accept(",") {
		kind = p.dtype()
	}
	p.expect(")")
	if kind == 0 {
		return term{v: p.value(t)}
	}
	return term{v: p.constant(t, kind)}
}

// cast reads fn.cast(value, dtype=type).
func (p *exprParser) cast() term {
	v := p.value(p.compare())
	p.expect(",")
	t := p.dtype()
	p.expect(")")
	return term{v: ops.Cast(p.g, v, t)}
}

func (p *exprParser) dtype() datum.DType {
	if p.accept("dtype") {
		p.expect("=")
	}
	a := applyArgs{values: map[string]any{"dtype": strings.TrimPrefix(p.next(), "dali.")}}
	t := a.dtype()
	if a.first != nil {
		p.fail("%v", a.first)
	}
	return t
}
