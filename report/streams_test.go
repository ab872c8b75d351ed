package report

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/stats"
	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/streamtest"
)

// runOnStreams records two epochs of a pipeline with operators for whole batches:
// two chains on a device, what joins them, and one on the host that reads it.
func runOnStreams(t *testing.T, d streams.Device, kernel time.Duration) (*Recorder, *pipeline.Pipeline, stats.Run) {
	t.Helper()
	rec := New(Options{Spans: true})
	batchOp := func(g *pipeline.Graph, name string, backend executor.Backend, in ...pipeline.Value) pipeline.Value {
		return g.AddBatch(pipeline.BatchOp{
			Name: name, Inputs: in, Outputs: []datum.Spec{in[0].Spec()}, Backend: backend,
			New: func() (batchop.Kernel, error) {
				return batchop.KernelFunc(func(_ *streams.Context, in, out []batchop.Tensor) error {
					time.Sleep(kernel)
					copy(out[0].Data, in[0].Data)
					return nil
				}), nil
			},
		})[0]
	}
	o := pipeline.Options{BatchSize: 4, Workers: 2, Events: rec.Events(), Device: d, StreamPolicy: streams.Ranked}
	p, err := pipeline.New(o, func(g *pipeline.Graph) {
		v := g.Read(pipeline.ReaderOptions{}, dots{40})
		up := batchOp(g, "to_device", executor.Mixed, v[0])
		left, right := batchOp(g, "blur", executor.Device, up), batchOp(g, "edges", executor.Device, up)
		sum := batchOp(g, "sum", executor.Device, batchOp(g, "blur_more", executor.Device, left), right)
		g.Output("image", sum)
		g.Output("checked", batchOp(g, "check", executor.Host, sum))
		g.Output("label", v[1])
	})
	require.NoError(t, err)
	l, err := iterator.New(iterator.Options{}, p)
	require.NoError(t, err)
	for _, err := range l.Epochs(t.Context(), 2) {
		require.NoError(t, err)
	}
	require.NoError(t, l.Close())
	return rec, p, l.Stats().Pipelines[0]
}

func traced(t *testing.T, rec *Recorder, p *pipeline.Pipeline) []traceEvent {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, rec.writeTrace(&b, p.Operators()))
	var trace struct{ TraceEvents []traceEvent }
	require.NoError(t, json.Unmarshal(b.Bytes(), &trace))
	return trace.TraceEvents
}

func TestStreamsHaveTracks(t *testing.T) {
	d := streamtest.New(3)
	rec, p, _ := runOnStreams(t, d, 0)
	require.NoError(t, d.Close())
	events := traced(t, rec, p)

	spans := map[string]int{}
	var named []string
	flows := map[int][]traceEvent{}
	for _, e := range events {
		switch {
		case e.Phase == "X" && e.Cat == "stream":
			require.Equal(t, pidStreams, e.PID)
			require.Equal(t, true, e.Args["measured"])
			spans[e.Name]++
		case e.Phase == "X" && e.Name == "check":
			require.Equal(t, pidBatchOps, e.PID)
			spans["host"]++
		case e.Phase == "M" && e.PID == pidStreams && e.Name == "thread_name":
			named = append(named, e.Args["name"].(string))
		case e.Cat == "flow":
			flows[e.ID] = append(flows[e.ID], e)
		}
	}
	require.Subset(t, named, []string{"stream 1", "stream 2"})
	for _, name := range []string{"to_device", "blur", "edges", "blur_more", "sum", "host"} {
		require.GreaterOrEqual(t, spans[name], 20, "%s on every batch", name)
	}
	require.Len(t, flows, 20)
	for id, flow := range flows {
		var phases strings.Builder
		for _, e := range flow {
			phases.WriteString(e.Phase)
			require.True(t, slices.ContainsFunc(events, func(s traceEvent) bool {
				return s.Phase == "X" && s.PID == e.PID && s.TID == e.TID && s.Time <= e.Time && e.Time <= s.Time+s.Dur
			}), "flow %d passes no span at %v", id, e)
		}
		require.Equal(t, "sttttttf", phases.String())
	}
}

// With a device that tells the time of its own, and with one that runs ahead of
// the host's.
func TestTracksOfStreamsDoNotOverlap(t *testing.T) {
	host, test := streams.NewHost(), streamtest.New(1)
	defer host.Close()
	defer test.Close()
	for _, d := range []streams.Device{host, test} {
		rec, p, _ := runOnStreams(t, d, 0)
		requireApart(t, traced(t, rec, p))
	}
}

func TestATimelineShowsStreams(t *testing.T) {
	host := streams.NewHost()
	defer host.Close()
	rec, p, _ := runOnStreams(t, host, 0)
	line := rec.timeline(p.Operators())
	require.NotNil(t, line)
	require.True(t, line.Measured)
	require.Equal(t, "host: check", line.Lanes[0].Name)
	require.Equal(t, "stream 1", line.Lanes[1].Name)
	var drawn []string
	for _, l := range line.Legend {
		drawn = append(drawn, l.Name)
	}
	require.ElementsMatch(t, []string{"to_device", "blur", "edges", "blur_more", "sum", "check"}, drawn)
	require.NotEmpty(t, line.Flows)
	for _, s := range line.Spans {
		require.GreaterOrEqual(t, s.X, 0.0)
		require.LessOrEqual(t, s.X+s.W, timelineWidth+1.5)
		require.GreaterOrEqual(t, s.W, 0.0)
	}
	rec, p, _ = run(t)
	require.Nil(t, rec.timeline(p.Operators()), "there are no streams")
}

func TestABoxShowsTheTimeOnAStream(t *testing.T) {
	o := pipeline.OperatorInfo{Name: "blur"}
	all := stats.Run{Elapsed: time.Second}
	all.Workers.Capacity = 2 * time.Second
	s := stats.Operator{Samples: 1000, Busy: 10 * time.Millisecond}
	host := operatorBox(&o, &s, all)
	require.Equal(t, []string{"10\u202fµs a sample, 0\u202f%"}, host.Lines)
	s.Stream, s.OnStream = 3, 400*time.Millisecond
	device := operatorBox(&o, &s, all)
	require.Equal(t, []string{"400\u202fµs a sample, 40\u202f%", "on stream 3"}, device.Lines)
	require.InDelta(t, 0.4, device.Share, 1e-9)
	require.Contains(t, device.Tip, "busy 400ms")
}
