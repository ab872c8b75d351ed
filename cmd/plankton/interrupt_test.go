package main

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/readers"
)

// interrupt returns what presses Ctrl-C at the first batch it sees.
func interrupt(t *testing.T) func(*iterator.Batch) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot interrupt itself on Windows")
	}
	self, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	var once sync.Once
	return func(*iterator.Batch) {
		once.Do(func() { require.NoError(t, self.Signal(os.Interrupt)) })
	}
}

// Both runs would go on for long.
func TestAnInterruptEndsRuns(t *testing.T) {
	var out bytes.Buffer
	std := &stdio{&out, &out}
	c := runFlags{Workload: "decode", Data: pictures(t, 2), Batch: 2, Size: 8, World: 1, Prefetch: 2, Epochs: 1 << 20}
	_, err := c.run(std, watch{batch: interrupt(t)})
	require.ErrorIs(t, err, context.Canceled)

	p, err := pipeline.New(pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
		g.Output("label", readers.External(g, readers.ExternalOptions{
			Len: 1 << 40, Outputs: []datum.Spec{{DType: datum.Int32}},
			Read: func(_ context.Context, _ int64, out []*datum.Tensor) error {
				_, err := out[0].Resize()
				return err
			},
		})[0])
	})
	require.NoError(t, err)
	require.ErrorIs(t, walk(std, p, interrupt(t)), context.Canceled)
	require.Empty(t, out.String())
}
