package layers

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAllocationsAreCountedInOneWay: a bare count fails by chance, under the race detector
// above all, so tests count by internal/alloctest.
func TestAllocationsAreCountedInOneWay(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	require.NoError(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, "_test.go") || filepath.Base(path) == "allocations_test.go" {
			return err
		}
		text, err := os.ReadFile(path)
		require.NotContains(t, string(text), "testing.AllocsPerRun", path)
		return err
	}))
}
