package shard

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// environment returns the value of a variable, empty if it is not set.
type environment func(name string) string

// seen lists those of the variables that are set.
func (env environment) seen(names ...string) []string {
	var seen []string
	for _, name := range names {
		if value := env(name); value != "" {
			seen = append(seen, name+"="+value)
		}
	}
	return seen
}

// anySet reports whether one of the variables is set.
func (env environment) anySet(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return env(name) != "" })
}

// ownSize gives, or confirms, the size for every launcher.
const ownSize = "PLANKTON_WORLD_SIZE"

// Launchers that others are compared with.
const (
	prrte   = "PRRTE"
	openMPI = "Open MPI"
	pmi     = "PMI"
	lsf     = "LSF"
	slurm   = "Slurm"
)

// launcher says which variables a launcher sets. Several names for a rank or a
// size must agree where they are set; of the other fields the first one that is set counts.
type launcher struct {
	name    string
	markers []string               // one of them set: it is there
	unless  func(environment) bool // not even then
	against []string               // launchers that may not say otherwise

	rank, size           []string
	localRank, localSize []string
	node, nodes          []string
	runID, incarnation   []string

	onePerNode bool     // every process is a node of its own
	perNode    []string // processes per node, which has to be 1
	tasks      []string // processes of every node, as Slurm lists them
}

// launchers in the order of trust.
var launchers = []launcher{{
	name:      "PLANKTON",
	markers:   []string{"PLANKTON_RANK", "PLANKTON_LOCAL_RANK", "PLANKTON_LOCAL_WORLD_SIZE", "PLANKTON_NODE_RANK", "PLANKTON_NODES"},
	rank:      []string{"PLANKTON_RANK"},
	localRank: []string{"PLANKTON_LOCAL_RANK"}, localSize: []string{"PLANKTON_LOCAL_WORLD_SIZE"},
	node: []string{"PLANKTON_NODE_RANK"}, nodes: []string{"PLANKTON_NODES"},
	runID: []string{"PLANKTON_RUN_ID"}, incarnation: []string{"PLANKTON_INCARNATION"},
}, {
	name:    "torchrun",
	markers: []string{"TORCHELASTIC_RUN_ID"},
	rank:    []string{"RANK"}, size: []string{"WORLD_SIZE"},
	localRank: []string{"LOCAL_RANK"}, localSize: []string{"LOCAL_WORLD_SIZE"},
	node: []string{"GROUP_RANK"}, nodes: []string{"GROUP_WORLD_SIZE"},
	runID: []string{"TORCHELASTIC_RUN_ID"}, incarnation: []string{"TORCHELASTIC_RESTART_COUNT"},
}, {
	name:    "Kubeflow PyTorchJob",
	markers: []string{"RANK", "WORLD_SIZE"},
	unless:  func(env environment) bool { return !inPyTorchJob(env) },
	rank:    []string{"RANK"}, size: []string{"WORLD_SIZE"},
	onePerNode: true,
}, {
	name:    "generic",
	markers: []string{"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
	against: []string{prrte, openMPI, pmi, lsf, slurm}, // these names may be left over
	rank:    []string{"RANK"}, size: []string{"WORLD_SIZE"},
	localRank: []string{"LOCAL_RANK"}, localSize: []string{"LOCAL_WORLD_SIZE"},
	node: []string{"NODE_RANK"},
}, {
	name:    "Kubeflow Trainer",
	markers: []string{"PET_NODE_RANK", "PET_NNODES"},
	// With RANK the Trainer's torchrun has done its work.
	unless: func(env environment) bool { return env.anySet("RANK", "WORLD_SIZE") },
	rank:   []string{"PET_NODE_RANK"}, size: []string{"PET_NNODES"},
	runID:      []string{"PET_RDZV_ID"},
	onePerNode: true, perNode: []string{"PET_NPROC_PER_NODE"},
}, {
	name:    prrte,
	markers: []string{"PRTE_LAUNCHED"},
	against: []string{pmi},
	rank:    []string{"OMPI_COMM_WORLD_RANK", "PMIX_RANK"}, size: []string{"OMPI_COMM_WORLD_SIZE"},
	localRank: []string{"OMPI_COMM_WORLD_LOCAL_RANK"}, localSize: []string{"OMPI_COMM_WORLD_LOCAL_SIZE"},
	runID: []string{"PMIX_NAMESPACE"},
}, {
	name:    openMPI,
	markers: []string{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	against: []string{pmi},
	rank:    []string{"OMPI_COMM_WORLD_RANK"}, size: []string{"OMPI_COMM_WORLD_SIZE"},
	// OMPI_COMM_WORLD_NODE_RANK is a rank on the node, not the node's.
	localRank: []string{"OMPI_COMM_WORLD_LOCAL_RANK"}, localSize: []string{"OMPI_COMM_WORLD_LOCAL_SIZE"},
	runID: []string{"PMIX_NAMESPACE"},
}, {
	name:    pmi,
	markers: []string{"PMI_RANK", "PMI_SIZE"},
	rank:    []string{"PMI_RANK"}, size: []string{"PMI_SIZE"},
	localRank: []string{"MPI_LOCALRANKID", "PMI_LOCAL_RANK"}, localSize: []string{"MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"},
}, {
	name:    lsf,
	markers: []string{"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"},
	rank:    []string{"JSM_NAMESPACE_RANK"}, size: []string{"JSM_NAMESPACE_SIZE"},
	localRank: []string{"JSM_NAMESPACE_LOCAL_RANK"}, localSize: []string{"JSM_NAMESPACE_LOCAL_SIZE"},
	runID: []string{"LSB_JOBID"},
}, {
	name:    slurm,
	markers: []string{"SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_NODELIST"},
	unless:  func(env environment) bool { return slices.Contains(slurmShells, env("SLURM_STEP_ID")) },
	rank:    []string{"SLURM_PROCID"}, size: []string{"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"},
	localRank: []string{"SLURM_LOCALID"}, localSize: []string{"SLURM_NTASKS_PER_NODE"},
	tasks: []string{"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"},
	node:  []string{"SLURM_NODEID"}, nodes: []string{"SLURM_STEP_NUM_NODES", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"},
	runID: []string{"SLURM_JOB_ID"}, incarnation: []string{"SLURM_RESTART_COUNT"},
}, {
	name:       "Indexed Job",
	markers:    []string{"JOB_COMPLETION_INDEX"},
	rank:       []string{"JOB_COMPLETION_INDEX"},
	onePerNode: true,
}}

// slurmShells are the numbers of Slurm's interactive and batch steps: one shell,
// whatever the job was allotted.
var slurmShells = []string{"4294967290", "4294967291", "interactive", "batch"}

// inPyTorchJob tells a pod of Kubeflow's PyTorchJob, where RANK and WORLD_SIZE
// count pods, from other uses of these names.
func inPyTorchJob(env environment) bool {
	return env("KUBERNETES_SERVICE_HOST") != "" && env("MASTER_ADDR") != "" && env("MASTER_PORT") != "" &&
		!env.anySet("LOCAL_RANK", "LOCAL_WORLD_SIZE")
}

func (l *launcher) present(env environment) bool {
	return env.anySet(l.markers...) && (l.unless == nil || !l.unless(env))
}

// read returns the world that the launcher's variables describe, or an [*EnvError].
func (l *launcher) read(env environment) (World, error) {
	r := reading{env: env}
	sizes := append(slices.Clone(l.size), ownSize)
	w := World{
		Source:    l.name,
		Rank:      r.same(l.rank),
		Size:      r.same(sizes),
		LocalRank: r.first(l.localRank, -1),
		LocalSize: r.first(l.localSize, 0),
		Node:      r.first(l.node, -1),
		Nodes:     r.first(l.nodes, 0),
	}
	w.Incarnation = r.first(l.incarnation, 0)
	w.RunID = r.text(l.runID)
	if tasks := r.text(l.tasks); tasks != "" && w.Node >= 0 {
		w.LocalSize = r.tasksOn(tasks, w.Node)
	}
	if n := r.text(l.perNode); n != "" && n != "1" {
		r.fail("%s processes per node need a rank each; start them with torchrun, or set PLANKTON_RANK and PLANKTON_WORLD_SIZE", n)
	}
	switch {
	case l.onePerNode:
		w.LocalRank, w.LocalSize, w.Node, w.Nodes = 0, 1, w.Rank, w.Size
	case w.LocalSize > 0 && w.LocalSize == w.Size:
		w.Node, w.Nodes = 0, 1
	}
	r.check(&w)
	if r.problem != "" {
		return World{}, &EnvError{l.name, r.problem, env.seen(r.names...)}
	}
	return w, nil
}

// compare returns an [*EnvError] if another launcher that is present casts doubt
// on w, which l describes.
func (l *launcher) compare(env environment, w World) error {
	for i := range launchers {
		o := &launchers[i]
		if !slices.Contains(l.against, o.name) || !o.present(env) {
			continue
		}
		other, err := o.read(env)
		if err != nil {
			return err
		}
		if other.Rank == w.Rank && other.Size == w.Size || o.name == pmi && ofSlurm(env, other) {
			continue
		}
		return &EnvError{l.name, "it contradicts " + o.name + "; unset the one that is left over, or set PLANKTON_RANK and PLANKTON_WORLD_SIZE",
			[]string{w.String(), other.String()}}
	}
	return nil
}

// ofSlurm reports whether w is the place in the surrounding step of Slurm, whose
// srun sets the variables of PMI, too, and may have started mpirun.
func ofSlurm(env environment, w World) bool {
	return env("SLURM_PROCID") == strconv.Itoa(w.Rank) && env("SLURM_NTASKS") == strconv.Itoa(w.Size)
}

// reading collects the variables that were asked for, and the first problem.
type reading struct {
	env     environment
	names   []string
	problem string
}

func (r *reading) fail(format string, args ...any) {
	if r.problem == "" {
		r.problem = fmt.Sprintf(format, args...)
	}
}

// same returns the number on which all variables that are set agree.
func (r *reading) same(names []string) int {
	r.names = append(r.names, names...)
	n, from := 0, ""
	for _, name := range names {
		text := r.env(name)
		if text == "" {
			continue
		}
		if v := r.number(name, text); from == "" {
			n, from = v, name
		} else if v != n {
			r.fail("%s and %s contradict each other", from, name)
		}
	}
	if from == "" {
		r.fail("%s is not set; set it, or PLANKTON_RANK and PLANKTON_WORLD_SIZE", names[0])
	}
	return n
}

// first returns the number in the first variable that is set, or missing.
func (r *reading) first(names []string, missing int) int {
	r.names = append(r.names, names...)
	for _, name := range names {
		if text := r.env(name); text != "" {
			return r.number(name, text)
		}
	}
	return missing
}

// text returns the first variable that is set.
func (r *reading) text(names []string) string {
	r.names = append(r.names, names...)
	for _, name := range names {
		if text := r.env(name); text != "" {
			return text
		}
	}
	return ""
}

func (r *reading) number(name, text string) int {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		r.fail("%s is not a number from 0 on", name)
	}
	return int(n)
}

// tasksOn returns how many tasks Slurm's list, such as "2(x3),1", gives to a node.
func (r *reading) tasksOn(list string, node int) int {
	left := node
	for item := range strings.SplitSeq(list, ",") {
		count, repeat, _ := strings.Cut(strings.TrimSuffix(item, ")"), "(x")
		nodes := 1
		if repeat != "" {
			nodes = r.number("the list of tasks per node", repeat)
		}
		if left < nodes {
			return r.number("the list of tasks per node", count)
		}
		left -= nodes
	}
	r.fail("the list of tasks per node ends before node %d", node)
	return 0
}

// check fails where the numbers of w cannot all be true.
func (r *reading) check(w *World) {
	switch {
	case w.Size == 0:
		r.fail("the world has no processes")
	case w.Rank >= w.Size:
		r.fail("rank %d is not below the size %d", w.Rank, w.Size)
	case w.LocalSize > w.Size:
		r.fail("%d processes on this node are more than %d in all", w.LocalSize, w.Size)
	case w.LocalRank >= cmp.Or(w.LocalSize, w.Size):
		r.fail("local rank %d is not below the %d processes that there can be on this node", w.LocalRank, cmp.Or(w.LocalSize, w.Size))
	case w.Nodes > w.Size:
		r.fail("%d nodes are more than %d processes", w.Nodes, w.Size)
	case w.Node >= cmp.Or(w.Nodes, w.Size):
		r.fail("node %d is not below the %d nodes that there can be", w.Node, cmp.Or(w.Nodes, w.Size))
	}
}
