//go:build mpi

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// mpirun returns a command that runs the program on so many ranks, with logs and
// a checkpoint in dir.
func mpirun(t *testing.T, dir string, ranks int, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("mpirun")
	require.NoError(t, err, "the tag mpi needs it: on Debian, install openmpi-bin")
	args = append([]string{
		"--allow-run-as-root", "--oversubscribe", "-n", strconv.Itoa(ranks), "-x", asProgram + "=1", "-x", pidFolder + "=" + dir,
		os.Args[0], "-log", dir, "-checkpoint", filepath.Join(dir, "run.json"),
	}, args...)
	return exec.Command(path, args...)
}

func runRanks(t *testing.T, dir string, ranks int, args ...string) {
	t.Helper()
	out, err := mpirun(t, dir, ranks, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// sorted returns the history with the samples of every step in order, whichever
// rank read them.
func (h history) sorted() [][]int64 {
	all := make([][]int64, len(h.steps))
	for i, ids := range h.steps {
		all[i] = slices.Sorted(slices.Values(ids))
	}
	return all
}

// checkAgreement checks that so many ranks ended with the same weights.
func (h history) checkAgreement(t *testing.T, ranks int) {
	t.Helper()
	require.Len(t, h.digests, ranks)
	for _, d := range h.digests {
		require.Equal(t, h.digests[0], d)
	}
}

// checkClose checks that weights, which grow to 5 in 400 epochs, are the same but for what
// rounding makes of sums in another order: measured, up to 5e-6.
func checkClose(t *testing.T, want, got [][]float32) {
	t.Helper()
	for i := range want {
		require.InDeltaSlice(t, want[i], got[i], 3e-5)
	}
}

func TestAnyNumberOfRanksLearnsTheSame(t *testing.T) {
	const epochs = 20
	one := t.TempDir()
	runRanks(t, one, 1)
	want := readHistory(t, one)
	want.checkComplete(t, epochs)
	for _, ranks := range []int{2, 4} {
		dir := t.TempDir()
		runRanks(t, dir, ranks)
		h := readHistory(t, dir)
		h.checkAgreement(t, ranks)
		require.Equal(t, want.sorted(), h.sorted(), "the global batches are the same")
		checkClose(t, weightsOf(t, filepath.Join(one, "run.json")), weightsOf(t, filepath.Join(dir, "run.json")))

		dir = t.TempDir()
		runRanks(t, dir, ranks, "-partition", "shard")
		h = readHistory(t, dir)
		h.checkAgreement(t, ranks)
		h.checkComplete(t, epochs)
	}
}

func TestFewerRanksGoOnAfterAKill(t *testing.T) {
	const epochs = 400
	for _, partition := range []string{"step", "shard"} {
		dir := t.TempDir()
		args := []string{"-epochs", strconv.Itoa(epochs), "-partition", partition}
		first := mpirun(t, dir, 4, args...)
		var out bytes.Buffer
		first.Stdout, first.Stderr = &out, &out
		require.NoError(t, first.Start())
		kill(t, dir, 2)
		require.Error(t, first.Wait(), "mpirun ends with a rank")
		require.Contains(t, out.String(), "signal 9")

		runRanks(t, dir, 3, args...)
		h := readHistory(t, dir)
		h.checkAgreement(t, 3)
		h.checkComplete(t, epochs)
		if partition == "shard" {
			continue
		}
		one := t.TempDir()
		runRanks(t, one, 1, args...)
		require.Equal(t, readHistory(t, one).sorted(), h.sorted())
		checkClose(t, weightsOf(t, filepath.Join(one, "run.json")), weightsOf(t, filepath.Join(dir, "run.json")))
	}
}

// kill kills a rank when it has taken a hundred steps and something was saved.
func kill(t *testing.T, dir string, rank int) {
	t.Helper()
	for range 60_000 {
		time.Sleep(time.Millisecond)
		text, err := os.ReadFile(filepath.Join(dir, "samples.0."+strconv.Itoa(rank)))
		if err != nil || strings.Count(string(text), "\n") < 100 {
			continue
		}
		text, err = os.ReadFile(filepath.Join(dir, "pid."+strconv.Itoa(rank)))
		require.NoError(t, err)
		pid, err := strconv.Atoi(string(text))
		require.NoError(t, err)
		process, err := os.FindProcess(pid)
		require.NoError(t, err)
		require.NoError(t, process.Kill())
		return
	}
	t.Fatal("the rank takes no steps")
}

func weightsOf(t *testing.T, file string) [][]float32 {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var c checkpoint
	require.NoError(t, json.Unmarshal(text, &c))
	return c.Weights
}
