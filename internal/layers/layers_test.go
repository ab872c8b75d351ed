package layers

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/planktonml/plankton/"

// gorgonia lists the packages that may import Gorgonia and its tensors.
var gorgonia = []string{"gorgoniaplugin", "solvers"}

// tags are the tags that add imports of this module.
var tags = []string{"cuda", "turbojpeg"}

// row is a row of the table: a package, what it is, what it imports.
var row = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|[^|]*\\| ([^|]*) \\|$")

// TestImportsAreThoseOfTheTable holds in both directions: an import that the table
// does not name fails, and so does a name in the table that is not imported.
func TestImportsAreThoseOfTheTable(t *testing.T) {
	want := table(t)
	for _, tag := range append([]string{""}, tags...) {
		got := imports(t, tag)
		for name, imported := range got {
			require.Contains(t, want, name, "the package is not in the table of docs/design.md")
			named := slices.Clone(want[name][""])
			if tag != "" {
				named = append(named, want[name][tag]...)
			}
			slices.Sort(named)
			require.Equal(t, named, imported, "imports of %s with the tag %q, as docs/design.md names them and as they are", name, tag)
		}
		for name := range want {
			require.Contains(t, got, name, "docs/design.md has a package that does not exist")
		}
	}
}

// table reads the table of docs/design.md: by package and tag, what is imported.
// The cell "a, b; with the tag t: c" names a and b for every build, c with the tag.
func table(t *testing.T) map[string]map[string][]string {
	text, err := os.ReadFile("../../docs/design.md")
	require.NoError(t, err)
	_, packages, ok := strings.Cut(string(text), "\n## Packages\n")
	require.True(t, ok)
	packages, _, _ = strings.Cut(packages, "\n## ")
	all := map[string]map[string][]string{}
	for _, m := range row.FindAllStringSubmatch(packages, -1) {
		byTag := map[string][]string{}
		for i, part := range strings.Split(m[2], "; ") {
			tag := ""
			if i > 0 {
				tag, part, ok = strings.Cut(strings.TrimPrefix(part, "with the tag "), ": ")
				require.True(t, ok, "row %q", m[0])
				require.Contains(t, tags, tag)
			}
			if part != "–" {
				byTag[tag] = strings.Split(part, ", ")
			}
		}
		all[m[1]] = byTag
	}
	return all
}

// imports lists by package what it imports of this module. Packages under cmd,
// examples and benchmarks may import everything and are left out.
func imports(t *testing.T, tag string) map[string][]string {
	cmd := exec.Command("go", "list", "-tags", tag, "-json=ImportPath,Imports", "./...")
	cmd.Dir = "../.."
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=1") // files that use C are listed, and not built: the table names their imports
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("the go command is not there")
	}
	require.NoError(t, err)
	all := map[string][]string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else {
			require.NoError(t, err)
		}
		name := strings.TrimPrefix(p.ImportPath, module)
		if top, _, _ := strings.Cut(name, "/"); slices.Contains([]string{"cmd", "examples", "benchmarks"}, top) {
			continue
		}
		var inner []string
		for _, imp := range p.Imports {
			if x, ok := strings.CutPrefix(imp, module); ok {
				inner = append(inner, x)
			}
			if strings.HasPrefix(imp, "gorgonia.org/") {
				require.Contains(t, gorgonia, name, "%s may not import %s", name, imp)
			}
		}
		slices.Sort(inner)
		all[name] = inner
	}
}
