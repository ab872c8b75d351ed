package readers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/planktonml/plankton/internal/alloctest"
	"github.com/planktonml/plankton/internal/feedtest"
	"github.com/planktonml/plankton/internal/run"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// build makes a pipeline of one reader whose values are the outputs "0", "1", …
func build(batch, workers int, read func(*pipeline.Graph) []pipeline.Value) (*pipeline.Pipeline, error) {
	return pipeline.New(pipeline.Options{BatchSize: batch, Workers: workers}, func(g *pipeline.Graph) {
		for i, v := range read(g) {
			if g.Err() == nil {
				g.Output(fmt.Sprint(i), v)
			}
		}
	})
}

// buildError returns what a person reads when a reader is refused.
func buildError(t *testing.T, read func(*pipeline.Graph) []pipeline.Value) error {
	t.Helper()
	p, err := build(1, 1, read)
	require.Nil(t, p)
	var be *pipeline.BuildError
	require.ErrorAs(t, err, &be)
	return err
}

// epoch runs the pipeline over its samples once and calls use with each batch.
// Batches are of size batch; the last one begins anew with sample 0.
func epoch(t *testing.T, p *pipeline.Pipeline, use func(*pipeline.Batch)) error {
	t.Helper()
	n, batch := p.Readers()[0].Len(), int64(p.Options().BatchSize)
	f := run.Feed(run.SequenceFeed{})
	if n >= 0 {
		f = feedtest.Feed{Samples: n, Batch: batch, Batches: (n + batch - 1) / batch}
	}
	r, err := p.Engine().NewRunner(f)
	require.NoError(t, err)
	defer r.Close()
	for {
		b, err := r.Next(context.Background())
		if err != nil || b == nil {
			return err
		}
		use((*pipeline.Batch)(b))
		b.Release()
	}
}

// probe is a source whose only sample runs a function with real tensors.
type probe struct {
	datum.Source
	run func(out []*datum.Tensor) error
}

func (probe) Len() int64 { return 1 }

// errProbed ends the sample, whose outputs are what the function has left.
var errProbed = errors.New("probed")

func (p probe) Read(_ context.Context, _ int64, out []*datum.Tensor) error {
	if err := p.run(out); err != nil {
		return err
	}
	return errProbed
}

// withTensors runs a function with tensors that a worker would give src.
func withTensors(t testing.TB, src datum.Source, run func(out []*datum.Tensor) error) {
	t.Helper()
	p, err := build(1, 1, func(g *pipeline.Graph) []pipeline.Value {
		return g.Read(pipeline.ReaderOptions{}, probe{src, run})
	})
	require.NoError(t, err)
	r, err := p.Engine().NewRunner(feedtest.Once(1, 1))
	require.NoError(t, err)
	defer r.Close()
	_, err = r.Next(context.Background())
	require.ErrorIs(t, err, errProbed)
}

// requireNoAllocations reads all samples of src, and then again for the count.
func requireNoAllocations(t *testing.T, src datum.Source) {
	t.Helper()
	ctx := context.Background()
	var allocations float64
	withTensors(t, src, func(out []*datum.Tensor) error {
		for i := range src.Len() {
			if err := src.Read(ctx, i, out); err != nil {
				return err
			}
		}
		i := int64(0)
		allocations = alloctest.PerRound(100, func() {
			if err := src.Read(ctx, i%src.Len(), out); err != nil {
				panic(err)
			}
			i++
		})
		return nil
	})
	require.Zero(t, allocations)
}

// tree writes files, by their paths with slashes, into a new folder.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o666))
	}
	return root
}

func skipOnWindows(t *testing.T, why string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("on Windows " + why)
	}
}
