package report

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/internal/alloctest"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/pipeline/stats"
	"github.com/planktonml/plankton/streams"
)

// observed records some epochs of pictures with labels, with Observe in the loop.
func observed(t *testing.T, o Options, epochs int) (*Recorder, *iterator.Loader) {
	t.Helper()
	rec := New(o)
	p, err := pipeline.New(pipeline.Options{BatchSize: 4, Workers: 2, Events: rec.Events()}, func(g *pipeline.Graph) {
		v := g.Read(pipeline.ReaderOptions{}, dots{40})
		g.Output("image", v[0])
		g.Output("label", v[1])
	})
	require.NoError(t, err)
	l, err := iterator.New(iterator.Options{}, p)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	rec.Attach(l)
	for b, err := range l.Epochs(t.Context(), epochs) {
		require.NoError(t, err)
		rec.Observe(b)
	}
	return rec, l
}

// get asks a handler for a path.
func get(t *testing.T, h http.Handler, method, path string) (int, string, http.Header) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	body, err := io.ReadAll(w.Result().Body)
	require.NoError(t, err)
	return w.Code, string(body), w.Header()
}

func TestFilesOfARun(t *testing.T) {
	rec, l := observed(t, Options{Title: "dots", Spans: true}, 20)
	dir := filepath.Join(t.TempDir(), "new")
	time.Sleep(20 * time.Millisecond) // the program does something else
	require.NoError(t, rec.WriteFiles(dir))
	s := rec.Stats()
	require.EqualValues(t, 800, s.Consumer.Samples)
	require.Less(t, s.Elapsed, l.Stats().Pipelines[0].Elapsed, "that is not time of the run")
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	require.NoError(t, err)
	require.Equal(t, 4, strings.Count(string(page), "data:image/png;base64,"), "pictures of a batch")
	for _, want := range []string{"<title>dots</title>", "dot 0", "uint8 HWC 2×3×3", "What bounded the run when", "Buffers", "epoch 0, step 0"} {
		require.Contains(t, string(page), want)
	}
	for _, bad := range []string{"ZgotmplZ", "NaN", "http-equiv=\"refresh\"", "href=\"metrics\""} {
		require.NotContains(t, string(page), bad)
	}
	trace, err := os.ReadFile(filepath.Join(dir, "trace.json"))
	require.NoError(t, err)
	require.True(t, json.Valid(trace))
	require.Contains(t, string(trace), `"cat":"reader"`)
}

// Without Spans nobody takes the time of every sample, and the trace has no work of workers.
func TestWithoutSpans(t *testing.T) {
	rec, _ := observed(t, Options{}, 3)
	require.Nil(t, rec.Events().Operator)
	var b bytes.Buffer
	require.NoError(t, rec.WriteTrace(&b))
	require.NotContains(t, b.String(), `"cat":"reader"`)
	require.Contains(t, b.String(), `"cat":"step"`)
}

func TestTheLivePage(t *testing.T) {
	rec := New(Options{})
	code, text, _ := get(t, rec, "GET", "/train/")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, text, "no loader is attached yet")
	require.ErrorIs(t, rec.WriteHTML(io.Discard), ErrNotAttached)
	require.ErrorIs(t, rec.WriteTrace(io.Discard), ErrNotAttached)
	require.ErrorIs(t, rec.WriteFiles(t.TempDir()), ErrNotAttached)

	rec, _ = observed(t, Options{Spans: true}, 5)
	for _, c := range []struct{ path, kind, want string }{
		{"/train/", "text/html; charset=utf-8", `<meta http-equiv="refresh" content="5">`},
		{"/train/?still", "text/html; charset=utf-8", "Held still"},
		{"/", "text/html; charset=utf-8", "data:image/png;base64,"},
		{"/train/metrics", "text/plain; version=0.0.4; charset=utf-8", "plankton_operator_samples_total"},
		{"/train/trace.json", "application/json", `"traceEvents"`},
	} {
		code, text, header := get(t, rec, "GET", c.path)
		require.Equal(t, http.StatusOK, code, c.path)
		require.Equal(t, c.kind, header.Get("Content-Type"))
		require.Equal(t, fmt.Sprint(len(text)), header.Get("Content-Length"))
		require.Contains(t, text, c.want)
		require.Equal(t, "no-store", header.Get("Cache-Control"))
		require.Contains(t, header.Get("Content-Security-Policy"), "default-src 'none'")
		for _, m := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(text, -1) {
			require.Regexp(t, `^(data:|metrics$|trace\.json$|\?)`, m[1])
		}
	}
	_, still, _ := get(t, rec, "GET", "/train/?still")
	require.NotContains(t, still, `http-equiv="refresh"`)
	for path, want := range map[string]int{"/train": http.StatusNotFound, "/train/other": http.StatusNotFound} {
		code, _, _ := get(t, rec, "GET", path)
		require.Equal(t, want, code, path)
	}
	code, _, header := get(t, rec, "POST", "/train/")
	require.Equal(t, http.StatusMethodNotAllowed, code)
	require.Equal(t, "GET, HEAD", header.Get("Allow"))
}

// The page is served, and events recorded, while the loop runs.
func TestThePageOfARunThatGoesOn(t *testing.T) {
	rec := New(Options{Spans: true})
	p, err := pipeline.New(pipeline.Options{BatchSize: 4, Workers: 2, Events: rec.Events()}, func(g *pipeline.Graph) {
		v := g.Read(pipeline.ReaderOptions{}, dots{40})
		g.Output("image", v[0])
		g.Output("label", v[1])
	})
	require.NoError(t, err)
	l, err := iterator.New(iterator.Options{}, p)
	require.NoError(t, err)
	rec.Attach(l)
	code, _, _ := get(t, rec, "GET", "/") // before the first batch
	require.Equal(t, http.StatusOK, code)
	ctx, cancel := context.WithCancel(t.Context())
	var looking sync.WaitGroup
	for _, path := range []string{"/", "/metrics", "/trace.json"} {
		looking.Go(func() {
			for ctx.Err() == nil {
				code, _, _ := get(t, rec, "GET", path)
				if code != http.StatusOK {
					t.Errorf("%s: %d", path, code)
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	for b, err := range l.Epochs(t.Context(), 20) {
		require.NoError(t, err)
		rec.Observe(b)
	}
	cancel()
	looking.Wait()
	require.NoError(t, l.Close())
	code, _, _ = get(t, rec, "GET", "/") // and after the end
	require.Equal(t, http.StatusOK, code)
}

// Outputs that are no pictures are shown as numbers.
func TestOutputsWithoutPictures(t *testing.T) {
	rec := New(Options{})
	p, err := pipeline.New(pipeline.Options{BatchSize: 3, Events: rec.Events()}, func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{}, readers.Rows([]float32{1.5, 2, 3, 4, 5, 6}, 2), readers.Rows([]int64{7, 8, 9}), readers.Ragged([][]uint16{{1}, {2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}}))
		g.Output("x", v[0])
		g.Output("id", v[1])
		g.Output("words", v[2])
	})
	require.NoError(t, err)
	l, err := iterator.New(iterator.Options{}, p)
	require.NoError(t, err)
	defer l.Close()
	rec.Attach(l)
	for b, err := range l.Epoch(t.Context()) {
		require.NoError(t, err)
		rec.Observe(b)
	}
	var b bytes.Buffer
	require.NoError(t, rec.WriteHTML(&b))
	for _, want := range []string{"1.5 2<br>3 4<br>5 6<br>", "7<br>8<br>9<br>", "1<br>2 3<br>1 2 3 4 5 6 7 8 …<br>", "differs"} {
		require.Contains(t, b.String(), want)
	}
	require.NotContains(t, b.String(), "data:image/png")
}

func TestWhatCannotBeShown(t *testing.T) {
	rec, l := observed(t, Options{Image: "label"}, 1)
	var b bytes.Buffer
	require.NoError(t, rec.WriteHTML(&b))
	require.Contains(t, b.String(), "There are no pictures: a picture has three dimensions")
	require.PanicsWithValue(t, "report: there is no pipeline 1; the loader has 1, counted from 0", func() { New(Options{Pipeline: 1}).Attach(l) })
	require.PanicsWithValue(t, ErrNotAttached.Error(), func() { New(Options{}).Observe(nil) })
}

// What the options name must fit the pipeline.
func TestOptionsFitThePipeline(t *testing.T) {
	_, l := observed(t, Options{}, 1)
	for want, o := range map[string]Options{
		`report: Image is "img"; the pipeline has the outputs ["image" "label"]`:                       {Image: "img"},
		`report: Label is "class"; the pipeline has the outputs ["image" "label"]`:                     {Label: "class"},
		"report: Mean has 2 values for pictures of 3 channels; one for each is wanted, or one for all": {Mean: []float64{1, 2}},
		"report: Std has 4 values for pictures of 3 channels; one for each is wanted, or one for all":  {Std: make([]float64, 4)},
	} {
		require.PanicsWithValue(t, want, func() { New(o).Attach(l) })
	}
	New(Options{Mean: []float64{1, 2, 3}, Std: []float64{1}}).Attach(l)
	_, err := newPicture(sample{DType: datum.Uint8, Shape: []int{1, 1, 3}, Data: make([]byte, 3)}, normalisation{Std: []float64{1, 2}}, caption{})
	require.ErrorContains(t, err, "Std has 2 values")
}

// withMemory is the host as a device with memory of its own.
type withMemory struct{ streams.Device }

func (withMemory) HostMemory() memstats.Allocator { return memstats.Heap{} }
func (withMemory) Memory() memstats.Allocator     { return memstats.Heap{} }

// Outputs in a device's memory are not read, whatever the options name.
func TestOutputsOnADeviceAreNotRead(t *testing.T) {
	d := withMemory{streams.NewHost()}
	defer d.Close()
	p, err := pipeline.New(pipeline.Options{BatchSize: 4, Device: d}, func(g *pipeline.Graph) {
		v := g.Read(pipeline.ReaderOptions{}, dots{8})
		g.Output("image", g.AddBatch(pipeline.BatchOp{
			Name: "to_device", Inputs: v[:1], Outputs: []datum.Spec{v[0].Spec()}, Backend: executor.Mixed,
			New: func() (batchop.Kernel, error) {
				return batchop.KernelFunc(func(*streams.Context, []batchop.Tensor, []batchop.Tensor) error { return nil }), nil
			},
		})[0])
	})
	require.NoError(t, err)
	require.True(t, p.OnDevice("image"))
	image, label := (&Options{Image: "image", Label: "image"}).outputs(p)
	require.Empty(t, image)
	require.Empty(t, label)
}

// asker looks, when a trace is written, whether events could be recorded.
type asker struct {
	mu     *sync.Mutex
	writes int
	held   bool
}

func (a *asker) Write(b []byte) (int, error) {
	a.writes++
	if a.mu.TryLock() {
		a.mu.Unlock()
	} else {
		a.held = true
	}
	return len(b), nil
}

// The run does not wait for a trace, and a trace has what there was when it began.
func TestTheRunDoesNotWaitForATrace(t *testing.T) {
	rec, l := observed(t, Options{Spans: true}, 5)
	require.NoError(t, l.Close(), "else rows of the next epoch are made ahead, and told of")
	a := asker{mu: &rec.mu}
	require.NoError(t, rec.WriteTrace(&a))
	require.Greater(t, a.writes, 1)
	require.False(t, a.held, "events wait for the trace")
	s := rec.snapshot()
	require.Equal(t, rec.batches, s.batches)
	require.Equal(t, rec.operators, s.operators)
	rec.Events().BatchBegun(stats.BatchEvent{})
	require.Len(t, rec.batches, len(s.batches)+1)

	rec.serving.Lock() // by another client
	code, _, _ := get(t, rec, "GET", "/metrics")
	require.Equal(t, http.StatusOK, code)
	done := make(chan int)
	go func() {
		code, _, _ := get(t, rec, "GET", "/trace.json")
		done <- code
	}()
	select {
	case <-done:
		t.Error("two traces at once")
	case <-time.After(20 * time.Millisecond):
	}
	rec.serving.Unlock()
	require.Equal(t, http.StatusOK, <-done)
}

// nosy is a source that is asked for names when pictures are drawn.
type nosy struct {
	dots
	asked *func()
}

func (s nosy) Describe(i int64) string {
	(*s.asked)()
	return s.dots.Describe(i)
}

func TestTheLoopDoesNotWaitForPictures(t *testing.T) {
	rec, asked := New(Options{}), func() {}
	p, err := pipeline.New(pipeline.Options{BatchSize: 4}, func(g *pipeline.Graph) {
		v := g.Read(pipeline.ReaderOptions{}, nosy{dots{8}, &asked})
		g.Output("image", v[0])
		g.Output("label", v[1])
	})
	require.NoError(t, err)
	l, err := iterator.New(iterator.Options{}, p)
	require.NoError(t, err)
	defer l.Close()
	rec.Attach(l)
	for b, err := range l.Epoch(t.Context()) {
		require.NoError(t, err)
		if b.Step() == 0 {
			rec.Observe(b)
			continue
		}
		times := 0
		asked = func() {
			if times++; times > 1 {
				return
			}
			if !rec.samples.mu.TryLock() {
				t.Error("Observe waits for pictures")
				return
			}
			rec.samples.at = time.Time{}
			rec.samples.mu.Unlock()
			rec.Observe(b) // another batch is looked at meanwhile
		}
		v, err := rec.page()
		require.NoError(t, err)
		require.Equal(t, "epoch 0, step 0", v.SamplesOf)
		require.Len(t, v.Pictures, 4)
		require.Equal(t, "dot 0", v.Pictures[0].Caption.Name)
		v, err = rec.page()
		require.NoError(t, err)
		require.Equal(t, "epoch 0, step 1", v.SamplesOf, "older pictures do not stay")
		require.Equal(t, "dot 4", v.Pictures[0].Caption.Name)
	}
}

func BenchmarkSnapshot(b *testing.B) {
	rec := full()
	for b.Loop() {
		rec.snapshot()
	}
}

func BenchmarkTrace(b *testing.B) {
	rec := full()
	for b.Loop() {
		var n bytes.Buffer
		if err := rec.writeTrace(&n, make([]pipeline.OperatorInfo, 1)); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(n.Len()), "bytes")
	}
}

// full returns a recorder with as many events as it keeps.
func full() *Recorder {
	rec := New(Options{Spans: true})
	for i := range maxOperators {
		rec.operators = append(rec.operators, stats.OperatorEvent{Start: time.Now(), Duration: 1000, Step: int64(i)})
	}
	for i := range maxBatches {
		rec.batches = append(rec.batches, batchEvent{batchKind(i % 5), stats.BatchEvent{Time: time.Now(), Step: int64(i / 5), Slot: i / 5 % 4}})
	}
	for i := range maxWaits {
		rec.waits = append(rec.waits, stats.WaitEvent{Start: time.Now()})
		rec.works = append(rec.works, stats.StreamEvent{Start: time.Now(), Step: int64(i / 3)})
	}
	return rec
}

// Pixels whose normalisation is unknown are stretched.
func TestPicturesWithoutANormalisation(t *testing.T) {
	s := sample{DType: datum.Float32, Layout: datum.CHW, Shape: []int{1, 1, 3}}
	for _, v := range []float32{-2, 0, 2} {
		s.Data = append(s.Data, bytesOfFloat(v)...)
	}
	p, err := newPicture(s, normalisation{}, caption{})
	require.NoError(t, err)
	require.EqualValues(t, 0, pixel(t, p, 0, 0).R)
	require.EqualValues(t, 128, pixel(t, p, 1, 0).R)
	require.EqualValues(t, 255, pixel(t, p, 2, 0).R)
}

// A course has moments of the whole run, however long it is, and its parts add up to the run.
func TestACourseHasBounds(t *testing.T) {
	var c course
	began := time.Unix(1000, 0)
	at := func(i int) stats.Run {
		r := stats.Run{Elapsed: time.Duration(i) * 10 * time.Millisecond}
		r.Consumer.Batches, r.Consumer.Samples = int64(i), int64(8*i)
		r.Queue.Asked, r.Queue.Ready = int64(i), int64(2*i)
		r.Memory.Live = int64(i)
		return r
	}
	const steps = 100_000
	for i := range steps {
		c.observe(began.Add(time.Duration(i)*10*time.Millisecond), false, func() stats.Run { return at(i) })
	}
	require.LessOrEqual(t, len(c.moments), mostMoments)
	require.Greater(t, len(c.moments), mostMoments/4)
	require.Equal(t, began, c.moments[0].at)
	s := c.shown(100)
	require.Len(t, s.Rates, 100)
	for i, rate := range s.Rates {
		require.InDelta(t, 800, rate, 1e-6)
		require.InDelta(t, 2, s.Ready[i], 1e-9)
	}
	require.InDelta(t, steps, s.Memory[99], steps/100)
	require.Empty(t, (&course{}).shown(100).Rates)
}

// Observe does nothing most of the time, and allocates nothing then.
func TestObserveIsCheap(t *testing.T) {
	rec, l := observed(t, Options{}, 1)
	for b, err := range l.Epoch(t.Context()) {
		require.NoError(t, err)
		rec.course.latest.at = time.Now().Add(time.Hour)
		if b.Step()+1 == int64(l.Len()) {
			break
		}
		alloctest.None(t, 100, func() { rec.Observe(b) })
	}
}
