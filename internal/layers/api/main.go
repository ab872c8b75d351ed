// Command api prints what programs can name of this module: a line for each exported function, method,
// type, field, constant and variable of the public packages. The listing is stored in api.txt, and a
// test compares the two, so that no change of the API goes unseen.
//
//	go run ./internal/layers/api -write
package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planktonml/plankton/internal/layers"
)

// stored is the listing, below the root of the module.
const stored = "internal/layers/api/api.txt"

func main() {
	write := flag.Bool("write", false, "store the listing in "+stored)
	flag.Parse()
	text, err := listing(".")
	if err == nil && *write {
		err = os.WriteFile(stored, []byte(text), 0o666)
	} else if err == nil {
		_, err = os.Stdout.WriteString(text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}

// listing returns the lines of all public packages of the module at root, and of the module gomlxplugin in it.
func listing(root string) (string, error) {
	cmd := exec.Command("go", "list", "-f", "{{if ne .Name `main`}}{{.ImportPath}}\t{{.Dir}}\t{{join .GoFiles `\t`}}{{end}}", "./...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	packages, err := cmd.Output()
	if err != nil {
		return "", err
	}
	var lines []string
	for p := range strings.Lines(string(packages)) {
		fields := strings.Split(strings.TrimRight(p, "\r\n"), "\t")
		if len(fields) < 3 || private(fields[0]) {
			continue
		}
		if lines, err = list(lines, fields[0], fields[1], fields[2:]); err != nil {
			return "", err
		}
	}
	plugin, err := filepath.Glob(filepath.Join(root, "gomlxplugin", "*.go"))
	if err != nil {
		return "", err
	}
	for i, file := range plugin {
		plugin[i] = filepath.Base(file)
	}
	plugin = slices.DeleteFunc(plugin, func(file string) bool { return strings.HasSuffix(file, "_test.go") })
	if lines, err = list(lines, "github.com/planktonml/plankton/gomlxplugin", filepath.Join(root, "gomlxplugin"), plugin); err != nil {
		return "", err
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n") + "\n", nil
}

// private reports whether programs have no business with a package.
func private(path string) bool {
	return slices.ContainsFunc(strings.Split(path, "/"), func(part string) bool {
		return part == "internal" || part == "benchmarks" || part == "examples" || part == "cudatest" || part == "fakedriver"
	})
}

// list appends the lines of a package.
func list(lines []string, path, dir string, files []string) ([]string, error) {
	_, name, _ := strings.Cut(path, "planktonml/plankton/")
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, file), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range tree.Decls {
			for _, line := range declared(d) {
				lines = append(lines, name+": "+line)
			}
		}
	}
	return lines, nil
}

// declared returns the lines of a declaration.
func declared(d ast.Decl) (lines []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if of := layers.Receiver(d); d.Name.IsExported() && (d.Recv == nil || ast.IsExported(of)) {
			lines = append(lines, text(&ast.FuncDecl{Recv: unnamed(d.Recv), Name: d.Name, Type: d.Type}))
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					lines = append(lines, typeLines(s)...)
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() {
						lines = append(lines, strings.TrimSpace(d.Tok.String()+" "+n.Name+" "+text(s.Type)))
					}
				}
			}
		}
	}
	return lines
}

// unnamed is a receiver without its name, which says nothing to callers.
func unnamed(l *ast.FieldList) *ast.FieldList {
	if l == nil {
		return nil
	}
	return &ast.FieldList{List: []*ast.Field{{Type: l.List[0].Type}}}
}

// typeLines returns a line for the type and one for each exported field or method in it.
func typeLines(s *ast.TypeSpec) []string {
	head := "type " + s.Name.Name
	if s.TypeParams != nil {
		for _, p := range s.TypeParams.List {
			head += " [" + text(p.Type) + "]"
		}
	}
	if s.Assign.IsValid() {
		return []string{head + " = " + text(s.Type)}
	}
	var parts *ast.FieldList
	switch t := s.Type.(type) {
	case *ast.StructType:
		parts, head = t.Fields, head+" struct"
	case *ast.InterfaceType:
		parts, head = t.Methods, head+" interface"
	default:
		return []string{head + " " + text(s.Type)}
	}
	lines := []string{head}
	for _, f := range parts.List {
		if len(f.Names) == 0 {
			lines = append(lines, head+", "+text(f.Type))
		}
		for _, n := range f.Names {
			if n.IsExported() {
				lines = append(lines, head+", "+n.Name+" "+text(f.Type))
			}
		}
	}
	return lines
}

// text prints a piece of source on one line.
func text(node any) string {
	if e, ok := node.(ast.Expr); ok && e == nil || node == nil {
		return ""
	}
	var b bytes.Buffer
	if err := printer.Fprint(&b, token.NewFileSet(), node); err != nil {
		return ""
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
