//go:build unix && !mpi

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestKilledFiftyTimes kills a training process again and again and compares
// the samples and the weights with those of a run that is left alone.
func TestKilledFiftyTimes(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	const kills, epochs = 50, 120
	dir := inMemory(t)
	whole, broken := filepath.Join(dir, "whole"), filepath.Join(dir, "broken")
	program := func(dir string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-epochs", fmt.Sprint(epochs), "-every", "1", "-log", dir, "-checkpoint", filepath.Join(dir, "run.json"))
		cmd.Env = append(os.Environ(), asProgram+"=1")
		return cmd
	}
	for _, dir := range []string{whole, broken} {
		require.NoError(t, os.Mkdir(dir, 0o755))
	}
	out, err := program(whole).CombinedOutput()
	require.NoError(t, err, "%s", out)

	rnd := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	for n := range kills {
		cmd := program(broken)
		require.NoError(t, cmd.Start())
		if rnd.IntN(8) > 0 { // else while it starts
			awaitStep(t, broken, time.Now())
		}
		time.Sleep(time.Duration(rnd.Int64N(int64(20 * time.Millisecond))))
		require.NoError(t, cmd.Process.Kill())
		require.EqualError(t, cmd.Wait(), "signal: killed", "the run was over before kill %d: make it longer", n+1)
	}
	logs, err := filepath.Glob(filepath.Join(broken, "samples.*"))
	require.NoError(t, err)
	require.Greater(t, len(logs), kills/2, "most runs began where the one before was killed")
	out, err = program(broken).CombinedOutput()
	require.NoError(t, err, "%s", out)

	want, got := readHistory(t, whole), readHistory(t, broken)
	want.checkComplete(t, epochs)
	require.Equal(t, want, got)
	last, err := os.ReadFile(filepath.Join(whole, "run.json"))
	require.NoError(t, err)
	again, err := os.ReadFile(filepath.Join(broken, "run.json"))
	require.NoError(t, err)
	require.Equal(t, string(last), string(again))
}

// inMemory returns a folder in memory, where there is one: thousands of checkpoints that
// are written out to a disk take their time.
func inMemory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "distributed")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// awaitStep waits until a log of a folder was written after a moment.
func awaitStep(t *testing.T, dir string, since time.Time) {
	t.Helper()
	for time.Since(since) < time.Minute {
		files, err := filepath.Glob(filepath.Join(dir, "samples.*"))
		require.NoError(t, err)
		for _, name := range files {
			if info, err := os.Stat(name); err == nil && info.Size() > 0 && info.ModTime().After(since) {
				return
			}
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the program takes no step")
}
