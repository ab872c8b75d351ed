package deploy

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMpirun has mpirun start a worker on this machine, beside a training program.
func TestMpirun(t *testing.T) {
	wants(t, "mpirun")
	flags := job(t, 300)
	want := bench(t, flags...)
	c := exec.Command("mpi/run.sh", append(flags, "--digest", "--json", "--epochs", "3")...)
	c.Env = append(os.Environ(), "PATH="+filepath.Dir(command(t))+":"+os.Getenv("PATH"), "HOSTS=localhost", "PLANKTON_PORT=18571",
		"PLANKTON_TOKEN="+secret(t), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	require.NoError(t, c.Run(), "%s", errs.String())
	got := parse(t, out.String())
	require.Equal(t, want.Digests[0], got.Digests[0])
	require.Positive(t, got.Remote.Rows)
	left, _ := exec.Command("pgrep", "-f", "127.0.0.1:18571|0.0.0.0:18571").Output()
	require.Empty(t, strings.TrimSpace(string(left)), "the worker outlives the training program")
}
