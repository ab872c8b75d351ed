package ops_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every operator has a doc comment and stands in a table of docs/operators.md; those of this
// package stand in a group of the package's doc, too.
func TestOperatorsAreInTheDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/operators.md")
	require.NoError(t, err)
	var tables strings.Builder
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(line, "|"); len(cells) > 4 {
			tables.WriteString(cells[1])
		}
	}
	for _, dir := range []string{".", "boxes", "audio"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(t, err)
		overview, found := "", 0
		for pass := range 2 { // the package's doc is read first
			for _, file := range files {
				if strings.HasSuffix(file, "_test.go") {
					continue
				}
				f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
				require.NoError(t, err)
				if pass == 0 {
					overview += f.Doc.Text()
					continue
				}
				for _, d := range f.Decls {
					fn, ok := d.(*ast.FuncDecl)
					if !ok || !isOperator(fn) {
						continue
					}
					found++
					name := fn.Name.Name
					require.True(t, strings.HasPrefix(fn.Doc.Text(), name+" "), "%s/%s has no doc comment that begins with its name", dir, name)
					if dir == "." {
						require.Contains(t, strings.FieldsFunc(overview, func(r rune) bool { return strings.ContainsRune(" ,.;:()[]\n", r) }), name,
							"%s is in no group of the package's doc", name)
						require.Contains(t, tables.String(), "`"+name+"`", "%s is in no table of docs/operators.md", name)
						continue
					}
					require.Contains(t, tables.String(), "`"+dir+"."+name+"`", "%s.%s is in no table of docs/operators.md", dir, name)
				}
			}
		}
		require.Greater(t, found, 4, dir)
	}
}

// isOperator reports whether a function adds to a graph and returns a result.
func isOperator(fn *ast.FuncDecl) bool {
	in := fn.Type.Params.List
	if fn.Recv != nil || !fn.Name.IsExported() || len(in) == 0 || fn.Type.Results == nil {
		return false
	}
	p, ok := in[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	s, ok := p.X.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "Graph" && fn.Name.Name != "NewArgs"
}
