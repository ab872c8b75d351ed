package run

import (
	"fmt"
	"sync"

	"github.com/planktonml/plankton/internal/affinity"
	"github.com/planktonml/plankton/internal/compiled"
)

// pinner ties the workers of a region to their CPUs.
type pinner struct {
	cpus    [][]int    // by worker
	results chan error // of the workers' first attempts
	all     sync.Once  // has gathered them
	err     error      // the first of them that is one
}

func newPinner(o *compiled.Options) *pinner {
	cpus := affinity.Assign(o.MaxWorkers, o.CPUs.Mask, o.CPUs.Near)
	return &pinner{cpus: cpus, results: make(chan error, len(cpus))}
}

// pin is executor.Rows.Start.
func (p *pinner) pin(worker int) (unpin func()) {
	unpin, err := affinity.Pin(p.cpus[worker])
	select {
	case p.results <- err:
	default: // a fresh goroutine of a worker whose operator ended the one before
	}
	return unpin
}

// wait returns the first error once all workers have begun. It is the same from then on,
// since a worker is pinned once.
func (p *pinner) wait() error {
	p.all.Do(func() {
		for range p.cpus {
			if err := <-p.results; p.err == nil && err != nil {
				p.err = fmt.Errorf("pipeline: SetAffinity: %w", err)
			}
		}
	})
	return p.err
}
