//go:build unix && !mpi

package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Ctrl-C ends the program with one line and the status of a failure; another one
// goes on from the checkpoint.
func TestAnInterruptEndsTheProgram(t *testing.T) {
	dir := t.TempDir()
	program := func(epochs string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-epochs", epochs, "-every", "1", "-log", dir, "-checkpoint", filepath.Join(dir, "run.json"))
		cmd.Env = append(os.Environ(), asProgram+"=1")
		return cmd
	}
	cmd := program("1000000")
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer cmd.Process.Kill()
	lines := bufio.NewScanner(out)
	for range 3 {
		require.True(t, lines.Scan(), "it trains")
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	for lines.Scan() {
	}
	require.EqualError(t, cmd.Wait(), "exit status 1")
	require.Equal(t, "distributed: interrupt signal received\n", complaint.String())

	require.FileExists(t, filepath.Join(dir, "run.json"))
	rest, err := program("1").CombinedOutput()
	require.NoError(t, err, "%s", rest)
}
