// Command rooms prints the size of each package of this module: lines and files
// without tests, exported names, and exported fields. Names are types, functions,
// methods of exported types, variables and constants.
//
//	go run ./internal/layers/rooms
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/planktonml/plankton/internal/layers"
)

// room is the size of one package.
type room struct {
	lines, files, names, fields int
}

func main() {
	if err := print(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "rooms:", err)
		os.Exit(1)
	}
}

func print(out io.Writer) error {
	list, err := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,IgnoredGoFiles", "./...").Output()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "lines\tfiles\tnames\tfields\t  package")
	for dec := json.NewDecoder(bytes.NewReader(list)); ; {
		var p struct {
			ImportPath, Dir         string
			GoFiles, IgnoredGoFiles []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return w.Flush()
		} else if err != nil {
			return err
		}
		r, err := measure(p.Dir, append(p.GoFiles, p.IgnoredGoFiles...))
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t  %s\n", r.lines, r.files, r.names, r.fields, p.ImportPath)
	}
}

// measure counts the files of a package that are not tests.
func measure(dir string, files []string) (room, error) {
	var r room
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		path := filepath.Join(dir, f)
		src, err := os.ReadFile(path)
		if err != nil {
			return r, err
		}
		tree, err := parser.ParseFile(token.NewFileSet(), path, src, parser.SkipObjectResolution)
		if err != nil {
			return r, err
		}
		r.files++
		r.lines += bytes.Count(src, []byte("\n"))
		for _, d := range tree.Decls {
			r.count(d)
		}
	}
	return r, nil
}

func (r *room) count(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(layers.Receiver(d))) {
			r.names++
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					r.names++
					r.countFields(s.Type)
				}
			case *ast.ValueSpec:
				r.names += exported(s.Names)
			}
		}
	}
}

// countFields counts the exported fields of a struct and the methods of an interface.
func (r *room) countFields(t ast.Expr) {
	var fields *ast.FieldList
	switch t := t.(type) {
	case *ast.StructType:
		fields = t.Fields
	case *ast.InterfaceType:
		fields = t.Methods
	default:
		return
	}
	for _, f := range fields.List {
		r.fields += exported(f.Names)
	}
}

func exported(names []*ast.Ident) (n int) {
	for _, name := range names {
		if name.IsExported() {
			n++
		}
	}
	return n
}
