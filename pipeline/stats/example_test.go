package stats_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/pipeline/stats"
)

// The library does not log; a program that wants logs listens to events.
func ExampleEvents() {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	events := stats.Events{
		BatchDelivered: func(e stats.BatchEvent) {
			log.Info("batch", "epoch", e.Epoch, "step", e.Step, "valid", e.Valid)
		},
	}
	p, err := pipeline.New(pipeline.Options{BatchSize: 2, Events: events}, func(g *pipeline.Graph) {
		g.Output("x", readers.Slices(g, readers.SlicesOptions{}, readers.Rows([]int32{1, 2, 3}))[0])
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	loader, err := iterator.New(iterator.Options{}, p)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer loader.Close()
	for _, err := range loader.Epoch(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	s := loader.Stats().Pipelines[0]
	fmt.Println(s.Operators[0].Samples >= 3, s.Consumer.Samples)
	fmt.Println(s.Verdict().Bound)
	// Output:
	// level=INFO msg=batch epoch=0 step=0 valid=2
	// level=INFO msg=batch epoch=0 step=1 valid=1
	// true 3
	// undecided
}
