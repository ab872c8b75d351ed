package iterator

import (
	"fmt"

	"github.com/planktonml/plankton/pipeline"
)

// Batch is one step's data: a batch of every pipeline of the loader. Its own
// methods are those of the first pipeline's batch; Part returns the others.
//
// A batch is valid until the loop's next iteration. Its memory is scratch: the
// consumer may overwrite it.
type Batch struct {
	*pipeline.Batch
	parts []*pipeline.Batch
}

// Part returns the batch of pipeline i, in the order given to New. It panics if there
// is no such pipeline.
func (b *Batch) Part(i int) *pipeline.Batch {
	if i < 0 || i >= len(b.parts) {
		panic(fmt.Sprintf("iterator: there is no pipeline %d; the loader has %d, counted from 0", i, len(b.parts)))
	}
	return b.parts[i]
}

// Parts returns the number of pipelines.
func (b *Batch) Parts() int { return len(b.parts) }

// Retain keeps the batch after the loop's next iteration, until Release. It
// occupies one of the PrefetchDepth + 1 batches of each pipeline meanwhile; when
// all are held, the loop ends with an error.
func (b *Batch) Retain() {
	for _, p := range b.parts {
		p.Retain()
	}
}

// Release ends what Retain began. It may be called from any goroutine.
func (b *Batch) Release() {
	for _, p := range b.parts {
		p.Release()
	}
}
