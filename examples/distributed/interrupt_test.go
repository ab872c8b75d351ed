//go:build unix && !mpi

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A signal ends the program after the step at hand, with a checkpoint, one line and the
// status of a failure; another one goes on from there as if nothing had been.
func TestASignalSavesAndEndsTheProgram(t *testing.T) {
	for signal, name := range map[syscall.Signal]string{syscall.SIGINT: "interrupt", syscall.SIGTERM: "terminated"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			program := func(sub string, epochs int) *exec.Cmd {
				dir := filepath.Join(dir, sub)
				require.NoError(t, os.MkdirAll(dir, 0o755))
				cmd := exec.Command(os.Args[0], "-epochs", fmt.Sprint(epochs), "-every", "1000000", "-log", dir, "-checkpoint", filepath.Join(dir, "run.json"))
				cmd.Env = append(os.Environ(), asProgram+"=1")
				return cmd
			}
			cmd := program("broken", 1000000)
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
			require.NoError(t, cmd.Process.Signal(signal))
			for lines.Scan() {
			}
			require.EqualError(t, cmd.Wait(), "exit status 1")
			saved, err := load(filepath.Join(dir, "broken", "run.json"))
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("distributed: %s signal received: stopped after step %d, which was saved; the same command goes on from there\n", name, saved.Steps), complaint.String())

			epochs := int(saved.Loader.Position().Epoch) + 2
			for _, sub := range []string{"broken", "whole"} {
				text, err := program(sub, epochs).CombinedOutput()
				require.NoError(t, err, "%s", text)
			}
			whole := readHistory(t, filepath.Join(dir, "whole"))
			whole.checkComplete(t, epochs)
			require.Equal(t, whole, readHistory(t, filepath.Join(dir, "broken")))
		})
	}
}
