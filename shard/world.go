package shard

import (
	"fmt"
	"strings"
)

// World is the place of a process among those that train together.
type World struct {
	Rank, Size int // 0 <= Rank < Size

	LocalRank int // among the processes of this node, -1 if not known
	LocalSize int // processes of this node, 0 if not known
	Node      int // 0 <= Node < Nodes, -1 if not known
	Nodes     int // 0 if not known

	// RunID names the run where the launcher does, else it is empty.
	RunID string
	// Incarnation counts the restarts of the run, where the launcher does.
	Incarnation int
	// Source names the launcher whose variables were read, or is "none".
	Source string
}

// EnvError reports an environment that does not say clearly which process this is.
type EnvError struct {
	Source  string   // the launcher, such as "torchrun"
	Problem string   // what is wrong with its variables, and what to do
	Seen    []string // the variables that were set, as NAME=value, or what they say
}

func (e *EnvError) Error() string {
	return fmt.Sprintf("shard: %s environment: %s; seen: %s", e.Source, e.Problem, strings.Join(e.Seen, ", "))
}

// FromEnv reads the world from the variables that a launcher gave this process;
// lookup is usually [os.LookupEnv]. An empty variable counts as not set. The
// variables and their order of trust:
//
//	PLANKTON_RANK and PLANKTON_WORLD_SIZE, with PLANKTON_LOCAL_RANK, PLANKTON_LOCAL_WORLD_SIZE,
//	PLANKTON_NODE_RANK, PLANKTON_NODES, PLANKTON_RUN_ID and PLANKTON_INCARNATION, win over all others
//	torchrun             RANK, WORLD_SIZE, LOCAL_RANK … with TORCHELASTIC_RUN_ID
//	Kubeflow PyTorchJob  RANK and WORLD_SIZE alone, in a Kubernetes pod: one process per pod
//	any other            RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, NODE_RANK
//	Kubeflow Trainer     PET_NODE_RANK and PET_NNODES, with one process per pod
//	PRRTE                PRTE_LAUNCHED: as Open MPI, else PMIX_RANK
//	Open MPI             OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE …
//	PMI                  PMI_RANK, PMI_SIZE … of MPICH, Intel MPI and Cray
//	LSF                  JSM_NAMESPACE_RANK, JSM_NAMESPACE_SIZE …
//	Slurm                SLURM_PROCID, SLURM_NTASKS … inside a step of srun only: a
//	                     script under sbatch is one process whatever it was allotted
//	Indexed Job          JOB_COMPLETION_INDEX of Kubernetes
//
// A launcher that does not tell its processes how many they are (PRRTE, Indexed
// Job) needs PLANKTON_WORLD_SIZE beside its own variables.
//
// The first that is present decides, since an inner launcher is listed before
// the one that may have started it. Without any the process is alone: rank 0 of 1.
// FromEnv never guesses: variables that are half set, malformed or contradict
// each other are an [*EnvError]. So are plain RANK and WORLD_SIZE beside a
// launcher that says otherwise, as they may be left over, and two MPI launchers
// that disagree.
//
// Between incarnations of a run ranks and Size may change.
func FromEnv(lookup func(string) (string, bool)) (World, error) {
	env := environment(func(name string) string {
		value, _ := lookup(name)
		return value
	})
	for i := range launchers {
		l := &launchers[i]
		if !l.present(env) {
			continue
		}
		w, err := l.read(env)
		if err != nil {
			return World{}, err
		}
		if err := l.compare(env, w); err != nil {
			return World{}, err
		}
		return w, nil
	}
	if env(ownSize) != "" {
		return World{}, &EnvError{"PLANKTON", "there is a size but no rank; set PLANKTON_RANK", env.seen(ownSize)}
	}
	return World{Size: 1, LocalSize: 1, Nodes: 1, Source: "none"}, nil
}

// String returns the source and the place, such as "Slurm: rank 2 of 8".
func (w World) String() string {
	return fmt.Sprintf("%s: rank %d of %d", w.Source, w.Rank, w.Size)
}
