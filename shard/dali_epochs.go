package shard

import (
	"slices"
	"sync"
)

// MaxDALIEpochs bounds the epochs of a plan in DALI mode, of which each is only
// known from the one before. Later ones have no steps.
const MaxDALIEpochs = 1 << 20

// daliEpoch is one epoch of a plain loop over DALI's iterator.
type daliEpoch struct {
	len, steps int64
	first      Delivery
}

// daliEpochs follows DALI's iterator from epoch to epoch. It keeps a few numbers
// per epoch, up to the one asked for or to where the bookkeeping comes back to its
// start: from there on the same epochs repeat, further down the stream of the
// readers. Except under FILL without padding that is after the first.
type daliEpochs struct {
	cfg *Config

	mu    sync.Mutex
	known []daliEpoch // from epoch 0 on
	state daliState   // at the start of epoch len(known)
	cycle bool        // state is that of epoch 0 but for read and turns
}

func newDALIEpochs(c *Config) *daliEpochs {
	return &daliEpochs{cfg: c, state: newDALIState(c)}
}

// epoch returns epoch e >= 0.
func (d *daliEpochs) epoch(e int64) daliEpoch {
	if e >= MaxDALIEpochs {
		return daliEpoch{}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for !d.cycle && int64(len(d.known)) <= e {
		d.advance()
	}
	n := int64(len(d.known))
	ep := d.known[e%n]
	ep.first.number += e / n * d.state.read
	ep.first.turns += e / n * d.state.turns
	return ep
}

// advance follows one epoch, as a for statement does.
func (d *daliEpochs) advance() {
	s := &d.state
	d.known = append(d.known, daliEpoch{len: s.len(), steps: s.steps(), first: s.delivery(s.read, s.counter)})
	if s.size < 0 { // no epoch follows
		d.cycle = true
		return
	}
	s.finish()
	s.reset()
	fresh := newDALIState(d.cfg)
	d.cycle = s.counter == 0 && s.size == fresh.size && slices.Equal(s.ahead, fresh.ahead) && slices.Equal(s.sizes, fresh.sizes)
}

// batch returns one batch of one rank of an epoch >= 0.
func (d *daliEpochs) batch(epoch, step int64, rank int) batch {
	e := d.epoch(epoch)
	if step >= e.steps {
		return batch{}
	}
	read := (step + 1) * d.cfg.daliStep()
	next := e.first
	next.number += step
	next.counter += read
	next.excess += read
	return next.batch(rank)
}
