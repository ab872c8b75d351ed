package pipeline

import (
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline/datum"
)

// OutputMemory chooses where outputs lie, such as in the memory of what computes with them.
type OutputMemory interface {
	// Output returns where the memory of an output comes from, a block for each batch; nil
	// is for Options.Allocator. The shape has the batch size first, and a block has as many
	// bytes as the shape's elements. New calls Output once for every dense output on the host.
	Output(name string, shape []int, dtype datum.DType) memstats.Allocator
}
