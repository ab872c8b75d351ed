package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The API is what is stored. A line that is gone or changed breaks programs.
func TestAPIIsWhatIsStored(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	is, err := listing(root)
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(root, stored))
	require.NoError(t, err)
	want := strings.ReplaceAll(string(text), "\r\n", "\n")
	gone, fresh := missing(want, is), missing(is, want)
	if len(gone)+len(fresh) > 0 {
		t.Errorf("the API has changed: say so in CHANGELOG.md, and what to write instead of what is gone, then run\n\tgo run ./internal/layers/api -write\ngone:\n\t%s\nnew:\n\t%s",
			strings.Join(gone, "\n\t"), strings.Join(fresh, "\n\t"))
	}
}

// missing returns the lines of a that b does not have.
func missing(a, b string) (lines []string) {
	has := strings.Split(b, "\n")
	for line := range strings.Lines(a) {
		if line = strings.TrimSpace(line); !slices.Contains(has, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// Every public package shows how it is used: an example that runs, but where that takes a server.
func TestEveryPackageHasAnExample(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	is, err := listing(root)
	require.NoError(t, err)
	servers := []string{"storage/azure", "storage/cache", "storage/gcs", "storage/s3"}
	var packages []string
	for line := range strings.Lines(is) {
		name, _, _ := strings.Cut(line, ":")
		packages = append(packages, name)
	}
	for _, name := range slices.Compact(packages) {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(name), "*_test.go"))
		require.NoError(t, err)
		var all strings.Builder
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			all.Write(text)
		}
		require.Contains(t, all.String(), "\nfunc Example", name)
		if !slices.Contains(servers, name) {
			require.Regexp(t, "// (Unordered o|O)utput:", all.String(), name)
		}
	}
}

// Every kind of declaration has a line, and what is not exported has none.
func TestLines(t *testing.T) {
	dir := t.TempDir()
	source := `package p
type S struct { A, b int; E }
type G[T any] struct{}
type I interface { M(x int) error; hidden() }
type N = S
type F func(a string) bool
func (s *S) Do(x ...int) (err error) { return nil }
func (g G[T]) Get() T { panic(1) }
func (u hidden) Not() {}
func New(a, b int) *S { return nil }
func no() {}
const C, d = 1, 2
var V error
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p.go"), []byte(source), 0o666))
	lines, err := list(nil, "github.com/planktonml/plankton/p", dir, []string{"p.go"})
	require.NoError(t, err)
	require.Equal(t, []string{
		"p: type S struct", "p: type S struct, A int", "p: type S struct, E", "p: type G [any] struct", "p: type I interface", "p: type I interface, M func(x int) error",
		"p: type N = S", "p: type F func(a string) bool", "p: func (*S) Do(x ...int) (err error)", "p: func (G[T]) Get() T", "p: func New(a, b int) *S", "p: const C", "p: var V error",
	}, lines)
}
