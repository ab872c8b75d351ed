package deploy

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// slurmConf is a cluster of one node, this machine, on which everybody trusts everybody.
const slurmConf = `ClusterName=test
SlurmctldHost=%[2]s(127.0.0.1)
SlurmctldPort=%[3]d
SlurmdPort=%[4]d
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
KillWait=30
StateSaveLocation=%[1]s/state
SlurmdSpoolDir=%[1]s/spool
SlurmctldPidFile=%[1]s/slurmctld.pid
SlurmdPidFile=%[1]s/slurmd.pid
SlurmctldLogFile=%[1]s/slurmctld.log
SlurmdLogFile=%[1]s/slurmd.log
NodeName=%[2]s NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=%[2]s Default=YES State=UP
`

// cluster starts slurmctld and slurmd and returns a function that runs commands of Slurm.
func cluster(t *testing.T, environment ...string) func(name string, args ...string) string {
	t.Helper()
	host, err := os.Hostname()
	require.NoError(t, err)
	dir := t.TempDir()
	var ports [2]int
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		ports[i] = l.Addr().(*net.TCPAddr).Port
		require.NoError(t, l.Close())
	}
	conf := filepath.Join(dir, "slurm.conf")
	require.NoError(t, os.WriteFile(conf, fmt.Appendf(nil, slurmConf, dir, host, ports[0], ports[1]), 0o644))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "state"), 0o755))
	environment = append(append(os.Environ(), environment...), "SLURM_CONF="+conf)
	for _, daemon := range []string{"slurmctld", "slurmd"} {
		c := exec.Command(daemon, "-D", "-f", conf)
		c.Env = environment
		require.NoError(t, c.Start())
		t.Cleanup(func() { c.Process.Signal(syscall.SIGTERM); c.Wait() })
	}
	slurm := func(name string, args ...string) string {
		c := exec.Command(name, args...)
		c.Env, c.Dir = environment, dir
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s %q: %s", name, args, out)
		return strings.TrimSpace(string(out))
	}
	eventually(t, "a node is idle", func() bool {
		c := exec.Command("sinfo", "--noheader", "--format=%t")
		c.Env = environment
		out, _ := c.Output()
		return strings.TrimSpace(string(out)) == "idle"
	})
	return slurm
}

// TestSlurm runs a job array of workers beside a training job; a worker is cancelled while the
// job runs, and all are gone behind it.
func TestSlurm(t *testing.T) {
	wants(t, "slurm")
	flags := job(t, 300)
	want := bench(t, append(flags, "--epochs", "6")...)
	slurm := cluster(t, "PATH="+filepath.Dir(command(t))+":"+os.Getenv("PATH"), "PLANKTON_TOKEN="+secret(t), "PLANKTON_PORT=18671")
	scripts, err := filepath.Abs("slurm")
	require.NoError(t, err)

	workers := slurm("sbatch", append([]string{"--parsable", "--array=0-2", "--cpus-per-task=1", filepath.Join(scripts, "workers.sbatch")}, flags...)...)
	eventually(t, "all workers run", func() bool {
		return strings.Count(slurm("squeue", "--noheader", "--states=RUNNING", "--jobs="+workers, "--format=%K"), "\n") == 2
	})
	out := filepath.Join(t.TempDir(), "train.out")
	train := slurm("sbatch", append([]string{"--parsable", "--cpus-per-task=1", "--output=" + out, filepath.Join(scripts, "train.sbatch"), workers},
		append(flags, "--epochs", "6", "--digest", "--json")...)...)
	eventually(t, "the second worker makes rows", func() bool { return metric(t, "127.0.0.1:18672", "plankton_worker_rows_total") > 0 })
	slurm("scancel", workers+"_1")
	eventually(t, "the training job and its workers have ended", func() bool {
		return slurm("squeue", "--noheader", "--format=%i") == ""
	})
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Contains(t, slurm("scontrol", "--oneliner", "show", "job", train), "JobState=COMPLETED", "%s", text)
	got := parse(t, string(text))
	require.Equal(t, want.Digests, got.Digests)
	require.Positive(t, got.Remote.Rows)
}
