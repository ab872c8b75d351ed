package main

import (
	"os"
	"path/filepath"
	"testing"

	pq "github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
)

// tableOf writes the pictures of a folder with one folder per class into a table.
func tableOf(t *testing.T, dir string) string {
	t.Helper()
	type row struct {
		Image []byte `parquet:"image"`
		Label int64  `parquet:"label"`
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	require.NoError(t, err)
	to := t.TempDir()
	f, err := os.Create(filepath.Join(to, "a.parquet"))
	require.NoError(t, err)
	w := pq.NewGenericWriter[row](f, pq.MaxRowsPerRowGroup(5))
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		label := int64(0)
		if filepath.Base(filepath.Dir(file)) == "bees" {
			label = 1
		}
		_, err = w.Write([]row{{text, label}})
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, f.Close())
	return to
}

// A table is looked at, read and named like a folder of the same pictures.
func TestTables(t *testing.T) {
	dir := pictures(t, 7)
	to := tableOf(t, dir)
	folder, table := inspect(t, dir), inspect(t, to)
	require.Equal(t, folder.Samples, table.Samples)
	require.Equal(t, folder.Mean, table.Mean)
	require.Equal(t, []classCount{{"0", 7}, {"1", 7}}, table.Classes)
	require.Equal(t, &tableLook{Columns: []string{"image (uint8 ?)", "label (int64 scalar)"}, RowGroups: 3, MostRows: 5, PageRows: table.Table.PageRows, FullShuffle: 1}, table.Table)
	text, _, code := command("inspect", "--data", to)
	require.Zero(t, code)
	require.Contains(t, text, "3 row groups of up to 5 rows, pages of ")
	var one, other whichStep
	which(t, &one, "--data", dir, "--batch", "4", "--shuffle", "--epoch", "1", "--step", "2")
	which(t, &other, "--data", to, "--batch", "4", "--shuffle", "--epoch", "1", "--step", "2")
	require.Equal(t, len(one.Samples), len(other.Samples))
	for i := range one.Samples {
		require.Equal(t, one.Samples[i].Index, other.Samples[i].Index)
		require.Equal(t, one.Samples[i].Label, other.Samples[i].Label)
	}
	digests := func(data string) string {
		out, errs, code := command("bench", "--workload", "eval", "--size", "8", "--data", data, "--batch", "4", "--shuffle", "--digest", "--seed", "2")
		require.Zero(t, code, errs)
		return out[len(out)-4*65:]
	}
	require.Equal(t, digests(dir), digests(to))
}
