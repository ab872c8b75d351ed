package pipeline

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/planktonml/plankton/internal/affinity"
)

// ErrUnsupported is wrapped by New's error for an option that the operating system
// cannot fulfil: SetAffinity elsewhere than on Linux.
var ErrUnsupported = affinity.ErrUnsupported

// setAffinity finds out which CPUs each worker may run on.
func (p *Pipeline) setAffinity() error {
	o := &p.opt
	if !o.SetAffinity {
		if o.AffinityMask != nil || o.CPUsNearDevice != nil {
			return errors.New("AffinityMask or CPUsNearDevice is given without SetAffinity, which they belong to")
		}
		return nil
	}
	allowed, err := affinity.Allowed()
	if err != nil {
		return fmt.Errorf("SetAffinity: %w", err)
	}
	mask := o.AffinityMask
	if mask == nil {
		if mask, err = maskFromEnv(os.LookupEnv); err != nil {
			return err
		}
	}
	mask = mask[:min(len(mask), p.maxWorkers())] // others are for more workers than there are
	if err := affinity.Check(mask, allowed); err != nil {
		return fmt.Errorf("SetAffinity: %w", err)
	}
	near := allowed
	if o.CPUsNearDevice != nil && p.maxWorkers() > len(mask) {
		if near, err = o.CPUsNearDevice(); err != nil {
			return fmt.Errorf("SetAffinity: the CPUs near the device: %w", err)
		}
		if len(near) == 0 {
			return errors.New("SetAffinity: CPUsNearDevice has named none")
		}
		if err := affinity.Check(near, allowed); err != nil {
			return fmt.Errorf("SetAffinity: near the device: %w", err)
		}
	}
	p.cpus = affinity.Assign(p.maxWorkers(), mask, near)
	return nil
}

// maskFromEnv returns the mask that the environment sets, nil for none.
func maskFromEnv(lookup func(string) (string, bool)) ([]int, error) {
	for _, name := range []string{"PLANKTON_AFFINITY_MASK", "DALI_AFFINITY_MASK"} {
		if text, ok := lookup(name); ok && text != "" {
			mask, err := affinity.Parse(text)
			if err != nil {
				return nil, fmt.Errorf("the environment variable %s: %w", name, err)
			}
			return mask, nil
		}
	}
	return nil, nil
}

// pinner ties the workers of a region to their CPUs.
type pinner struct {
	cpus    [][]int    // by worker
	results chan error // of the workers' first attempts
	all     sync.Once  // has gathered them
	err     error      // the first of them that is one
}

func newPinner(cpus [][]int) *pinner {
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
