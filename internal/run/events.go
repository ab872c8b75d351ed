package run

import (
	"time"

	"github.com/planktonml/plankton/pipeline/stats"
)

// tell calls a listener's function for a batch, if there is one.
func (f *Flight) tell(listener func(stats.BatchEvent)) {
	if listener != nil {
		listener(f.event())
	}
}

func (f *Flight) event() stats.BatchEvent {
	return stats.BatchEvent{Time: time.Now(), Epoch: f.epoch, Step: f.step, Slot: f.slot, Valid: f.valid}
}
