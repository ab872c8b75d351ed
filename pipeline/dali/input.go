package dali

import (
	"fmt"
	"iter"
	"sync"

	"github.com/planktonml/plankton/internal/run"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// input is a reader that the program feeds, batch by batch: a sequence of what
// was fed so far.
type input struct {
	name    string
	outputs []datum.Spec
	batch   int // rows of a batch

	mu    sync.Mutex
	fed   int64  // batches for the run: those that were fed before it began and are not read, and all since
	queue []*fed // fed and not read yet, the oldest first
	spare []*fed
}

// fed is one batch.
type fed struct{ rows [][]datum.Tensor } // by row, by output

// Input adds an input that Pipeline.FeedInput feeds and returns its values. An empty name
// stands for "input". A pipeline with an input has no other reader, and only a Pipeline of
// this package runs it: an iterator is refused.
func Input(g *pipeline.Graph, name string, outputs ...datum.Spec) []pipeline.Value {
	if name == "" {
		name = "input"
	}
	return g.ReadSequence(pipeline.ReaderOptions{Name: name}, &input{name: name, outputs: outputs, batch: g.Options().BatchSize})
}

// Outputs implements datum.Sequence.
func (in *input) Outputs() []datum.Spec { return in.outputs }

// Meta implements datum.Sequence.
func (in *input) Meta() datum.Meta { return datum.Meta{} }

// Describe implements datum.Sequence.
func (in *input) Describe(index int64) string { return fmt.Sprintf("%s[%d]", in.name, index) }

// Admit implements run.FedSequence.
func (in *input) Admit(feed run.Feed) error {
	if f, ok := feed.(inputFeed); ok && f.in == in {
		return nil
	}
	return fmt.Errorf("dali: input %q is fed run by run: use Run or ScheduleRun of package dali, not an iterator", in.name)
}

// Samples implements datum.Sequence: the rows that were fed, and datum.ErrNoSample for
// those that a short batch lacks.
func (in *input) Samples() iter.Seq2[func([]*datum.Tensor) error, error] {
	return func(yield func(func([]*datum.Tensor) error, error) bool) {
		for f := in.pop(); f != nil; f = in.pop() {
			for row := range in.batch {
				var ok bool
				if row < len(f.rows) {
					ok = yield(func(out []*datum.Tensor) error { return copyTensors(out, f.rows[row]) }, nil)
				} else {
					ok = yield(nil, datum.ErrNoSample)
				}
				if !ok {
					return
				}
			}
			in.mu.Lock()
			in.spare = append(in.spare, f)
			in.mu.Unlock()
		}
	}
}

func copyTensors(to []*datum.Tensor, from []datum.Tensor) error {
	for i := range to {
		if err := to[i].CopyFrom(&from[i]); err != nil {
			return err
		}
	}
	return nil
}

// pop takes the oldest batch off the queue.
func (in *input) pop() *fed {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.queue) == 0 {
		return nil
	}
	f := in.queue[0]
	in.queue = in.queue[1:]
	return f
}

// begin makes the batches that wait the first ones of a run. What a run before has read is
// gone.
func (in *input) begin() {
	in.mu.Lock()
	in.fed = int64(len(in.queue))
	in.mu.Unlock()
}

// fedBatches returns how many batches were fed for the run.
func (in *input) fedBatches() int64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.fed
}

// hungry is the error of a run without data.
func (in *input) hungry() error {
	return fmt.Errorf("dali: input %q has no batch for this run; call FeedInput first", in.name)
}

// FeedInput gives an input the data for one more run: rows samples, at most BatchSize. The
// rows behind them are not valid. Fill is called for each sample before FeedInput returns,
// with a tensor for each output, which it resizes and writes; an output that it does not
// write is an error. The data lie beside the pipeline's memory until they are read, in one
// copy for each run that is fed ahead.
//
// It fails where the pipeline has no reader of that name, where an Input did not make the
// reader, where there are no rows or more than BatchSize, and with what fill returns.
func (d *Pipeline) FeedInput(name string, rows int, fill func(row int, out []*datum.Tensor) error) error {
	r, err := d.reader(name)
	if err != nil {
		return err
	}
	in, ok := r.Sequence.(*input)
	switch {
	case !ok:
		return fmt.Errorf("dali: reader %q has a source of its own; only what dali.Input makes can be fed", r.Name)
	case rows < 1 || rows > in.batch:
		return fmt.Errorf("dali: %d rows for input %q; 1 … %d make a batch", rows, in.name, in.batch)
	}
	f := in.blank(rows)
	out := make([]*datum.Tensor, len(in.outputs))
	for row := range rows {
		for i := range out {
			out[i] = &f.rows[row][i]
		}
		datum.Begin(out)
		if err := fill(row, out); err != nil {
			return fmt.Errorf("dali: input %q, row %d: %w", in.name, row, err)
		}
		if err := datum.Unwritten(out); err != nil {
			return fmt.Errorf("dali: input %q, row %d: %w", in.name, row, err)
		}
	}
	in.mu.Lock()
	in.queue = append(in.queue, f)
	in.fed++
	in.mu.Unlock()
	return nil
}

// blank returns a batch of rows to fill, with the memory of one that was read.
func (in *input) blank(rows int) *fed {
	in.mu.Lock()
	defer in.mu.Unlock()
	f := &fed{}
	if n := len(in.spare); n > 0 {
		f, in.spare = in.spare[n-1], in.spare[:n-1]
	}
	for len(f.rows) < rows {
		row := make([]datum.Tensor, len(in.outputs))
		for i := range row {
			row[i].Declare(&in.outputs[i])
		}
		f.rows = append(f.rows, row)
	}
	f.rows = f.rows[:rows]
	return f
}
