package batchop

import "github.com/planktonml/plankton/pipeline/datum"

// Placed is a Kernel that asks which batch it works on, to draw random numbers for it.
type Placed interface {
	Kernel
	// Place is called before Run. The place is valid until Run returns.
	Place(p Place)
}

// Place says which batch of a run an operator for whole batches works on.
type Place struct {
	Epoch, Step int64
	IDs         []int64 // of the samples, as Batch.IDs; -1 in rows that are not valid
	Seed        uint64  // of the pipeline
}

// Rand returns the random numbers of r for the batch: they depend on the pipeline's seed, the
// epoch, the step and r alone, so that a restart repeats them, and every rank draws the same
// ones in a step. Which samples a step has depends on the size of batches and the number of
// ranks; what is to be the same for a sample in every world is drawn per sample (Random.At).
// An operator whose rows depend on these numbers sets pipeline.BatchOp.Mixes.
func (p *Place) Rand(r datum.Random) datum.Rand { return r.AtBatch(p.Seed, p.Epoch, p.Step) }
