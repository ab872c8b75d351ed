// Package neonwords is for tests of arm64 assembly: it compares the instructions that the Go
// assembler has no names for, which are words computed by macros, with those of another
// assembler.
package neonwords

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// macros are the definitions of a header, by name.
type macros map[string]macro

type macro struct {
	params []string
	value  ast.Expr
	word   bool // an instruction, not a part of one
}

var definition = regexp.MustCompile(`(?m)^#define (\w+)\(([^)]*)\) (WORD \$)?(\(.*\))$`)

// Check evaluates the macros of a header for each line of a list: a macro with its arguments,
// the word it must make, in hexadecimal digits, and the instruction as the GNU assembler has
// it. Every macro must be in the list. The script words of this package makes the second
// column from the third.
func Check(t *testing.T, header, list string) {
	t.Helper()
	text, err := os.ReadFile(header)
	require.NoError(t, err)
	defined := macros{}
	for _, m := range definition.FindAllStringSubmatch(string(text), -1) {
		value, err := parser.ParseExpr(m[4])
		require.NoError(t, err, m[0])
		defined[m[1]] = macro{strings.Split(m[2], ", "), value, m[3] != ""}
	}
	require.Len(t, defined, strings.Count(string(text), "#define "), "a definition that this test does not understand")

	text, err = os.ReadFile(list)
	require.NoError(t, err)
	listed := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		column := strings.Split(line, "\t")
		require.Len(t, column, 3, line)
		call, err := parser.ParseExpr(column[0])
		require.NoError(t, err, line)
		want, err := strconv.ParseUint(column[1], 16, 32)
		require.NoError(t, err, line)
		require.Equal(t, want, defined.eval(t, call, nil), line)
		listed[call.(*ast.CallExpr).Fun.(*ast.Ident).Name] = true
	}
	for name, m := range defined {
		require.Equal(t, m.word, listed[name], name)
	}
}

// eval returns the value of an expression, given its parameters. It takes operators of one
// rank from the left; the assembler takes them from the right, so that headers must set
// parentheses.
func (m macros) eval(t *testing.T, e ast.Expr, params map[string]uint64) uint64 {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return m.eval(t, e.X, params)
	case *ast.BasicLit:
		v, err := strconv.ParseUint(e.Value, 0, 32)
		require.NoError(t, err)
		return v
	case *ast.Ident:
		require.Contains(t, params, e.Name)
		return params[e.Name]
	case *ast.CallExpr:
		called, ok := m[e.Fun.(*ast.Ident).Name]
		require.True(t, ok, "there is no macro %v", e.Fun)
		require.Len(t, e.Args, len(called.params), "%v", e.Fun)
		args := map[string]uint64{}
		for i, name := range called.params {
			args[name] = m.eval(t, e.Args[i], params)
		}
		return m.eval(t, called.value, args)
	case *ast.BinaryExpr:
		x, y := m.eval(t, e.X, params), m.eval(t, e.Y, params)
		switch e.Op {
		case token.OR:
			return x | y
		case token.AND:
			return x & y
		case token.SUB:
			return x - y
		case token.SHL:
			return x << y
		case token.SHR:
			return x >> y
		}
	}
	require.Failf(t, "not understood", "%T in a macro", e)
	return 0
}
