package report

import (
	"github.com/planktonml/plankton/pipeline/stats"

	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/planktonml/plankton/pipeline"
)

// page is what is shown of a run.
type page struct {
	Title    string
	Settings string // of the run, in words
	Made     time.Time
	Pipeline *pipeline.Pipeline
	Stats    stats.Run
	First    time.Duration // the wait for the first batch of all
	Series   series
	Timeline *timeline // nil where no stream was at work
	Course   shownCourse
	Outputs  []outputRow
	Pictures []picture
	Dropped  int64 // events that the trace lacks

	SamplesOf       string // the batch of the pictures and the values
	PicturesProblem string
	Live            bool
	Refresh         int // seconds, 0 for never
}

//go:embed report.html
var pageHTML string

var pageTemplate = template.Must(template.New("report").Parse(pageHTML))

// writeHTML writes the report as one page of HTML, which loads nothing and runs
// nothing.
func (r *page) writeHTML(w io.Writer) error { return pageTemplate.Execute(w, newView(r)) }

// view is a Report in the form that the page's template prints.
type view struct {
	*page
	Verdict stats.Verdict
	Figures []figure
	Graphs  []graph // the same, in columns and in rows
	Narrow  float64 // the width of windows up to which the second one is shown
	Ahead   string  // how many samples were made that the loop did not get; empty for none
	Charts  []chart
	Bounds  []boundPart
	Kinds   []boundKind
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
	Name, Full                   string
	Samples, Bytes, Errors, Each string
	Busy, Wait                   string
	Estimated                    bool
}

// verdict is the verdict with the short name of the operator.
func verdict(s stats.Run) stats.Verdict {
	v := s.Verdict()
	if v.Operator != "" {
		name := strings.NewReplacer(v.Operator, shortName(v.Operator))
		v.Operator, v.Because, v.Advice = shortName(v.Operator), name.Replace(v.Because), name.Replace(v.Advice)
	}
	return v
}

// Of the width of a window, what is beside a graph, and the most that is left for one.
const (
	besideGraph = 92.0
	widestGraph = 1148.0
)

// graphs lays the pipeline out for wide and for narrow windows.
func (v *view) graphs() {
	boxes := newParts(v.Pipeline, v.Stats)
	v.Graphs = []graph{boxes.lay(false), boxes.lay(true)}
	v.Narrow = math.Ceil(v.Graphs[0].MinWidth()) + besideGraph
	if v.Graphs[0].MinWidth() > widestGraph {
		v.Narrow = 1e5
	}
}

// ahead says how many samples the reader has read beside those that the loop got: some
// batches are always made ahead.
func (v *view) ahead() {
	c := v.Stats.Consumer
	got := c.Samples
	if v.Pipeline.Options().OnError == pipeline.Skip {
		got += c.Bad
	}
	for _, o := range v.Stats.Operators {
		if o.Reader {
			if n := o.Samples - got; n > 0 {
				v.Ahead = number(float64(n))
			}
			return
		}
	}
}

func newView(r *page) *view {
	s := r.Stats
	v := &view{page: r, Verdict: verdict(s), Table: s.String()}
	v.graphs()
	v.ahead()
	rate := number(s.Rate())
	v.Figures = []figure{
		{rate, "samples per second", "valid samples that the loop got, per second of the pipeline's time"},
		{percent(s.Consumer.WaitShare()), "of the loop's time spent waiting", "0 % is best: the data are there before they are asked for"},
		{percent(s.Workers.BusyShare()), "of the workers' time spent working", fmt.Sprintf("%d workers", s.Workers.Workers)},
		{percent(s.CPUShare()), fmt.Sprintf("of %d processors used", s.Processors), "by this process alone; others may have had the rest"},
		{percent(s.Queue.Occupancy()), "of the queue filled", fmt.Sprintf("%d batches ahead at most; 100 %% is best", s.Queue.Depth)},
		{micro(float64(r.First) / 1e3), "until the first batch", ""},
		{bytesOf(float64(s.Memory.Peak)), "of buffers at most", ""},
		{number(float64(s.Consumer.Samples)), fmt.Sprintf("samples; %s bad ones", number(float64(s.Consumer.Bad))),
			fmt.Sprintf("valid ones that the loop got, in %d batches; bad ones were skipped or replaced", s.Consumer.Batches)},
	}
	if t := s.Traffic; t.Requests > 0 {
		v.Figures = append(v.Figures, figure{number(float64(t.Requests)), "requests to servers",
			fmt.Sprintf("%s fetched for %s that were needed; %d sent again, %d sent beside a late one", bytesOf(float64(t.BytesFetched)), bytesOf(float64(t.BytesNeeded)), t.Retries, t.Hedges)})
	}
	if n := len(r.Series.Samples); n > 0 {
		throughput := newChart("Throughput", "samples/s", r.Series.Samples, r.Series.Width, 0)
		throughput.Note = rate + " samples/s on average"
		queue := newChart(fmt.Sprintf("Batches ready when one was asked for, of %d", s.Queue.Depth), "ready", r.Series.Ready, r.Series.Width, float64(s.Queue.Depth))
		queue.Note = fmt.Sprintf("%s of the queue filled on average", percent(s.Queue.Occupancy()))
		v.Charts = []chart{throughput, queue}
	}
	if n := len(r.Course.Memory); n > 1 {
		unit, size := unitOf(slices.Max(r.Course.Memory))
		held := make([]float64, n)
		for i, x := range r.Course.Memory {
			held[i] = x / size
		}
		memory := newChart("Buffers, "+unit, unit, held, r.Course.Width, 0)
		memory.Note = fmt.Sprintf("%s at most", bytesOf(float64(s.Memory.Peak)))
		v.Charts = append(v.Charts, memory)
	}
	v.bounds()
	v.states()
	for _, o := range s.Operators {
		each := 0.0
		if o.Samples > 0 {
			each = float64(o.Busy) / float64(o.Samples) / 1e3
		}
		v.Rows = append(v.Rows, row{
			Name: shortName(o.Name), Full: o.Name, Samples: number(float64(o.Samples)), Bytes: bytesOf(float64(o.Bytes)), Errors: number(float64(o.Errors)), Each: micro(each),
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
