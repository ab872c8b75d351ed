//go:build unix

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// asProgram has the test binary be the program, with a model that takes a while.
const asProgram = "PLANKTON_INFERENCE_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	slow := moments
	slow.run = func(rows [][]float32) ([][]float32, error) {
		time.Sleep(5 * time.Millisecond)
		return moments.run(rows)
	}
	if err := run(context.Background(), os.Args[1:], os.Stdout, slow); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A job that is killed again and again, at any moment, writes what one that is left alone does.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	dir, _ := album(t, 1600) // 100 batches, half a second
	out := filepath.Join(t.TempDir(), "scores.csv")
	whole := filepath.Join(t.TempDir(), "scores.csv")
	program := func(out string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-data", dir, "-out", out, "-every", "3")
		cmd.Env = append(os.Environ(), asProgram+"=1")
		return cmd
	}
	text, err := program(whole).CombinedOutput()
	require.NoError(t, err, "%s", text)

	rnd := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	kills := 0
	for range 12 {
		cmd := program(out)
		require.NoError(t, cmd.Start())
		if rnd.IntN(4) > 0 { // else while it starts
			awaitStore(t, out+".state", time.Now())
		}
		time.Sleep(time.Duration(rnd.Int64N(int64(60 * time.Millisecond))))
		require.NoError(t, cmd.Process.Kill())
		if err := cmd.Wait(); err != nil {
			require.EqualError(t, err, "signal: killed")
			kills++
		}
	}
	require.GreaterOrEqual(t, kills, 3)
	text, err = program(out).CombinedOutput()
	require.NoError(t, err, "%s", text)
	want, err := os.ReadFile(whole)
	require.NoError(t, err)
	got, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

// awaitStore waits until a place was stored after a moment.
func awaitStore(t *testing.T, name string, since time.Time) {
	t.Helper()
	for time.Since(since) < time.Minute {
		if info, err := os.Stat(name); err == nil && info.ModTime().After(since) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
