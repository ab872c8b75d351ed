package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"time"

	"github.com/planktonml/plankton/pipeline"
)

// Report is what a page shows.
type Report struct {
	Title    string
	Settings string // of the run, in words
	Made     time.Time
	Pipeline *pipeline.Pipeline
	Stats    pipeline.Stats
	First    time.Duration // the wait for the first batch of all
	Series   Series
	Timeline *Timeline // nil where no stream was at work
	Pictures []Picture
	Dropped  int64 // events that the trace lacks
}

//go:embed report.html
var page string

var pageTemplate = template.Must(template.New("report").Parse(page))

// WriteHTML writes the report as one page of HTML, which loads nothing and runs
// nothing.
func (r *Report) WriteHTML(w io.Writer) error { return pageTemplate.Execute(w, newView(r)) }

// view is a Report in the form that the page's template prints.
type view struct {
	*Report
	Verdict pipeline.Verdict
	Figures []figure
	Graph   graph
	Charts  []chart
	States  []state
	Rows    []row
	Table   string
}

// figure is a number at the top of the page.
type figure struct{ Value, Name, Tip string }

// state is a part of the workers' time.
type state struct {
	Name, Class, Text string
	Width             float64 // in hundredths of the bar
}

// row is an operator in the table.
type row struct {
	Name                         string
	Samples, Bytes, Errors, Each string
	Busy, Wait                   string
	Estimated                    bool
}

func newView(r *Report) *view {
	s := r.Stats
	v := &view{Report: r, Verdict: s.Verdict(), Graph: newGraph(r.Pipeline, s), Table: s.String()}
	v.Figures = []figure{
		{number(s.Rate()), "samples per second", "valid samples that the loop got, per second of the pipeline's time"},
		{percent(s.Consumer.WaitShare()), "of its time the loop waits", "0 % is best: the data are there before they are asked for"},
		{percent(s.Workers.BusyShare()), "of their time workers work", fmt.Sprintf("%d workers", s.Workers.Workers)},
		{percent(s.CPUShare()), fmt.Sprintf("of %d processors busy", s.Processors), "this process alone"},
		{percent(s.Queue.Occupancy()), "full was the queue", fmt.Sprintf("%d batches ahead at most; 100 %% is best", s.Queue.Depth)},
		{micro(float64(r.First) / 1e3), "to the first batch", ""},
		{bytesOf(float64(s.Memory.Peak)), "of buffers at most", ""},
		{number(float64(s.Consumer.Bad)), "bad samples", "skipped or replaced"},
	}
	if n := len(r.Series.Samples); n > 0 {
		v.Charts = []chart{
			newChart("Throughput", "samples/s", r.Series.Samples, r.Series.Width, 0),
			newChart(fmt.Sprintf("Batches ready when one was asked for, of %d", s.Queue.Depth), "ready", r.Series.Ready, r.Series.Width, float64(s.Queue.Depth)),
		}
	}
	v.states()
	for _, o := range s.Operators {
		each := 0.0
		if o.Samples > 0 {
			each = float64(o.Busy) / float64(o.Samples) / 1e3
		}
		v.Rows = append(v.Rows, row{
			Name: o.Name, Samples: number(float64(o.Samples)), Bytes: bytesOf(float64(o.Bytes)), Errors: number(float64(o.Errors)), Each: micro(each),
			Busy: percent(ratio(o.Busy, s.Workers.Capacity)), Wait: percent(ratio(o.WaitGet+o.WaitMemory, s.Workers.Capacity)), Estimated: o.Timed < o.Samples,
		})
	}
	return v
}

// states divides the workers' time.
func (v *view) states() {
	w := v.Stats.Workers
	var operators time.Duration
	for _, o := range v.Stats.Operators {
		if !o.Batch {
			operators += o.Busy
		}
	}
	operators = min(operators, w.Busy())
	for _, p := range []struct {
		name, class string
		d           time.Duration
	}{
		{"in operators", "busy", operators},
		{"between operators", "other", w.Busy() - operators},
		{"gave way to the loop's body", "yielded", w.Yielded},
		{"waited for their turn", "get", w.WaitGet},
		{"waited for memory", "memory", w.WaitMemory},
		{"waited for a free batch", "put", w.WaitPut},
	} {
		if share := 100 * ratio(p.d, w.Capacity); share >= 0.05 {
			v.States = append(v.States, state{p.name, p.class, fmt.Sprintf("%.1f\u202f%%", share), share})
		}
	}
}

func percent(share float64) string { return fmt.Sprintf("%.0f\u202f%%", 100*share) }
