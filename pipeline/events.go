package pipeline

import (
	"time"

	"github.com/planktonml/plankton/pipeline/stats"
)

// tell calls a listener's function for a batch, if there is one.
func (b *Batch) tell(f func(stats.BatchEvent)) {
	if f != nil {
		f(b.event())
	}
}

func (b *Batch) event() stats.BatchEvent {
	return stats.BatchEvent{Time: time.Now(), Epoch: b.epoch, Step: b.step, Slot: b.slot, Valid: b.valid}
}
