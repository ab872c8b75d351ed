package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/storage/index"
)

// converted runs convert, which must succeed, and returns what it printed.
func converted(t *testing.T, args ...string) convertResult {
	t.Helper()
	out, errs, code := command(append([]string{"convert", "--json"}, args...)...)
	require.Zero(t, code, errs)
	require.Empty(t, errs)
	var res convertResult
	require.NoError(t, json.Unmarshal([]byte(out), &res))
	return res
}

// contents returns the files of a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	files := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		files[e.Name()] = string(data)
	}
	return files
}

// digests returns what bench prints of a data set.
func digests(t *testing.T, data string) [][]string {
	t.Helper()
	out, errs, code := command("bench", "--json", "--workload", "train", "--data", data, "--size", "16", "--batch", "4", "--epochs", "2", "--seed", "3", "--digest")
	require.Zero(t, code, errs)
	var res benchResult
	require.NoError(t, json.Unmarshal([]byte(out), &res))
	return res.Digests
}

// A folder and the shards that are made of it give the same batches, with an index beside
// the shards and without, and whoever converts them once more gets the same bytes.
func TestConvertedShardsGiveTheSameBatches(t *testing.T) {
	folder := pictures(t, 5)
	want := digests(t, folder)
	tars := filepath.Join(t.TempDir(), "tars")
	converted(t, "--data", folder, "--to", tars, "--no-shuffle", "--per-shard", "4")
	records := filepath.Join(t.TempDir(), "records")
	res := converted(t, "--data", tars, "--to", records, "--no-shuffle", "--per-shard", "7", "--format", "tfrecord")
	require.Equal(t, convertResult{Samples: 10, Shards: 2, Written: 2, Skipped: []benchSkipped{}}, res)
	for _, dir := range []string{tars, records} {
		require.Equal(t, want, digests(t, dir))
		before := contents(t, dir)
		out, errs, code := command("index", "--data", dir)
		require.Zero(t, code, errs)
		require.Contains(t, out, "10 samples in ")
		require.Equal(t, want, digests(t, dir))
		_, errs, code = command("index", "--dali", "--data", dir)
		require.Zero(t, code, errs)
		require.Equal(t, want, digests(t, dir))
		require.NoError(t, os.Remove(filepath.Join(dir, index.FileName)))
		require.Equal(t, want, digests(t, dir), "by the files of NVIDIA DALI's form, where there are any")
		for name, content := range before {
			require.Equal(t, content, contents(t, dir)[name], name)
		}
	}
}

func TestConvertGoesOnWhereItWasInterrupted(t *testing.T) {
	folder := pictures(t, 8)
	for _, format := range []string{"tar", "tfrecord"} {
		args := []string{"--data", folder, "--seed", "4", "--per-shard", "3", "--format", format, "--to"}
		whole := t.TempDir()
		require.Equal(t, 6, converted(t, append(args, whole)...).Written)
		want := contents(t, whole)
		require.Len(t, want, 7)
		require.Zero(t, converted(t, append(args, whole)...).Written)
		for _, k := range []string{"00001", "00002", "00005"} {
			require.NoError(t, os.Remove(filepath.Join(whole, "shard-"+k+"."+format)))
		}
		require.Equal(t, 3, converted(t, append(args, whole)...).Written)
		require.Equal(t, want, contents(t, whole))
		again := t.TempDir()
		converted(t, append(args, again, "--threads", "1")...)
		require.Equal(t, want, contents(t, again))
	}
}

func TestConvertRefuses(t *testing.T) {
	folder, other, filled := pictures(t, 3), t.TempDir(), t.TempDir()
	converted(t, "--data", folder, "--to", other)
	require.NoError(t, os.WriteFile(filepath.Join(filled, "note"), nil, 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "ants", "00.jpeg"), []byte("x"), 0o666))
	twice := pictures(t, 3)
	require.NoError(t, os.WriteFile(filepath.Join(twice, "ants", "00.png"), []byte("x"), 0o666))
	for want, args := range map[string][]string{
		"holds the shards of another conversion":                   {"--data", pictures(t, 3), "--to", other, "--seed", "2"},
		"is not empty: it holds note":                              {"--data", pictures(t, 3), "--to", filled},
		"would both have the name ants/00; --number names samples": {"--data", twice, "--to", t.TempDir()},
		"--per-shard is 0":                                         {"--data", folder, "--to", t.TempDir(), "--per-shard", "0"},
		"--on-error replace would write samples twice":             {"--data", folder, "--to", t.TempDir(), "--on-error", "replace"},
		`there is no scheme "gopher"`:                              {"--data", "gopher://x", "--to", t.TempDir()},
	} {
		_, errs, code := command(append([]string{"convert"}, args...)...)
		require.NotZero(t, code)
		require.Contains(t, errs, want)
	}
	require.EqualValues(t, 7, converted(t, "--data", twice, "--to", t.TempDir(), "--number").Samples)
}

func TestConvertOfBadSamples(t *testing.T) {
	folder := pictures(t, 3)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "ants", "05.jpg"), nil, 0o666))
	_, errs, code := command("convert", "--data", folder, "--to", t.TempDir())
	require.Equal(t, 1, code)
	require.Contains(t, errs, "05.jpg: reader: the file is empty")
	to := t.TempDir()
	require.Len(t, converted(t, "--data", folder, "--to", to, "--on-error", "skip").Skipped, 1)
	require.EqualValues(t, 6, inspect(t, to).Samples)
}

// A shard of which nothing is left is not written, whether it is the only one or not.
func TestConvertWritesNoEmptyShard(t *testing.T) {
	folder := pictures(t, 3)
	for _, name := range []string{"00", "01"} { // the first shard of two
		require.NoError(t, os.WriteFile(filepath.Join(folder, "ants", name+".jpg"), nil, 0o666))
	}
	for _, format := range []string{"tar", "tfrecord"} {
		to := t.TempDir()
		args := []string{"--data", folder, "--to", to, "--on-error", "skip", "--no-shuffle", "--per-shard", "2", "--format", format}
		for _, written := range []int{2, 0} {
			res := converted(t, args...)
			require.Equal(t, []int{3, written, 1}, []int{res.Shards, res.Written, res.Empty})
			require.NotContains(t, contents(t, to), "shard-00000."+format)
			require.EqualValues(t, 4, inspect(t, to).Samples)
		}
	}
}

// What a sample has beside its picture and label goes with it, from folders to archives
// and from these to others, in any order.
func TestConvertCarriesAllMembers(t *testing.T) {
	folder := pictures(t, 2)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "ants", "00.json"), []byte("{}"), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "ants", "00.txt"), []byte("an ant"), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "ants", "01.txt"), nil, 0o666))
	tars, again, records := t.TempDir(), t.TempDir(), t.TempDir()
	converted(t, "--data", folder, "--to", tars, "--no-shuffle", "--per-shard", "2")
	require.Equal(t, map[string]int64{"jpg": 4, "cls": 4, "json": 1, "txt": 2}, inspect(t, tars).Shards.Members)
	converted(t, "--data", tars, "--to", again, "--no-shuffle", "--per-shard", "2")
	for name, content := range contents(t, tars) {
		if name != conversionFile {
			require.Equal(t, content, contents(t, again)[name], name)
		}
	}
	converted(t, "--data", again, "--to", records, "--format", "tfrecord")
	require.Equal(t, int64(2), inspect(t, records).Shards.Members["txt"])

	require.NoError(t, os.WriteFile(filepath.Join(folder, "ants", "00.cls"), []byte("7"), 0o666))
	_, errs, code := command("convert", "--data", folder, "--to", t.TempDir())
	require.Equal(t, 1, code)
	require.Contains(t, errs, "has a label by its folder and another by 00.cls; remove one of them")
	flat := t.TempDir()
	require.NoError(t, os.CopyFS(flat, os.DirFS(filepath.Join(folder, "ants"))))
	labelled := t.TempDir()
	converted(t, "--data", flat, "--to", labelled)
	require.Equal(t, map[string]int64{"jpg": 2, "cls": 1, "json": 1, "txt": 2}, inspect(t, labelled).Shards.Members)
}

func TestInspectShards(t *testing.T) {
	folder := pictures(t, 5)
	to := t.TempDir()
	converted(t, "--data", folder, "--to", to, "--per-shard", "4")
	found, plain := inspect(t, to), inspect(t, folder)
	require.Equal(t, "tar", found.Format)
	require.Equal(t, []classCount{{"0", 5}, {"1", 5}}, found.Classes)
	require.Equal(t, 3, found.Shards.Count)
	require.Equal(t, []int64{2, 4}, []int64{found.Shards.Min, found.Shards.Max})
	require.Equal(t, map[string]int64{"jpg": 8, "png": 2, "cls": 10}, found.Shards.Members)
	require.Equal(t, plain.Formats, found.Formats)
	require.Equal(t, plain.Mean, found.Mean)
	out, _, code := command("inspect", "--data", to)
	require.Zero(t, code)
	require.Contains(t, out, "tar: 3 shards of 2 … 4 samples")
	require.Contains(t, out, "members: 10 cls, 2 png, 8 jpg")

	path := filepath.Join(to, "shard-00001.tar")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data[:len(data)-3000], 0o666))
	_, errs, code := command("inspect", "--data", to)
	require.Equal(t, 1, code)
	require.Contains(t, errs, "shard-00001.tar: byte ")
	require.Contains(t, errs, "it was cut off; copy or write it again")
}

func TestIndexRefuses(t *testing.T) {
	_, errs, code := command("index", "--data", t.TempDir())
	require.Equal(t, 1, code)
	require.Contains(t, errs, "holds no shards; give a folder of .tar, .tfrecord or .mds files")
}

// An index that is older than its shards is not gone by.
func TestBenchRefusesAnOldIndex(t *testing.T) {
	to := t.TempDir()
	converted(t, "--data", pictures(t, 3), "--to", to, "--per-shard", "3")
	_, errs, code := command("index", "--data", to)
	require.Zero(t, code, errs)
	for i := range 2 {
		require.NoError(t, os.Remove(filepath.Join(to, []string{"shard-00000.tar", conversionFile}[i])))
	}
	require.NoError(t, os.Remove(filepath.Join(to, "shard-00001.tar")))
	require.NoError(t, os.Rename(filepath.Join(to, index.FileName), filepath.Join(to, "..", "kept")))
	converted(t, "--data", pictures(t, 4), "--to", to, "--per-shard", "3")
	require.NoError(t, os.Rename(filepath.Join(to, "..", "kept"), filepath.Join(to, index.FileName)))
	_, errs, code = command("bench", "--workload", "train", "--data", to)
	require.Equal(t, 1, code)
	require.Contains(t, errs, "make it again with `plankton index`")
}
