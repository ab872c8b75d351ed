package gpu

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/pipeline/stats"
	"github.com/planktonml/plankton/report"
	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/cudatest"
)

// The pictures of a batch that is uploaded.
var (
	batchSize = size(64, 4)
	side      = size(256, 24)
)

// source reads pictures and labels in memory.
func source(g *pipeline.Graph) (pictures, labels pipeline.Value) {
	n := 4 * batchSize
	bytes := make([]byte, n*side*side*3)
	for i := range bytes {
		bytes[i] = byte(i * i >> 5)
	}
	v := readers.Slices(g, readers.SlicesOptions{}, readers.Rows(bytes, side, side, 3), readers.Rows(make([]int32, n)))
	return v[0], v[1]
}

// define is a pipeline that has next to nothing to do on the host: pictures in
// memory are copied, uploaded, cropped, mirrored and normalised.
func define(g *pipeline.Graph) (uploaded pipeline.Value) {
	pictures, labels := source(g)
	crop := side * 7 / 8
	uploaded = ops.ToDevice(g, pictures)
	g.Output("image", ops.DeviceCropMirrorNormalize(g, uploaded, ops.CropMirrorNormalizeOptions{
		CropOptions: ops.CropOptions{Height: crop, Width: crop, PosX: ops.Uniform(g, 0, 1)},
		Mirror:      ops.CoinFlip(g, 0.5), Mean: ops.ImageNetMean, Std: ops.ImageNetStd,
	}))
	g.Output("label", ops.DeviceOneHot(g, ops.ToDevice(g, labels), ops.OneHotOptions{Classes: 10, IgnoreUnknown: true}))
	return uploaded
}

// span is a piece of time.
type span struct{ from, to time.Time }

// watch is what a run of a pipeline did on the device.
type watch struct {
	uploads, kernels, steps []span // pictures that are uploaded; kernels of the pipeline; the consumer's work
	took                    []time.Duration
	wall                    time.Duration
}

// follow runs a pipeline of define for some steps and lets a consumer work on every
// batch. What happened is written as a timeline.
func follow(t *testing.T, d *cuda.Device, timeline string, policy streams.Policy, steps int, consume func(b *iterator.Batch)) (w watch) {
	rec := report.New(report.Options{}) // without spans of every sample: more than a timeline shows
	events := rec.Events()
	record, p := events.Stream, (*pipeline.Pipeline)(nil)
	var mu sync.Mutex
	events.Stream = func(e stats.StreamEvent) {
		record(e)
		mu.Lock()
		defer mu.Unlock()
		s := span{e.Start, e.Start.Add(e.Duration)}
		switch op := p.Operators()[e.Operator]; {
		case op.Name != "to_device":
			w.kernels = append(w.kernels, s)
		case len(op.Outputs[0].Shape) == 3: // the pictures
			w.uploads = append(w.uploads, s)
			w.took = append(w.took, e.Duration)
		}
	}
	p, err := pipeline.New(pipeline.Options{BatchSize: batchSize, Device: d, StreamPolicy: policy, Events: events},
		func(g *pipeline.Graph) { define(g) })
	require.NoError(t, err)
	l, err := iterator.New(iterator.Options{}, p)
	require.NoError(t, err)
	rec.Attach(l)
	began := time.Now()
	for b, err := range l.Steps(t.Context(), steps) {
		require.NoError(t, err)
		begin := time.Now()
		consume(b)
		w.steps = append(w.steps, span{begin, time.Now()})
	}
	w.wall = time.Since(began)
	require.NoError(t, l.Close())
	f, err := os.Create(results(t, timeline))
	require.NoError(t, err)
	require.NoError(t, rec.WriteTrace(f))
	require.NoError(t, f.Close())
	return w
}

// TestUpload compares how fast a pipeline's batches are uploaded, while the workers
// write the next ones and kernels run, with the same copy on a GPU that does nothing
// else.
func TestUpload(t *testing.T) {
	d := open(t, cuda.Primary)
	n := batchSize * side * side * 3
	dst, src := cudatest.Memory(t, d, n), cudatest.Locked(t, d, n)
	plain := took(t, d, func(q *cuda.Queue) error { return q.Copy(dst, src) })
	w := follow(t, d, "timeline-upload.json", streams.PerBackend, size(300, 8), func(*iterator.Batch) {})
	uploads := median(w.took)
	atLeast(t, "pinned", float64(plain)/float64(uploads), 0.95, fmt.Sprintf("%.1f GB/s for %d bytes, a plain copy %.1f GB/s; the pipeline makes %.0f batches/s, %.1f GB/s",
		rate(n, uploads), n, rate(n, plain), float64(len(w.steps))/w.wall.Seconds(), rate(n*len(w.steps), w.wall)))
}

// TestOverlap tells how much of the time of uploads passes while kernels or the
// consumer's step keep the GPU busy, for every policy of streams. DALI's is
// judged.
func TestOverlap(t *testing.T) {
	d := open(t, cuda.Primary)
	batch := size(64, 1)
	dst, src, at, p := cudatest.Memory(t, d, batch*224*224*3*4), cudatest.Memory(t, d, batch*256*256*3), windows(t, d, batch), imageNet(batch)
	for _, policy := range []streams.Policy{streams.Single, streams.PerBackend, streams.PerOperator, streams.Ranked, streams.Optimal} {
		step := cudatest.Stream(t, d)
		w := follow(t, d, fmt.Sprintf("timeline-%v.json", policy), policy, size(100, 6), func(*iterator.Batch) {
			for range size(20, 1) {
				step.Do(cudatest.On(func(q *cuda.Queue) error { return q.CropMirrorNormalize(dst, src, at, p) }))
			}
			require.NoError(t, step.Synchronize(t.Context()))
		})
		require.NoError(t, step.Close())
		uploads, computing := union(w.uploads), union(slices.Concat(w.kernels, w.steps))
		hidden := share(uploads, computing)
		figures := fmt.Sprintf("uploads take %v of %v; %.0f %% passes while kernels of the pipeline run", length(uploads), w.wall, 100*share(uploads, union(w.kernels)))
		fmt.Printf("overlap, streams %v: %.0f %% of the uploads' time passes while the GPU computes: %s\n", policy, 100*hidden, figures)
		if policy == streams.PerBackend {
			atLeast(t, "overlap", hidden, 0.8, figures)
		}
	}
}

// union returns the same time as spans that do not touch, in order.
func union(spans []span) (joined []span) {
	slices.SortFunc(spans, func(a, b span) int { return a.from.Compare(b.from) })
	for _, s := range spans {
		if n := len(joined); n > 0 && !s.from.After(joined[n-1].to) {
			if s.to.After(joined[n-1].to) {
				joined[n-1].to = s.to
			}
			continue
		}
		joined = append(joined, s)
	}
	return joined
}

func length(spans []span) (sum time.Duration) {
	for _, s := range spans {
		sum += s.to.Sub(s.from)
	}
	return sum
}

// share returns the share of a's time that is b's as well. Both are unions.
func share(a, b []span) float64 {
	var both time.Duration
	for _, s := range a {
		for _, o := range b {
			from, to := max(s.from.UnixNano(), o.from.UnixNano()), min(s.to.UnixNano(), o.to.UnixNano())
			both += time.Duration(max(0, to-from))
		}
	}
	return float64(both) / float64(max(length(a), 1))
}

// TestShares checks the arithmetic of spans.
func TestShares(t *testing.T) {
	at := func(pairs ...int) (spans []span) {
		for i := 0; i < len(pairs); i += 2 {
			spans = append(spans, span{time.Unix(int64(pairs[i]), 0), time.Unix(int64(pairs[i+1]), 0)})
		}
		return spans
	}
	require.Equal(t, at(0, 5, 7, 9), union(at(7, 9, 0, 3, 2, 5, 3, 4)))
	require.InDelta(t, 0.5, share(at(0, 2, 4, 6), union(at(1, 3, 5, 7))), 1e-9)
	require.InDelta(t, 1, share(at(2, 4, 6, 8), at(0, 10)), 1e-9)
	require.InDelta(t, 0.2, share(at(0, 10), at(-3, 0, 1, 2, 9, 10, 11, 12)), 1e-9)
	require.Zero(t, share(at(0, 1), at(1, 2, 5, 6)))
}
