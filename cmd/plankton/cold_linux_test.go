package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// How many files a file system lets go of is its own matter, as on one in memory;
// what it keeps is not counted as cold.
func TestBenchCold(t *testing.T) {
	dir := pictures(t, 4)
	res := bench(t, dir, "--workload decode --batch 4 --cold")
	require.EqualValues(t, 8, res.Images)
	require.NotNil(t, res.ColdFiles)
	require.LessOrEqual(t, *res.ColdFiles, int64(8))
	require.Nil(t, bench(t, dir, "--workload decode --batch 4 --read-ahead=-1").ColdFiles)
}

func TestUncached(t *testing.T) {
	path := t.TempDir() + "/f"
	require.NoError(t, os.WriteFile(path, make([]byte, 100_000), 0o644))
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	cold, err := uncached(f)
	require.NoError(t, err)
	require.False(t, cold, "it was just written")
	_, err = evictFile(path)
	require.NoError(t, err)
}
