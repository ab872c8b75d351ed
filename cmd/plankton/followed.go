package main

import (
	"context"
	"os"
	"os/signal"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
)

// followed runs over a pipeline's samples in a way that a person can follow and stop: with a
// progress line on standard error, and a context that ends with Ctrl-C.
func followed(std *stdio, p *pipeline.Pipeline, run func(context.Context, *iterator.Loader, *iterator.Progress) error) error {
	loader, err := iterator.New(iterator.Options{}, p)
	if err != nil {
		return err
	}
	defer loader.Close()
	progress := iterator.NewProgress(std.err, loader, 1)
	defer progress.Close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return run(ctx, loader, progress)
}
