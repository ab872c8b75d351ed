package pipeline

import (
	"context"

	"github.com/planktonml/plankton/internal/run"
)

// Runner is a run.Runner whose batches are those of this package.
type Runner struct {
	*run.Runner
	p *Pipeline
}

func (p *Pipeline) NewRunner(feed run.Feed) (*Runner, error) {
	r, err := p.engine.NewRunner(feed)
	if err != nil {
		return nil, err
	}
	return &Runner{r, p}, nil
}

func (r *Runner) Next(ctx context.Context) (*Batch, error) {
	f, err := r.Runner.Next(ctx)
	return (*Batch)(f), err
}
