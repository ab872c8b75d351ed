package report

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/planktonml/plankton/internal/atomicfile"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/stats"
)

// ErrNotAttached is what is returned before [Recorder.Attach].
var ErrNotAttached = errors.New("report: no loader is attached; call Attach with the loader of the pipeline that has Events")

// attached is the loader of the recorded pipeline.
type attached struct {
	mu     sync.Mutex
	loader *iterator.Loader
}

// Attach says which loader the recorded pipeline belongs to. It panics if the loader has no pipeline
// of that number (Options.Pipeline), if that has no outputs of the names Options.Image and Options.Label, or if
// Options.Mean or Options.Std has neither one value nor as many as the pictures have channels.
func (r *Recorder) Attach(l *iterator.Loader) {
	if n := len(l.Pipelines()); r.opt.Pipeline < 0 || r.opt.Pipeline >= n {
		panic(fmt.Sprintf("report: there is no pipeline %d; the loader has %d, counted from 0", r.opt.Pipeline, n))
	}
	if err := r.opt.check(l.Pipelines()[r.opt.Pipeline]); err != nil {
		panic("report: " + err.Error())
	}
	r.attached.mu.Lock()
	r.attached.loader = l
	r.attached.mu.Unlock()
}

func (r *Recorder) loader() *iterator.Loader {
	r.attached.mu.Lock()
	defer r.attached.mu.Unlock()
	return r.attached.loader
}

// pipeline returns the recorded pipeline, and what it has done.
func (r *Recorder) pipeline() (*pipeline.Pipeline, stats.Run, error) {
	l := r.loader()
	if l == nil {
		return nil, stats.Run{}, ErrNotAttached
	}
	return l.Pipelines()[r.opt.Pipeline], r.course.until(l.Stats().Pipelines[r.opt.Pipeline]), nil
}

// Stats returns what the page shows: what was done up to the last batch that was observed, where the loop has got none since,
// and else what is done now. It panics before Attach.
func (r *Recorder) Stats() stats.Run {
	_, s, err := r.pipeline()
	if err != nil {
		panic(err.Error())
	}
	return s
}

// Observe looks at a batch of the loop, whose rows must not have been overwritten yet. Now and then it copies some
// samples of it, to be shown, and what the run has done so far: so the page has memory and verdicts over time.
// Most calls do nothing, and take some 50 ns. It panics before Attach.
func (r *Recorder) Observe(b *iterator.Batch) {
	l := r.loader()
	if l == nil {
		panic(ErrNotAttached.Error())
	}
	now := time.Now()
	last := b.Step()+1 == int64(l.Len()) // of its epoch; the program may do other things now
	r.course.observe(now, last, func() stats.Run { return l.Stats().Pipelines[r.opt.Pipeline] })
	r.samples.observe(now, r, l.Pipelines()[r.opt.Pipeline], b.Part(r.opt.Pipeline))
}

// chartParts is how many parts of the time charts have at most.
const chartParts = 120

// page returns what is shown now.
func (r *Recorder) page() (*page, error) {
	p, s, err := r.pipeline()
	if err != nil {
		return nil, err
	}
	v := &page{
		Title: r.opt.Title, Settings: p.Options().String(), Made: time.Now(), Pipeline: p, Stats: s,
		First: s.Consumer.FirstBatch, Series: r.series(chartParts), Timeline: r.timeline(p.Operators()), Dropped: r.droppedEvents(),
		Course: r.course.shown(chartParts),
	}
	r.mu.Lock()
	cut := r.cut
	r.mu.Unlock()
	if cut { // the course has the whole run
		v.Series = series{v.Course.Width, v.Course.Rates, v.Course.Ready}
	}
	r.samples.draw(v, &r.opt, p)
	return v, nil
}

// WriteHTML writes the report as one page of HTML, which loads nothing and runs nothing.
func (r *Recorder) WriteHTML(w io.Writer) error {
	v, err := r.page()
	if err != nil {
		return err
	}
	return v.writeHTML(w)
}

// WriteTrace writes what was recorded in the Trace Event Format, for https://ui.perfetto.dev and
// chrome://tracing; docs/statistics.md says what it shows.
func (r *Recorder) WriteTrace(w io.Writer) error {
	p, _, err := r.pipeline()
	if err != nil {
		return err
	}
	return r.writeTrace(w, p.Operators())
}

// WriteFiles writes report.html and trace.json into a folder, which is made if it is not there. A file is
// written whole or not at all.
func (r *Recorder) WriteFiles(dir string) error {
	if _, _, err := r.pipeline(); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(dir, "trace.json"), r.WriteTrace); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, "report.html"), r.WriteHTML)
}
