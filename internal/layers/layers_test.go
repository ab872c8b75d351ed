package layers

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/planktonml/plankton/"

// may lists what each package may import of this module. Packages under cmd,
// examples and benchmarks may import everything.
var may = map[string][]string{
	"shard":                   {},
	"memstats":                {},
	"internal/imaging":        {},
	"internal/jpeg":           {},
	"internal/jpeg/turbo":     {"internal/jpeg"},
	"internal/layers":         {},
	"internal/datatest":       {},
	"internal/guardpage":      {},
	"internal/png":            {},
	"internal/workload":       {"pipeline", "pipeline/ops", "pipeline/readers"},
	"internal/region":         {},
	"internal/affinity":       {},
	"internal/usage":          {},
	"internal/terminal":       {},
	"internal/sticky":         {},
	"internal/report":         {"pipeline"},
	"internal/accel":          {"memstats"},
	"internal/dynlib":         {},
	"internal/serial":         {},
	"streams":                 {"memstats", "internal/serial"},
	"streams/streamtest":      {"streams"},
	"streams/cuda":            {"streams", "memstats", "internal/accel", "internal/dynlib", "internal/serial", "streams/cuda/kernels"},
	"streams/cuda/nvjpeg":     {"streams", "streams/cuda", "internal/accel", "internal/dynlib"},
	"streams/cuda/kernels":    {},
	"streams/cuda/fakedriver": {"streams/cuda/kernels"},
	"streams/cuda/cudatest":   {"streams", "streams/cuda", "streams/cuda/fakedriver", "streams/cuda/nvjpeg"},
	"executor":                {"streams", "memstats"},
	"pipeline":                {"executor", "streams", "memstats", "shard", "internal/accel", "internal/affinity", "internal/region", "internal/usage"},
	"pipeline/readers":        {"pipeline", "internal/imaging"},
	"pipeline/ops":            {"pipeline", "executor", "streams", "internal/accel", "internal/imaging", "internal/jpeg", "internal/jpeg/turbo", "internal/png"},
	"iterator":                {"pipeline", "shard", "internal/sticky", "internal/terminal"},
	"solvers":                 {},
	"gorgoniaplugin":          {"iterator", "pipeline", "shard", "memstats", "streams", "streams/cuda", "internal/sticky"}, // streams/cuda with the tag cuda
}

// gorgonia lists the packages that may import Gorgonia and its tensors.
var gorgonia = []string{"gorgoniaplugin", "solvers"}

func TestImportsPointOneWay(t *testing.T) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,GoFiles", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("the go command is not there")
	}
	require.NoError(t, err)
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p struct {
			ImportPath string
			Imports    []string
			GoFiles    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
		name := strings.TrimPrefix(p.ImportPath, module)
		top, _, _ := strings.Cut(name, "/")
		if slices.Contains([]string{"cmd", "examples", "benchmarks"}, top) {
			continue
		}
		allowed, known := may[name]
		require.True(t, known, "package %s is not in the table of layers", name)
		for _, imp := range p.Imports {
			if inner, ok := strings.CutPrefix(imp, module); ok {
				require.Contains(t, allowed, inner, "%s may not import %s", name, inner)
			}
			if strings.HasPrefix(imp, "gorgonia.org/") {
				require.Contains(t, gorgonia, name, "%s may not import %s", name, imp)
			}
		}
	}
}
