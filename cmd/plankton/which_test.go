package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// which runs "plankton which --json" and reads what it prints.
func which(t *testing.T, into any, args ...string) {
	t.Helper()
	out, errs, code := command(append([]string{"which", "--json"}, args...)...)
	require.Zero(t, code, errs)
	require.Empty(t, errs)
	require.NoError(t, json.Unmarshal([]byte(out), into), out)
}

// planned is what "plankton plan" says of an epoch.
func planned(t *testing.T, args string, epoch int) [][][]int64 {
	t.Helper()
	var p struct {
		Epochs []struct{ Batches [][][]int64 }
	}
	out, errs, code := plan(args + " --json")
	require.Zero(t, code, errs)
	require.NoError(t, json.Unmarshal([]byte(out), &p))
	return p.Epochs[epoch].Batches
}

func TestWhichIsThePlanWithNames(t *testing.T) {
	dir := pictures(t, 7)
	var names []string
	for _, class := range []string{"ants", "bees"} {
		files, err := os.ReadDir(filepath.Join(dir, class))
		require.NoError(t, err)
		for _, f := range files {
			names = append(names, class+"/"+f.Name())
		}
	}
	for _, policy := range []string{"partial", "fill", "drop"} {
		epoch := planned(t, "--samples 14 --batch 2 --shards 3 --shuffle --seed 5 --epochs 3 --policy "+policy, 2)
		seen := map[string][]whichPlace{}
		for rank, steps := range epoch {
			for step, ids := range steps {
				var got whichStep
				which(t, &got, "--data", dir, "--batch", "2", "--world", "3", "--rank", fmt.Sprint(rank), "--shuffle", "--seed", "5",
					"--last-batch", policy, "--epoch", "2", "--step", fmt.Sprint(step))
				want := whichStep{Epoch: 2, Step: int64(step), Samples: []whichSample{}}
				for row, id := range ids {
					label := id / 7
					want.Samples = append(want.Samples, whichSample{row, id, names[id], &label})
					seen[names[id]] = append(seen[names[id]], whichPlace{int64(step), rank, row, id})
				}
				require.Equal(t, want, got)
			}
		}
		for _, name := range names[:5] {
			var got whichPlaces
			which(t, &got, "--data", dir, "--batch", "2", "--world", "3", "--shuffle", "--seed", "5", "--last-batch", policy, "--epoch", "2", "--sample", name)
			require.ElementsMatch(t, seen[name], got.Places)
			which(t, &got, "--data", dir, "--batch", "2", "--world", "3", "--shuffle", "--seed", "5", "--last-batch", policy, "--epoch", "2", "--sample", name, "--rank", "1")
			for _, place := range got.Places {
				require.Equal(t, 1, place.Rank)
			}
		}
	}
}

// What bench has stored leads to the step that follows it, also in another world; what
// was stored under another plan does not.
func TestWhichOfAState(t *testing.T) {
	dir := pictures(t, 7)
	file := filepath.Join(t.TempDir(), "state")
	_, errs, code := command("bench", "--workload", "eval", "--size", "8", "--data", dir, "--batch", "2", "--seed", "3", "--shuffle", "--epochs", "2", "--save-state", file)
	require.Zero(t, code, errs)
	flags := []string{"--data", dir, "--batch", "2", "--seed", "3", "--shuffle"}
	var got, want whichStep
	which(t, &got, append(flags, "--state", file)...)
	which(t, &want, append(flags, "--epoch", "2", "--step", "0")...)
	require.Equal(t, want, got)

	_, errs, code = command("which", "--data", dir, "--batch", "2", "--seed", "4", "--shuffle", "--state", file)
	require.Equal(t, 1, code)
	require.Equal(t, "plankton: --state "+file+": iterator: the state belongs to another run: the plan's seed was 3, now it is 4; go on with the same data and settings, or start anew\n", errs)
	_, errs, code = command("which", "--data", pictures(t, 6), "--batch", "2", "--seed", "3", "--shuffle", "--state", file)
	require.Equal(t, 1, code)
	require.Contains(t, errs, "the number of samples of reader reader was 14, now it is 12")
	require.NoError(t, os.WriteFile(file, []byte(`{"version":1}`), 0o644))
	_, errs, code = command(append([]string{"which", "--state", file}, flags...)...)
	require.Equal(t, 1, code)
	require.Contains(t, errs, "damaged state")
}

// A run that an interrupt ends leaves the place where it was.
func TestAnInterruptedRunLeavesItsState(t *testing.T) {
	dir, file := pictures(t, 3), filepath.Join(t.TempDir(), "state")
	c := runFlags{Workload: "decode", Data: dir, Batch: 2, Size: 8, World: 1, Prefetch: 2, Epochs: 1 << 20, SaveState: file}
	var out strings.Builder
	_, err := c.run(&stdio{&out, &out}, watch{batch: interrupt(t)})
	require.Error(t, err)
	var got whichStep
	which(t, &got, "--data", dir, "--batch", "2", "--state", file)
	require.NotEmpty(t, got.Samples)
	require.NotEqual(t, [2]int64{0, 0}, [2]int64{got.Epoch, got.Step})
}

func TestWhichForAPerson(t *testing.T) {
	dir := pictures(t, 2)
	out, errs, code := command("which", "--data", dir, "--batch", "3", "--epoch", "0", "--step", "0")
	require.Zero(t, code, errs)
	require.Equal(t, `epoch 0, step 0 of 2, rank 0 of 1: 3 samples
row  index  label   name
0    0      0 ants  ants/00.jpg
1    1      0 ants  ants/01.jpg
2    2      1 bees  bees/00.jpg
`, out)
	out, _, _ = command("which", "--data", dir, "--batch", "3", "--sample", "bees/01.jpg")
	require.Equal(t, `epoch 0: bees/01.jpg comes 1 time
step  rank  row  index
1     0     0    3
`, out)
	out, _, _ = command("which", "--data", dir, "--batch", "3", "--world", "5", "--rank", "0", "--epoch", "0", "--step", "0")
	require.Equal(t, "epoch 0, step 0 of 1, rank 0 of 5: 0 samples\n", out, "a rank that has nothing to read")
}

// Data that have no files are named as messages name them.
func TestWhichOfIDXFiles(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "train-images-idx3-ubyte"), append([]byte{0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 1}, 7, 8, 9), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "train-labels-idx1-ubyte"), append([]byte{0, 0, 8, 1, 0, 0, 0, 3}, 4, 5, 6), 0o644))
	var got whichStep
	which(t, &got, "--data", dir, "--batch", "2", "--epoch", "0", "--step", "1")
	label := int64(6)
	require.Equal(t, []whichSample{{0, 2, filepath.Join(dir, "train-images-idx3-ubyte") + "[2]", &label}}, got.Samples)
}

func TestWhichRefuses(t *testing.T) {
	dir := pictures(t, 2)
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"", 2, "give one of --epoch E --step K, --state FILE and --sample NAME"},
		{"--epoch 1", 2, "give one of --epoch E --step K, --state FILE and --sample NAME"},
		{"--epoch 1 --step 0 --sample x", 2, "give one of --epoch E --step K, --state FILE and --sample NAME"},
		{"--step 4", 2, "--step 4 is of which epoch? give --epoch, too"},
		{"--state x --epoch 1", 2, "--state x says which epoch it is; leave --epoch out"},
		{"--batch 0 --epoch 0 --step 0", 2, "--batch is 0; it must be at least 1"},
		{"--world 0 --epoch 0 --step 0", 2, "--world is 0; it must be at least 1"},
		{"--rank 1 --epoch 0 --step 0", 2, "--rank 1 --world 1: the rank must be 0 … world-1"},
		{"--epoch 0 --step 100000", 1, "--step is 100000; want 0 to 0 in epoch 0"},
		{"--epoch=-1 --step 0", 1, "--epoch is -1; want a number from 0 on"},
		{"--sample ants/02.jpg", 1, "--sample: there is no sample ants/02.jpg in " + dir + "; names are such as ants/00.jpg"},
		{"--state " + dir + "/none", 1, "open " + dir + "/none: no such file or directory"},
		{"--last-batch drop --epoch 0 --step 0", 1, "shard: the epoch has no step: policy drop, 4 samples per rank, batches of 64; use a batch of at most 4 or another policy"},
	} {
		out, errs, code := command(append([]string{"which", "--data", dir}, strings.Fields(c.args)...)...)
		require.Equal(t, c.code, code, c.args)
		require.Empty(t, out)
		require.Equal(t, "plankton: "+c.want+"\n", errs, c.args)
	}
	_, errs, code := command("which", "--data", dir+"/none", "--epoch", "0", "--step", "0")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "--data "+dir+"/none: no such file or directory")
}

// The order that trains on shards is the plan's with blocks of the shards, for bench and
// which, from a folder and from a bucket.
func TestShuffleGroup(t *testing.T) {
	dir := t.TempDir()
	_, errs, code := command("convert", "--data", pictures(t, 7), "--to", dir, "--no-shuffle", "--per-shard", "3")
	require.Zero(t, code, errs)
	const flags = "--batch 4 --seed 5 --shuffle-group 2"
	var ids []int64
	for step := range 4 {
		var got whichStep
		which(t, &got, append(strings.Fields(flags), "--data", dir, "--shuffle", "--epoch", "1", "--step", fmt.Sprint(step))...)
		for _, s := range got.Samples {
			ids = append(ids, s.Index)
		}
	}
	var want []int64
	for _, step := range planned(t, "--samples 14 --batch 4 --shuffle --seed 5 --epochs 2 --block-ends 3,6,9,12,14 --block-group 2", 1)[0] {
		want = append(want, step...)
	}
	require.Equal(t, want, ids)

	run := "--workload train --size 32 --epochs 2 --digest " + flags
	local := bench(t, dir, run).Digests
	require.NotEqual(t, bench(t, dir, strings.TrimSuffix(run, flags)+"--batch 4 --seed 5").Digests, local)
	bucketOf(t, dir)
	require.Equal(t, local, bench(t, "s3://data/train", run).Digests)
	for _, wrong := range []struct {
		code int
		args string
		want string
	}{
		{1, "bench --workload train --shuffle-group 2 --data " + pictures(t, 1), "--shuffle-group is 2 shards, but reader \"reader\" does not know of shards; leave it out, or give a folder of shards"},
		{2, "bench --workload eval --shuffle-group 2 --data " + dir, "--shuffle-group is 2, but the run does not shuffle; add --shuffle"},
		{2, "bench --workload train --shuffle-group=-2 --data " + dir, "--shuffle-group is -2; want a number of shards"},
		{2, "which --epoch 0 --step 0 --shuffle-group 2 --data " + dir, "--shuffle-group is 2, but the run does not shuffle; add --shuffle"},
	} {
		_, errs, code := command(strings.Fields(wrong.args)...)
		require.Equal(t, wrong.code, code, errs)
		require.Contains(t, errs, wrong.want)
	}
}
