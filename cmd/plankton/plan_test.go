package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// plan runs "plankton plan" and returns what it printed and its exit status.
func plan(args string) (out, errs string, code int) {
	var stdout, stderr bytes.Buffer
	code = run(append([]string{"plan"}, strings.Fields(args)...), &stdio{&stdout, &stderr})
	return stdout.String(), stderr.String(), code
}

func TestPlanJSON(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--samples 7 --batch 2", `{"epochs":[{"len":4,"batches":[[[0,1],[2,3],[4,5],[6]]]}]}`},
		{"--samples 7 --batch 2 --shards 2 --epochs 2",
			`{"epochs":[{"len":2,"batches":[[[0,1],[2]],[[3,4],[5,6]]]},{"len":2,"batches":[[[3,4],[5,6]],[[0,1],[2]]]}]}`},
		{"--samples 7 --batch 2 --shards 2 --epochs 2 --stick-to-shard --policy fill --pad-last-batch",
			`{"epochs":[{"len":2,"batches":[[[0,1],[2,2]],[[3,4],[5,6]]]},{"len":2,"batches":[[[0,1],[2,2]],[[3,4],[5,6]]]}]}`},
		{"--samples 1 --batch 2 --shards 2", `{"epochs":[{"len":1,"batches":[[[]],[[0]]]}]}`},
		{"--samples 7 --batch 2 --shards 2 --partition step", `{"epochs":[{"len":2,"batches":[[[0,1],[4]],[[2,3],[5,6]]]}]}`},
		{"--samples 5 --batch 9 --policy drop", `{"epochs":[{"len":0,"batches":[[]]}]}`},
		{"--samples 7 --batch 2 --policy fill --mode dali --size 7 --epochs 2",
			`{"epochs":[{"len":4,"batches":[[[0,1],[2,3],[4,5],[6,0]]]},{"len":4,"batches":[[[1,2],[3,4],[5,6]]]}]}`},
		{"--samples 10 --batch 4 --shards 2 --mode dali --size 10", `{"epochs":[{"len":2,"batches":[[[0,1,2,3],[4,5]],[[5,6,7,8]]]}]}`},
		{"--samples 7 --batch 2 --epochs 2 --resume 0:3",
			`{"epochs":[{"len":1,"batches":[[[6]]]},{"len":4,"batches":[[[0,1],[2,3],[4,5],[6]]]}]}`},
		{"--samples 7 --batch 2 --epochs 2 --resume 1:4", `{"epochs":[{"len":0,"batches":[[]]}]}`},
		{"--samples 16 --batch 2 --shards 2 --resume 0:2@3", `{"epochs":[{"len":1,"batches":[[[4,9]],[[14,15]]]}]}`},
		{"--samples 16 --batch 6 --shards 1 --resume 0:1@3 --partition step", `{"epochs":[{"len":2,"batches":[[[6,7,8,9,10,11],[12,13,14,15]]]}]}`},
		{"--samples 3 --batch 4 --shuffle --weights 1,0,3 --draws 4", `{"epochs":[{"len":1,"batches":[[[2,0,2,2]]]}]}`},
		{"--samples 3 --batch 4 --shuffle --weights 1,0,3 --draws 2 --once", `{"epochs":[{"len":1,"batches":[[[2,0]]]}]}`},
		{"--samples 5 --batch 4 --labels 0,0,0,1,1 --draws 6", `{"epochs":[{"len":2,"batches":[[[0,3,1,4],[2,3]]]}]}`},
		{"--samples 5 --batch 4 --subset 4,0", `{"epochs":[{"len":1,"batches":[[[4,0]]]}]}`},
		{"--samples 3 --batch 3 --shards 2 --repeat 2", `{"epochs":[{"len":1,"batches":[[[0,1,2]],[[0,1,2]]]}]}`},
		{"--samples 4 --batch 4 --repeat 2 --apart 2", `{"epochs":[{"len":2,"batches":[[[0,1,0,1],[2,3,2,3]]]}]}`},
		{"--samples 4 --batch 4 --partition step --keys 3,1,2,1", `{"epochs":[{"len":1,"batches":[[[1,3,2,0]]]}]}`},
		{"--samples 4 --batch 2 --shuffle --keys 3,1,2,1 --start 0.25 --pace-epochs 2", `{"epochs":[{"len":2,"batches":[[[1,1],[1,1]]]}]}`},
		{"--samples 8 --batch 8 --sources 9,9,9 --shares [1,1[2,1]]@1:0[1,0] --epochs 2",
			`{"epochs":[{"len":1,"batches":[[[0,9,1,10,2,18,3,11]]]},{"len":1,"batches":[[[4,5,6,7,8,0,1,2]]]}]}`},
		{"--samples 8 --batch 2 --shards 2 --partition step --lengths 9,1,8,2,7,3,6,4 --window 8 --padded",
			`{"epochs":[{"len":2,"batches":[[[0,2],[7,5]],[[4,6],[3,1]]],"padding":0.0909091,"balance":1.22917}]}`},
		{"--samples 8 --batch 2 --shards 2 --partition step --lengths 9,1,8,2,7,3,6,4 --window 8 --resume 0:1",
			`{"epochs":[{"len":1,"batches":[[[7,1]],[[5,3]]],"padding":0.285714,"balance":1}]}`},
		{"--samples 2 --batch 2 --partition step --lengths 0,0 --window 2", `{"epochs":[{"len":1,"batches":[[[0,1]]],"padding":null,"balance":null}]}`},
		{"--samples 4 --batch 4 --partition step --lengths @testdata/lengths.txt --window 4 --budget 8", `{"epochs":[{"len":2,"batches":[[[2],[0,1,3]]],"padding":0.2,"balance":1}]}`},
		{"--samples 6 --batch 6 --shuffle --block 3", `{"epochs":[{"len":1,"batches":[[[5,3,4,1,0,2]]]}]}`},
		{"--samples 12 --batch 6 --shuffle --seed 1 --block 5 --block-group 2", `{"epochs":[{"len":2,"batches":[[[0,9,6,7,1,3],[8,4,5,2,10,11]]]}]}`},
		{"--samples 12 --batch 6 --shuffle --seed 1 --block-ends 1,5,6,12 --block-group 2", `{"epochs":[{"len":2,"batches":[[[11,10,7,8,0,6],[9,2,1,5,4,3]]]}]}`},
		{"--samples 7 --batch 2 --policy fill --mode dali --epochs 2 --resume 1:2", `{"epochs":[{"len":1,"batches":[[[5,6]]]}]}`},
	} {
		out, errs, code := plan(c.args + " --json")
		require.Zero(t, code, errs)
		require.Equal(t, c.args == "--samples 1 --batch 2 --shards 2", strings.HasPrefix(errs, "plankton: warning: --shards 2 for 1 sample: in an epoch one rank has nothing to read; "), errs)
		require.LessOrEqual(t, strings.Count(errs, "\n"), 1)
		require.Equal(t, c.want+"\n", out, c.args)
	}
}

func TestPlanResumeIsTheRest(t *testing.T) {
	type printed struct {
		Epochs []struct {
			Len     int64
			Batches [][][]int64
		}
	}
	parse := func(args string) (p printed) {
		out, errs, code := plan(args + " --json")
		require.Zero(t, code, errs)
		require.NoError(t, json.Unmarshal([]byte(out), &p))
		return p
	}
	const args = "--samples 53 --batch 3 --shards 4 --shuffle --seed 7 --epochs 3"
	whole, rest := parse(args), parse(args+" --resume 1:2")
	require.Len(t, rest.Epochs, 2)
	require.Equal(t, whole.Epochs[2], rest.Epochs[1])
	require.Equal(t, whole.Epochs[1].Len-2, rest.Epochs[0].Len)
	for rank, batches := range whole.Epochs[1].Batches {
		require.Equal(t, batches[2:], rest.Epochs[0].Batches[rank])
	}

	fewer := parse("--samples 53 --batch 3 --shards 3 --shuffle --seed 7 --epochs 2 --resume 1:2@4")
	var ids []int64
	for _, batches := range whole.Epochs[1].Batches {
		ids = append(ids, slices.Concat(batches[:2]...)...)
	}
	for _, batches := range fewer.Epochs[0].Batches {
		ids = append(ids, slices.Concat(batches...)...)
	}
	slices.Sort(ids)
	require.Len(t, slices.Compact(ids), 53)
}

func TestPlanTable(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--samples 7 --batch 2 --shards 3 --policy drop --pad-last-batch --mode dali --epochs 2", `
epoch 0: 1 step of 3 ranks × 2 rows
          step 0
  rank 0  0 1
  rank 1  2 3
  rank 2  4 5
  0 repeated, 0 padded, 1 missing: 6
epoch 1: 1 step of 3 ranks × 2 rows
          step 0
  rank 0  1 1+
  rank 1  3 3+
  rank 2  6 6+
  0 repeated, 3 padded, 4 missing: 0, 2, 4-5
+  padded: repeats the last sample of the rank
`},
		{"--samples 10 --batch 4 --shards 2 --mode dali --size 10", `
epoch 0: 2 steps of 2 ranks × 4 rows
          step 0   step 1
  rank 0  0 1 2 3  4 5* - -
  rank 1  5 6 7 8  (left out)
  1 repeated, 2 padded, 1 missing: 9
*  repeated: the epoch has read this sample before
-  padded: a row without a sample
(left out)  the iterator returns no batch of this rank
`},
		{"--samples 7 --batch 2 --policy fill --mode dali --size 7 --epochs 2 --resume 1:1", `
epoch 1: 2 steps of 1 rank × 2 rows, from step 1 on, where len says 4
          step 1  step 2
  rank 0  3 4     5 6
  0 repeated, 0 padded, 1 missing: 0
`},
		{"--samples 9 --batch 2 --shards 2 --resume 0:1@3", `
epoch 0: 1 step of 2 ranks × 2 rows
          step 0
  rank 0  2 -
  rank 1  5 8
  0 repeated, 1 padded, 0 missing
-  padded: a row without a sample
`},
		{"--samples 8 --batch 2 --shards 2 --partition step --lengths 9,1,8,2,7,3,6,4 --window 8 --budget 18 --padded", `
epoch 0: 2 steps of 2 ranks × 2 rows
          step 0  step 1
  rank 0  0 2     7 5
  rank 1  4 6     3 1
  0 repeated, 0 padded, 0 missing
  9.1 % padding if rows are filled up, largest cost of a rank 1.23 × the mean
`},
		{"--samples 2 --batch 2 --sources 2,2 --shares [1,1]", `
epoch 0: 1 step of 1 rank × 2 rows
          step 0
  rank 0  0 2
  0 repeated, 0 padded, 2 missing: 1, 3
`},
		{"--samples 5 --batch 9 --policy drop", `
epoch 0: 0 steps of 1 rank × 9 rows
  0 repeated, 0 padded, 5 missing: 0-4
the epoch has no step: policy drop, 5 samples per rank, batches of 9; use a batch of at most 5 or another policy
`},
	} {
		out, errs, code := plan(c.args)
		require.Zero(t, code, errs)
		require.Equal(t, c.want, "\n"+out, c.args)
	}
}

// bench calls the policy --last-batch.
func TestPlanTakesThePolicyUnderBothNames(t *testing.T) {
	for _, policy := range []string{"partial", "fill", "drop"} {
		want, _, code := plan("--samples 7 --batch 2 --json --policy " + policy)
		require.Zero(t, code)
		got, errs, code := plan("--samples 7 --batch 2 --json --last-batch " + policy)
		require.Zero(t, code, errs)
		require.Equal(t, want, got)
	}
	_, errs, code := plan("--samples 7 --batch 2 --policy fill --last-batch drop")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "--policy and --last-batch can't be used together")
}

func TestPlanWarnsOfShardsWithoutSamples(t *testing.T) {
	for _, flag := range []string{"", " --json"} {
		out, errs, code := plan("--samples 6 --batch 2 --shards 20" + flag)
		require.Zero(t, code, "nothing is refused")
		require.NotEmpty(t, out)
		require.Equal(t, "plankton: warning: --shards 20 for 6 samples: in an epoch 14 ranks have nothing to read; want at most as many as there are samples\n", errs)
	}
	_, errs, _ := plan("--samples 20 --batch 2 --shards 20")
	require.Empty(t, errs)
}

func TestPlanTableWraps(t *testing.T) {
	out, _, code := plan("--samples 1000 --batch 8 --shards 2 --shuffle")
	require.Zero(t, code)
	require.Contains(t, out, "step 62")
	for line := range strings.Lines(out) {
		require.LessOrEqual(t, len(line), tableWidth+1)
	}
}

func TestPlanUsage(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--batch 2", "--samples"},
		{"--samples 0 --batch 2", "--samples is 0; want 1 to"},
		{"--samples 7 --batch 0", "--batch is 0; want 1 to"},
		{"--samples 7 --batch x", "--batch"},
		{"--samples 7 --batch 2 --shards 0", "--shards is 0"},
		{"--samples 7 --batch 2 --shards 9 --mode dali", "--shards is 9; want at most the number of samples (7)"},
		{"--samples 7 --batch 2 --policy half", "want one of partial, fill, drop"},
		{"--samples 7 --batch 2 --epochs 0", "--epochs is 0"},
		{"--samples 7 --batch 2 --shuffle --mode dali", "--shuffle is true"},
		{"--samples 7 --batch 2 --partition step --mode dali", "--partition is step"},
		{"--samples 7 --batch 2 --partition step --stick-to-shard", "--stick-to-shard is true"},
		{"--samples 7 --batch 2 --size 7", "--size is 7; want 0 in Exact mode"},
		{"--samples 7 --batch 2 --mode dali --size 0", "--size is 0"},
		{"--samples 7 --batch 2 --mode dali --size=-1", "--size is -1"},
		{"--samples 7 --batch 2 --mode dali --last-batch-padded", "--last-batch-padded is true"},
		{"--samples 7 --batch 2 --resume 1", `--resume is "1"; want EPOCH:STEP`},
		{"--samples 7 --batch 2 --resume 0:x", "--resume is"},
		{"--samples 7 --batch 2 --resume=-1:0", "--resume is"},
		{"--samples 7 --batch 2 --resume 0:0@0", "--resume is"},
		{"--samples 7 --batch 2 --resume 0:5", "step 5 is beyond the 4 steps of epoch 0"},
		{"--samples 7 --batch 2 --resume 1:0", "epoch 1 is not one of 1"},
		{"--samples 70 --batch 2 --resume 0:1@3 --partition step", "3 ranks cannot share global batches of 2"},
		{"--samples 70 --batch 2 --resume 0:1@3 --mode dali", "cannot change the world"},
		{"--samples 70 --batch 2 --resume 0:1@99 --mode dali", "--shards is 99"},
		{"--samples 3 --batch 2 --shuffle --weights 1,-1,0", "--weights[1] is -1; want 0 or more, and finite"},
		{"--samples 3 --batch 2 --shuffle --weights 0,0,0", "--weights is 0 for all samples; want at least one above 0"},
		{"--samples 3 --batch 2 --shuffle --weights 1,1", "--weights is 2 long; want one value for each of the 3 samples"},
		{"--samples 3 --batch 2 --weights 1,1,1", "--shuffle is false; want true"},
		{"--samples 3 --batch 2 --shuffle --weights 1,x,1", `"x" is not a number`},
		{"--samples 3 --batch 2 --lengths @testdata/none.txt", "none.txt"},
		{"--samples 3 --batch 2 --lengths 1,2,3", "--partition is shard; want ByStep with Groups"},
		{"--samples 3 --batch 2 --partition step --lengths 1,2,9 --window 3 --budget 8", "--lengths[2] is 9; want at most the Budget, 8"},
		{"--samples 3 --batch 2 --once", "--once needs --weights"},
		{"--samples 3 --batch 2 --budget 3", "--budget needs --lengths"},
		{"--samples 3 --batch 2 --sources 3", "--sources needs --shares"},
		{"--samples 3 --batch 2 --sources 3 --shares 1", `--shares is "1"; want weights such as [3,1]`},
		{"--samples 3 --batch 2 --sources 3 --shares [1]@0:1[2]", "--partition is shard; want ByStep: stage 0"},
		{"--samples 3 --batch 2 --repeat 1", "--repeat is 1; want 2 to"},
		{"--samples 3 --batch 2 --subset 1 --repeat 2", "--subset and --repeat can't be used together"},
		{"--samples 7 --batch 2 extra", "extra"},
		{"--samples 1000000000000 --batch 2", "use --json"},
		{"--samples 7 --batch 10 --mode dali --size 1152921504606846976", "a table is for at most 10000000 samples and rows; use --json"},
		{"--samples 7 --batch 10 --mode dali --size 1152921504606846976 --json", "more than 10000000000 rows; print fewer samples, epochs or --size"},
		{"--samples 7 --batch 10 --mode dali --size 1152921504606846976 --resume 0:115292150460684690", "use --json"},
		{"--samples 7 --batch 2 --epochs 9223372036854775807", "--epochs: 9223372036854775807 epochs"},
		{"--samples 7 --batch 2 --epochs 9223372036854775807 --json", "want at most 10000000"},
		{"--samples 1000 --batch 2 --epochs 1000000", "use --json"},
		{"--samples 1000000000000 --batch 2 --epochs 5 --json", "more than 10000000000 rows"},
		{"--samples 7 --batch 1000000000 --shards 1000000000 --json", "more than 10000000000 rows"},
	} {
		out, errs, code := plan(c.args)
		require.Equal(t, 2, code, c.args)
		require.Empty(t, out)
		require.Contains(t, errs, c.want, c.args)
		require.Equal(t, 1, strings.Count(errs, "\n"), errs)
		require.NotContains(t, errs, "%!")
	}
}
