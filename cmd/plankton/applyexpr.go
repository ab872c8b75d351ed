package main

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
)

var _ = applies(map[string]applyOp{
	"arithmetic":       expression,
	"math":             expression,
	"tensor_subscript": expression,
})

// expression is an operator whose entry says in Python what is computed: its inputs are a, b, c
// …, and x is the first one.
func expression(g *pipeline.Graph, in []pipeline.Value, a *applyArgs) []pipeline.Value {
	if len(in) == 0 {
		a.fail(errors.New("no inputs; an expression needs one"))
		return nil
	}
	v, err := parseExpr(g, a.expression, in)
	if err != nil {
		a.fail(fmt.Errorf("the expression %q: %w", a.expression, err))
		return nil
	}
	return []pipeline.Value{v}
}

// remark is what may stand behind an expression: the kind of its numbers, in words, or the type
// of its types.Constant.
var remark = regexp.MustCompile(`\s+(?:\((?:python )?(?:float|int|bool)\)|([uif])(8|16|32|64))$`)

// parseExpr adds the operators of an expression to a graph.
func parseExpr(g *pipeline.Graph, text string, in []pipeline.Value) (v pipeline.Value, err error) {
	p := exprParser{g: g, names: map[string]pipeline.Value{"x": in[0]}, rest: text}
	if m := remark.FindStringSubmatch(text); m != nil {
		p.rest = strings.TrimSuffix(text, m[0])
		kind := map[string]string{"u": "uint", "i": "int", "f": "float"}[m[1]]
		p.constants, _ = datum.ParseDType(kind + m[2]) // none for words
	}
	for i, x := range in {
		p.names[string(rune('a'+i))] = x
	}
	defer func() {
		switch wrong := recover().(type) {
		case nil:
		case exprError:
			err = wrong
		default:
			panic(wrong)
		}
	}()
	p.next()
	t := p.compare()
	if p.token != "" {
		p.fail("%q is left over", p.token+p.rest)
	}
	return p.value(t), nil
}

// exprParser is a recursive descent over Python's levels of precedence.
type exprParser struct {
	g         *pipeline.Graph
	names     map[string]pipeline.Value
	constants datum.DType // of types.Constant without a type; 0 for that of its number
	token     string      // the one that comes; empty at the end
	rest      string      // what is behind it
}

type exprError string

func (e exprError) Error() string { return string(e) }

func (p *exprParser) fail(format string, args ...any) { panic(exprError(fmt.Sprintf(format, args...))) }

// term is a value of the pipeline, or what Python computes itself: numbers.
type term struct {
	v       pipeline.Value // not set after a mistake
	numbers []float64      // nil for a value
	list    bool           // in brackets
	float   bool           // they are floats, not ints
	truth   bool           // they are bools
}

func (t term) isValue() bool { return t.numbers == nil }

var tokens = regexp.MustCompile(`^\s*(\d[\d_]*\.?[\d_]*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|[A-Za-z_][A-Za-z_0-9]*(?:\.[A-Za-z_][A-Za-z_0-9]*)*|\*\*|//|<<|>>|<=|>=|==|!=|\S)`)

func (p *exprParser) next() (was string) {
	was = p.token
	m := tokens.FindStringSubmatch(p.rest)
	if m == nil {
		p.token, p.rest = "", ""
		return was
	}
	p.token, p.rest = m[1], p.rest[len(m[0]):]
	return was
}

func (p *exprParser) accept(token string) bool {
	if p.token == token {
		p.next()
		return true
	}
	return false
}

func (p *exprParser) expect(token string) {
	if !p.accept(token) {
		p.fail("%q where %q is wanted", p.token, token)
	}
}

// value returns a term as a value: a Python int is int32 and a float float32, as in DALI.
func (p *exprParser) value(t term) pipeline.Value {
	if t.isValue() {
		return t.v
	}
	kind := datum.Int32
	switch {
	case t.float:
		kind = datum.Float32
	case t.truth:
		kind = datum.Bool
	}
	return p.constant(t, kind)
}

func (p *exprParser) constant(t term, kind datum.DType) pipeline.Value {
	c := ops.Constants(p.g, kind, t.numbers...)
	if t.list && len(t.numbers) == 1 {
		c = ops.ExpandDims(p.g, c, []int{0}, "")
	}
	return c
}

// binary is a level of operators of two operands.
type binaryOp func(g *pipeline.Graph, a, b pipeline.Value) pipeline.Value

var (
	comparisons = map[string]binaryOp{"<": ops.Less, "<=": ops.LessEqual, ">": ops.Greater, ">=": ops.GreaterEqual, "==": ops.Equal, "!=": ops.NotEqual}
	levels      = []map[string]binaryOp{
		{"|": ops.Or}, {"^": ops.Xor}, {"&": ops.And}, {"<<": ops.ShiftLeft, ">>": ops.ShiftRight},
		{"+": ops.Add, "-": ops.Sub}, {"*": ops.Mul, "/": ops.Div, "//": ops.FloorDiv, "%": ops.Mod},
	}
)

func (p *exprParser) compare() term {
	left := p.level(0)
	if op := comparisons[p.token]; op != nil {
		p.next()
		left = term{v: op(p.g, p.value(left), p.value(p.level(0)))}
		if comparisons[p.token] != nil {
			p.fail("two comparisons in a row; put one of them in brackets")
		}
	}
	return left
}

func (p *exprParser) level(i int) term {
	if i == len(levels) {
		return p.unary()
	}
	left := p.level(i + 1)
	for {
		op := levels[i][p.token]
		if op == nil {
			return left
		}
		sign := p.next()
		left = p.apply(sign, op, left, p.level(i+1))
	}
}

// apply computes with values, or, with two numbers, as Python does.
func (p *exprParser) apply(sign string, op binaryOp, a, b term) term {
	if a.isValue() || b.isValue() || a.list || b.list {
		return term{v: op(p.g, p.value(a), p.value(b))}
	}
	x, y := a.numbers[0], b.numbers[0]
	r := term{float: a.float || b.float}
	n := 0.0
	switch sign {
	case "+":
		n = x + y
	case "-":
		n = x - y
	case "*":
		n = x * y
	case "/":
		n, r.float = x/y, true
	case "//":
		n = math.Floor(x / y)
	case "%":
		n = x - y*math.Floor(x/y)
	case "**":
		n, r.float = math.Pow(x, y), r.float || y < 0
	default:
		return term{v: op(p.g, p.value(a), p.value(b))}
	}
	r.numbers = []float64{n}
	return r
}

func (p *exprParser) unary() term {
	switch p.token {
	case "+":
		p.next()
		return p.unary()
	case "-":
		p.next()
		t := p.unary()
		if t.isValue() {
			return term{v: ops.Neg(p.g, t.v)}
		}
		for i := range t.numbers {
			t.numbers[i] *= -1
		}
		t.truth = false
		return t
	case "~":
		p.next()
		return term{v: ops.Not(p.g, p.value(p.unary()))}
	}
	base := p.postfix()
	if p.accept("**") {
		return p.apply("**", ops.Pow, base, p.unary())
	}
	return base
}

func (p *exprParser) postfix() term {
	t := p.atom()
	for p.accept("[") {
		t = term{v: ops.Subscript(p.g, p.value(t), p.indices()...)}
	}
	return t
}

// indices reads what stands between the brackets of a subscript.
func (p *exprParser) indices() (index []ops.Index) {
	for {
		index = append(index, p.index())
		if p.accept("]") {
			return index
		}
		p.expect(",")
	}
}

func (p *exprParser) index() ops.Index {
	switch p.token {
	case "None":
		p.next()
		return ops.All()
	case "newaxis", "dali.newaxis":
		p.next()
		name := ""
		if p.accept("(") {
			p.accept(`"`)
			p.accept("'")
			name = p.next()
			p.accept(`"`)
			p.accept("'")
			p.expect(")")
		}
		return ops.NewAxis(name)
	}
	var from term
	given := p.token != ":"
	if given {
		from = p.compare()
	}
	if !p.accept(":") {
		if from.isValue() {
			return ops.AtValue(from.v)
		}
		return ops.At(p.integer(from))
	}
	x := ops.All()
	switch {
	case given && from.isValue():
		x = x.FromValue(from.v)
	case given:
		x = x.From(p.integer(from))
	}
	if p.token != ":" && p.token != "," && p.token != "]" {
		if to := p.compare(); to.isValue() {
			x = x.ToValue(to.v)
		} else {
			x = x.To(p.integer(to))
		}
	}
	if p.accept(":") && p.token != "," && p.token != "]" {
		x = x.Step(p.integer(p.compare()))
	}
	return x
}

func (p *exprParser) integer(t term) int {
	if t.isValue() || t.float || t.list {
		p.fail("an index must be an integer, and a step one that is known")
	}
	return int(t.numbers[0])
}

func (p *exprParser) atom() term {
	switch {
	case p.token == "":
		p.fail("something is missing at the end")
	case p.accept("("):
		t := p.compare()
		p.expect(")")
		return t
	case p.accept("["):
		return p.listTerm("]")
	case p.token[0] >= '0' && p.token[0] <= '9' || p.token[0] == '.':
		return p.number()
	}
	name := p.next()
	switch name {
	case "True", "False":
		n := 0.0
		if name == "True" {
			n = 1
		}
		return term{numbers: []float64{n}, truth: true}
	}
	if p.accept("(") {
		return p.call(name)
	}
	v, ok := p.names[name]
	if !ok {
		p.fail("%q is not known", name)
	}
	return term{v: v}
}

func (p *exprParser) number() term {
	text := strings.ReplaceAll(p.next(), "_", "")
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		p.fail("%q is no number", text)
	}
	return term{numbers: []float64{x}, float: strings.ContainsAny(text, ".eE")}
}

// listTerm reads numbers up to the closing bracket.
func (p *exprParser) listTerm(closing string) (all term) {
	all.list = true
	for !p.accept(closing) {
		t := p.compare()
		if t.isValue() {
			p.fail("a list holds numbers alone")
		}
		all.numbers, all.float = append(all.numbers, t.numbers...), all.float || t.float
		if p.token != closing {
			p.expect(",")
		}
	}
	if all.numbers == nil {
		p.fail("a list is empty")
	}
	return all
}
