// Package datatest finds what tests compare with and read, which is not part of the
// module: data sets in the folder that PLANKTON_DATA names, and figures recorded from
// other programs in that of PLANKTON_VECTORS. Tests that need what is not there are
// skipped.
package datatest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Data returns a path in the folder of the data sets.
func Data(t testing.TB, path ...string) string {
	t.Helper()
	return filepath.Join(append([]string{folder(t, "PLANKTON_DATA", "the data sets")}, path...)...)
}

// Vectors returns the contents of a file of recorded figures.
func Vectors(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder(t, "PLANKTON_VECTORS", "the recorded figures"), name))
	require.NoError(t, err)
	return text
}

// Photographs returns the names, without folders, and the contents of JPEG files of
// natural pictures.
func Photographs(t testing.TB) (names []string, files [][]byte) {
	t.Helper()
	names, err := filepath.Glob(Data(t, "imagenet-sample", "*.JPEG"))
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for i, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		files = append(files, text)
		names[i] = filepath.Base(name)
	}
	return names, files
}

// folder returns what the variable of the environment is, or skips the test.
func folder(t testing.TB, variable, of string) string {
	t.Helper()
	dir := os.Getenv(variable)
	if dir == "" {
		t.Skipf("%s is not set: it names the folder of %s", variable, of)
	}
	return dir
}
