package shard

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// lookup returns the lookup function of an environment written as "A=1 B=2".
func lookup(env string) func(string) (string, bool) {
	vars := map[string]string{}
	for pair := range strings.FieldsSeq(env) {
		name, value, _ := strings.Cut(pair, "=")
		vars[name] = value
	}
	return func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
}

const (
	torchrun = "RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 LOCAL_WORLD_SIZE=4 GROUP_RANK=1 GROUP_WORLD_SIZE=2 TORCHELASTIC_RUN_ID=r7 TORCHELASTIC_RESTART_COUNT=2"
	mpirun   = "OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=2 OMPI_COMM_WORLD_NODE_RANK=1"
	prterun  = mpirun + " PRTE_LAUNCHED=1 PMIX_RANK=3 PMIX_NAMESPACE=prterun-n1-77@1"
	hydra    = "PMI_RANK=2 PMI_SIZE=6 MPI_LOCALRANKID=2 MPI_LOCALNRANKS=3"
	srun     = "SLURM_JOB_ID=99 SLURM_STEP_ID=0 SLURM_PROCID=6 SLURM_NTASKS=7 SLURM_NPROCS=7 SLURM_STEP_NUM_TASKS=7 SLURM_LOCALID=0 " +
		"SLURM_NODEID=3 SLURM_STEP_NUM_NODES=4 SLURM_NNODES=9 SLURM_STEP_TASKS_PER_NODE=2(x3),1 SLURM_TASKS_PER_NODE=8(x9)"
	jsrun   = "JSM_NAMESPACE_RANK=1 JSM_NAMESPACE_SIZE=2 JSM_NAMESPACE_LOCAL_RANK=0 LSB_JOBID=12"
	pytorch = "KUBERNETES_SERVICE_HOST=10.0.0.1 MASTER_ADDR=m MASTER_PORT=1 RANK=2 WORLD_SIZE=3"
	pod     = "PET_NODE_RANK=1 PET_NNODES=4 PET_NPROC_PER_NODE=1 JOB_COMPLETION_INDEX=1"
)

func TestFromEnv(t *testing.T) {
	for _, c := range []struct {
		name, env string
		want      World
	}{
		{"alone", "", World{0, 1, 0, 1, 0, 1, "", 0, "none"}},
		{"empty values", "RANK= WORLD_SIZE=", World{0, 1, 0, 1, 0, 1, "", 0, "none"}},
		{"own", "PLANKTON_RANK=1 PLANKTON_WORLD_SIZE=3", World{1, 3, -1, 0, -1, 0, "", 0, "PLANKTON"}},
		{"own wins", "PLANKTON_RANK=1 PLANKTON_WORLD_SIZE=4 PLANKTON_LOCAL_RANK=1 PLANKTON_LOCAL_WORLD_SIZE=2 PLANKTON_NODE_RANK=0 PLANKTON_NODES=2 " +
			"PLANKTON_RUN_ID=x PLANKTON_INCARNATION=3 RANK=broken " + mpirun, World{1, 4, 1, 2, 0, 2, "x", 3, "PLANKTON"}},
		{"torchrun", torchrun, World{5, 8, 1, 4, 1, 2, "r7", 2, "torchrun"}},
		{"torchrun on Slurm", torchrun + " " + srun, World{5, 8, 1, 4, 1, 2, "r7", 2, "torchrun"}},
		{"torchrun in a pod", torchrun + " PET_NNODES=2 PET_NODE_RANK=1 PET_NPROC_PER_NODE=4 JOB_COMPLETION_INDEX=1", World{5, 8, 1, 4, 1, 2, "r7", 2, "torchrun"}},
		{"PyTorchJob", pytorch, World{2, 3, 0, 1, 2, 3, "", 0, "Kubeflow PyTorchJob"}},
		{"generic", "RANK=2 WORLD_SIZE=4 LOCAL_RANK=0 NODE_RANK=1", World{2, 4, 0, 0, 1, 0, "", 0, "generic"}},
		{"generic in a pod", "KUBERNETES_SERVICE_HOST=10.0.0.1 RANK=2 WORLD_SIZE=3", World{2, 3, -1, 0, -1, 0, "", 0, "generic"}},
		{"generic, half a PyTorchJob", "KUBERNETES_SERVICE_HOST=10.0.0.1 MASTER_ADDR=m RANK=2 WORLD_SIZE=3", World{2, 3, -1, 0, -1, 0, "", 0, "generic"}},
		{"generic beside a master", "MASTER_ADDR=m MASTER_PORT=1 RANK=2 WORLD_SIZE=3", World{2, 3, -1, 0, -1, 0, "", 0, "generic"}},
		{"generic that agrees", "RANK=3 WORLD_SIZE=4 " + mpirun, World{3, 4, -1, 0, -1, 0, "", 0, "generic"}},
		{"Kubeflow Trainer", pod, World{1, 4, 0, 1, 1, 4, "", 0, "Kubeflow Trainer"}},
		{"Open MPI 4", mpirun, World{3, 4, 1, 2, -1, 0, "", 0, "Open MPI"}},
		{"Open MPI 5", prterun, World{3, 4, 1, 2, -1, 0, "prterun-n1-77@1", 0, "PRRTE"}},
		{"PRRTE without MPI", "PRTE_LAUNCHED=1 PMIX_RANK=2 PLANKTON_WORLD_SIZE=4", World{2, 4, -1, 0, -1, 0, "", 0, "PRRTE"}},
		{"Open MPI on Slurm", mpirun + " " + srun, World{3, 4, 1, 2, -1, 0, "", 0, "Open MPI"}},
		{"Open MPI on Slurm with PMI", mpirun + " " + srun + " PMI_RANK=6 PMI_SIZE=7", World{3, 4, 1, 2, -1, 0, "", 0, "Open MPI"}},
		{"one node", "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=2",
			World{1, 2, 1, 2, 0, 1, "", 0, "Open MPI"}},
		{"Hydra", hydra, World{2, 6, 2, 3, -1, 0, "", 0, "PMI"}},
		{"Cray", "PMI_RANK=2 PMI_SIZE=6 PMI_LOCAL_RANK=0 PMI_LOCAL_SIZE=2", World{2, 6, 0, 2, -1, 0, "", 0, "PMI"}},
		{"jsrun", jsrun, World{1, 2, 0, 0, -1, 0, "12", 0, "LSF"}},
		{"srun", srun, World{6, 7, 0, 1, 3, 4, "99", 0, "Slurm"}},
		{"srun, old names", "SLURM_STEP_ID=1 SLURM_PROCID=1 SLURM_NPROCS=4 SLURM_RESTART_COUNT=1 SLURM_NTASKS_PER_NODE=2",
			World{1, 4, -1, 2, -1, 0, "", 1, "Slurm"}},
		{"sbatch without srun", "SLURM_JOB_ID=9 SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_NODEID=0", World{0, 1, 0, 1, 0, 1, "", 0, "none"}},
		{"interactive step", "SLURM_JOB_ID=9 SLURM_STEP_ID=4294967290 SLURM_PROCID=0 SLURM_NTASKS=8", World{0, 1, 0, 1, 0, 1, "", 0, "none"}},
		{"Indexed Job", "JOB_COMPLETION_INDEX=2 PLANKTON_WORLD_SIZE=5", World{2, 5, 0, 1, 2, 5, "", 0, "Indexed Job"}},
		{"size confirmed", mpirun + " PLANKTON_WORLD_SIZE=4", World{3, 4, 1, 2, -1, 0, "", 0, "Open MPI"}},
	} {
		w, err := FromEnv(lookup(c.env))
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, w, c.name)
	}
}

func TestFromEnvErrors(t *testing.T) {
	for _, c := range []struct{ env, source, problem, seen string }{
		{"PLANKTON_RANK=1", "PLANKTON", "PLANKTON_WORLD_SIZE is not set", "PLANKTON_RANK=1"},
		{"PLANKTON_WORLD_SIZE=2", "PLANKTON", "set PLANKTON_RANK", "PLANKTON_WORLD_SIZE=2"},
		{"PLANKTON_LOCAL_RANK=0", "PLANKTON", "PLANKTON_RANK is not set", "PLANKTON_LOCAL_RANK=0"},
		{"PLANKTON_RANK=2 PLANKTON_WORLD_SIZE=2", "PLANKTON", "rank 2 is not below the size 2", "PLANKTON_RANK=2, PLANKTON_WORLD_SIZE=2"},
		{"PLANKTON_RANK=-1 PLANKTON_WORLD_SIZE=2", "PLANKTON", "PLANKTON_RANK is not a number", "PLANKTON_RANK=-1"},
		{"PLANKTON_RANK=0 PLANKTON_WORLD_SIZE=0", "PLANKTON", "no processes", "PLANKTON_WORLD_SIZE=0"},
		{"PLANKTON_RANK=99999999999 PLANKTON_WORLD_SIZE=2", "PLANKTON", "PLANKTON_RANK is not a number", "PLANKTON_RANK=99999999999"},
		{"RANK=1", "generic", "WORLD_SIZE is not set", "RANK=1"},
		{"LOCAL_RANK=1", "generic", "RANK is not set", "LOCAL_RANK=1"},
		{"TORCHELASTIC_RUN_ID=r WORLD_SIZE=2", "torchrun", "RANK is not set", "WORLD_SIZE=2, TORCHELASTIC_RUN_ID=r"},
		{"RANK=0 WORLD_SIZE=4 LOCAL_RANK=2 LOCAL_WORLD_SIZE=2", "generic", "local rank 2 is not below", "LOCAL_RANK=2"},
		{"RANK=0 WORLD_SIZE=4 LOCAL_RANK=4", "generic", "local rank 4 is not below the 4", "LOCAL_RANK=4"},
		{"RANK=0 WORLD_SIZE=4 NODE_RANK=4", "generic", "node 4 is not below the 4", "NODE_RANK=4"},
		{"RANK=0 WORLD_SIZE=2 LOCAL_RANK=2 LOCAL_WORLD_SIZE=3", "generic", "3 processes on this node", "LOCAL_WORLD_SIZE=3"},
		{"PLANKTON_RANK=0 PLANKTON_WORLD_SIZE=2 PLANKTON_NODES=3", "PLANKTON", "3 nodes are more", "PLANKTON_NODES=3"},
		{"PLANKTON_RANK=0 PLANKTON_WORLD_SIZE=2 PLANKTON_NODES=2 PLANKTON_NODE_RANK=2", "PLANKTON", "node 2 is not below", "PLANKTON_NODE_RANK=2"},
		{"OMPI_COMM_WORLD_RANK=1", "Open MPI", "OMPI_COMM_WORLD_SIZE is not set", "OMPI_COMM_WORLD_RANK=1"},
		{"PMI_SIZE=1", "PMI", "PMI_RANK is not set", "PMI_SIZE=1"},
		{"JSM_NAMESPACE_SIZE=1", "LSF", "JSM_NAMESPACE_RANK is not set", "JSM_NAMESPACE_SIZE=1"},
		{"SLURM_STEP_ID=0 SLURM_PROCID=0", "Slurm", "SLURM_STEP_NUM_TASKS is not set", "SLURM_PROCID=0"},
		{"SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_NPROCS=3", "Slurm", "SLURM_NTASKS and SLURM_NPROCS contradict", "SLURM_NTASKS=2, SLURM_NPROCS=3"},
		{"SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_NODEID=2 SLURM_TASKS_PER_NODE=1(x2)", "Slurm", "ends before node 2", "SLURM_TASKS_PER_NODE=1(x2)"},
		{"SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_NODEID=0 SLURM_TASKS_PER_NODE=many", "Slurm", "list of tasks per node is not a number", "SLURM_TASKS_PER_NODE=many"},
		{"JOB_COMPLETION_INDEX=2", "Indexed Job", "PLANKTON_WORLD_SIZE is not set", "JOB_COMPLETION_INDEX=2"},
		{"PRTE_LAUNCHED=1 PMIX_RANK=1", "PRRTE", "OMPI_COMM_WORLD_SIZE is not set", "PMIX_RANK=1"},
		{mpirun + " PRTE_LAUNCHED=1 PMIX_RANK=1", "PRRTE", "OMPI_COMM_WORLD_RANK and PMIX_RANK contradict", "PMIX_RANK=1"},
		{mpirun + " PLANKTON_WORLD_SIZE=9", "Open MPI", "contradict", "PLANKTON_WORLD_SIZE=9"},
		{"PET_NODE_RANK=1 PET_NNODES=4 PET_NPROC_PER_NODE=2", "Kubeflow Trainer", "2 processes per node", "PET_NPROC_PER_NODE=2"},
		{"PET_NODE_RANK=1 PET_NNODES=1:4", "Kubeflow Trainer", "PET_NNODES is not a number", "PET_NNODES=1:4"},
		{"RANK=0 WORLD_SIZE=1 " + mpirun, "generic", "contradicts Open MPI", "generic: rank 0 of 1, Open MPI: rank 3 of 4"},
		{"RANK=3 WORLD_SIZE=8 " + mpirun, "generic", "contradicts Open MPI", "generic: rank 3 of 8, Open MPI: rank 3 of 4"},
		{"RANK=0 WORLD_SIZE=4 " + mpirun, "generic", "contradicts Open MPI", "generic: rank 0 of 4, Open MPI: rank 3 of 4"},
		{"RANK=0 WORLD_SIZE=1 " + srun, "generic", "contradicts Slurm", "generic: rank 0 of 1, Slurm: rank 6 of 7"},
		{mpirun + " PMI_RANK=1", "PMI", "PMI_SIZE is not set", "PMI_RANK=1"},
		{mpirun + " " + hydra, "Open MPI", "contradicts PMI", "Open MPI: rank 3 of 4, PMI: rank 2 of 6"},
	} {
		_, err := FromEnv(lookup(c.env))
		var envErr *EnvError
		require.ErrorAs(t, err, &envErr, c.env)
		require.Equal(t, c.source, envErr.Source, c.env)
		require.Contains(t, envErr.Problem, c.problem, c.env)
		require.Contains(t, envErr.Error(), c.seen, c.env)
	}
}

// An environment that lacks any one of its variables is refused, or says the same.
func TestFromEnvNeverGuesses(t *testing.T) {
	for _, env := range []string{
		"PLANKTON_RANK=1 PLANKTON_WORLD_SIZE=3", "RANK=2 WORLD_SIZE=4 LOCAL_RANK=0 NODE_RANK=1", "JOB_COMPLETION_INDEX=2 PLANKTON_WORLD_SIZE=5",
		torchrun, pytorch, pod, mpirun, prterun, hydra, srun, jsrun,
	} {
		whole, err := FromEnv(lookup(env))
		require.NoError(t, err, env)
		vars := strings.Fields(env)
		for i := range vars {
			less := strings.Join(slices.Delete(slices.Clone(vars), i, i+1), " ")
			w, err := FromEnv(lookup(less))
			if err != nil {
				require.ErrorAs(t, err, new(*EnvError), less)
				continue
			}
			require.Equal(t, [2]int{whole.Rank, whole.Size}, [2]int{w.Rank, w.Size}, less)
		}
	}
}

// worldProcess makes the test binary print its world, as JSON, and exit.
const worldProcess = "SHARD_TEST_PRINT_WORLD"

func TestMain(m *testing.M) {
	if os.Getenv(worldProcess) == "" {
		os.Exit(m.Run())
	}
	w, err := FromEnv(os.LookupEnv)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	text, err := json.Marshal(w)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", text)
}

func TestFromEnvOfProcesses(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	run := func(env string) (string, error) {
		cmd := exec.Command(exe)
		cmd.Env = append(strings.Fields(env), worldProcess+"=1", "SYSTEMROOT="+os.Getenv("SYSTEMROOT"))
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		if err != nil {
			return stderr.String(), err
		}
		return stdout.String(), nil
	}
	for _, env := range []string{"", torchrun, prterun, srun, pytorch, hydra} {
		want, err := FromEnv(lookup(env))
		require.NoError(t, err)
		out, err := run(env)
		require.NoError(t, err, out)
		var got World
		require.NoError(t, json.Unmarshal([]byte(out), &got), out)
		require.Equal(t, want, got)
	}
	out, err := run("RANK=1")
	require.Error(t, err)
	require.Contains(t, out, "seen: RANK=1")
}

func TestFromEnvUnderMPIRun(t *testing.T) {
	mpirun, err := exec.LookPath("mpirun")
	if err != nil {
		t.Skip("mpirun is not installed (Debian: openmpi-bin)")
	}
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(mpirun, "--allow-run-as-root", "--oversubscribe", "-n", "3", exe)
	cmd.Env = append(os.Environ(), worldProcess+"=1")
	out, err := cmd.Output()
	require.NoError(t, err, "%s", out)
	var ranks []int
	for line := range strings.Lines(string(out)) {
		var w World
		require.NoError(t, json.Unmarshal([]byte(line), &w), line)
		require.Equal(t, 3, w.Size)
		require.Equal(t, 3, w.LocalSize)
		require.Equal(t, w.Rank, w.LocalRank)
		require.Equal(t, 1, w.Nodes)
		ranks = append(ranks, w.Rank)
	}
	require.ElementsMatch(t, []int{0, 1, 2}, ranks)
}
