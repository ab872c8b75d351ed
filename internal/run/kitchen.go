package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/planktonml/plankton/internal/compiled"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/fault"
	"github.com/planktonml/plankton/pipeline/rows"
)

// kitchen makes rows for other processes: the workers of a pipeline without a run. It knows
// neither batches nor epochs, and keeps nothing between rows but scratch memory.
type kitchen struct {
	p    *compiled.Pipeline
	free chan *kitchenWorker
}

// kitchenWorker is a worker with a flight of one row, which has no memory of its own: values
// stay in the worker's scratch.
type kitchenWorker struct {
	*worker
	f    Flight
	show []*datum.Tensor
	seqs []*turnstile // none
}

var errSequence = errors.New("a sequence is read from its beginning by one process, so its rows cannot be made elsewhere: use a source with random access, or leave Options.Remote out")

// NewKitchen returns what makes rows of the pipeline for other processes, by Options.Workers
// workers. It needs no owner, and several may exist beside a run. The error is a
// *fault.BuildError.
func (e *Engine) NewKitchen() (rows.Kitchen, error) {
	o := e.p.Options()
	switch {
	case e.p.Readers()[0].Sequence != nil:
		return nil, &fault.BuildError{Op: e.p.Readers()[0].Name, Err: errSequence}
	case o.MemoryBudget > 0:
		return nil, &fault.BuildError{Op: "options", Err: errors.New("MemoryBudget bounds the batches of a run, which a worker for other processes has not: leave it out there, and bound Workers")}
	}
	k := &kitchen{p: e.p, free: make(chan *kitchenWorker, o.Workers)}
	for i := range o.Workers {
		w, err := newWorker(e.p, i, 0, e.p.Cut())
		if err != nil {
			return nil, err
		}
		w.delivers, w.pool = false, e.pool
		one := &kitchenWorker{worker: w, seqs: make([]*turnstile, len(e.p.Readers()))}
		one.f.samples, one.f.epochs = make([][]int64, len(e.p.Readers())), make([]int64, 1)
		for i := range one.f.samples {
			one.f.samples[i] = make([]int64, 1)
		}
		for i := range w.tensors {
			w.tensors[i].pool = e.pool
		}
		for _, v := range e.p.Crossing() {
			one.show = append(one.show, &w.tensors[v].Tensor)
		}
		k.free <- one
	}
	return k, nil
}

// Definition implements rows.Kitchen.
func (k *kitchen) Definition() rows.Definition { return definition(k.p) }

// Parallel implements rows.Kitchen.
func (k *kitchen) Parallel() int { return cap(k.free) }

// Make implements rows.Kitchen.
func (k *kitchen) Make(ctx context.Context, seed uint64, key rows.Key, show func([]*datum.Tensor) error) error {
	for i, id := range key.IDs {
		if n := k.p.Readers()[i].Source.Len(); id < 0 || id >= n {
			return fmt.Errorf("reader %s has %d samples, there is no sample %d", k.p.Readers()[i].Name, n, id)
		}
	}
	var w *kitchenWorker
	select {
	case w = <-k.free:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { k.free <- w }() // also if an operator ends this goroutine
	for i, id := range key.IDs {
		w.f.samples[i][0] = id
	}
	w.f.epochs[0], w.seed = key.Epoch, seed
	w.warned = w.warned[:0]
	err := w.run(ctx, &w.f, 0, w.seqs)
	switch {
	case err != nil:
		n := &k.p.Nodes()[w.at]
		r := &k.p.Readers()[max(n.Reader, 0)]
		return fmt.Errorf("%s: %s: %w", r.Describe(key.IDs[max(n.Reader, 0)]), n.Name, err)
	case len(w.warned) > 0:
		return fmt.Errorf("%s warns: %w", k.p.Nodes()[w.warned[0].step].Name, w.warned[0].err)
	}
	return show(w.show)
}

// definition returns what processes must share to make each other's rows.
func definition(p *compiled.Pipeline) rows.Definition {
	d := rows.Definition{Lines: p.RowLines(), Readers: len(p.Readers()), Samples: p.Readers()[0].Source.Len()}
	for _, v := range p.Crossing() {
		d.Values = append(d.Values, p.Values()[v].Spec)
	}
	return d
}
