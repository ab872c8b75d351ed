package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/planktonml/plankton/pipeline"
)

// timeline shows what the streams of a device, and the host for whole batches,
// did during a few batches in the middle of a run.
type timeline struct {
	Height   float64
	Lanes    []lane
	Spans    []laneSpan
	Flows    []string // paths, from what makes a batch's value to what reads it
	X        []tick
	Legend   []laneColour
	Measured bool // all times are those of the device's events
}

// lane is a stream, or an operator on the host.
type lane struct {
	Y          float64
	Name, Text string
}

// NameY and TextY are the base lines of a lane's texts.
func (l lane) NameY() float64 { return l.Y + 15 }
func (l lane) TextY() float64 { return l.Y + 29 }

// laneSpan is an operator's work on a batch, or a wait.
type laneSpan struct {
	X, Y, W    float64
	Class, Tip string
}

// AxisY is the base line of the texts of the axis, SVGHeight the whole extent.
func (t *timeline) AxisY() float64     { return t.Height + 16 }
func (t *timeline) SVGHeight() float64 { return t.Height + 28 }

type laneColour struct {
	Name, Class string
	operator    int
}

const (
	timelineBatches = 3
	timelineWidth   = 930.0
	timelineSpans   = 400 // drawn at most
	laneHeight      = 34.0
	spanHeight      = 20.0
	colours         = 6
)

// timeline returns the timeline of a run, nil where no stream was at work.
// Operators are those of the pipeline.
func (r *Recorder) timeline(operators []pipeline.OperatorInfo) *timeline {
	r.mu.Lock()
	none := len(r.works) == 0
	r.mu.Unlock()
	if none {
		return nil
	}
	r = r.snapshot()
	d := &timelineDrawing{timeline: &timeline{Measured: true}, operators: operators, rows: map[laneID]int{}, ends: map[work]laneSpan{}}
	d.collect(r)
	d.choose()
	d.draw()
	return d.timeline
}

// laneID is a stream, or an operator on the host where stream is -1.
type laneID struct{ stream, operator int }

// laneWork is what a lane did.
type laneWork struct {
	lane laneID
	work work
	wait time.Duration // just before
	from time.Time
	took time.Duration
}

type timelineDrawing struct {
	*timeline
	operators []pipeline.OperatorInfo
	works     []laneWork
	first     time.Time // of what is drawn
	last      time.Time
	rows      map[laneID]int
	ends      map[work]laneSpan // where the work of each operator is drawn
}

// collect lists all work, in the order of time.
func (d *timelineDrawing) collect(r *Recorder) {
	onStream, waits := r.onStreams(), r.hostWaits(d.operators)
	for _, e := range r.operators {
		if e.Worker < 0 && !onStream[e.Operator] {
			on := work{e.Operator, place{e.Epoch, e.Step}}
			d.works = append(d.works, laneWork{laneID{-1, e.Operator}, on, waits[on], e.Start, e.Duration})
		}
	}
	for _, e := range r.inOrder() {
		d.works = append(d.works, laneWork{laneID{e.Stream, 0}, work{e.Operator, place{e.Epoch, e.Step}}, e.Waited, e.Start, e.Duration})
		d.Measured = d.Measured && e.Measured
	}
	slices.SortStableFunc(d.works, func(a, b laneWork) int { return a.from.Compare(b.from) })
	d.lanes()
}

// lanes lays the lanes out, the host's first, with the parts of the time in which
// they worked and waited.
func (d *timelineDrawing) lanes() {
	type sum struct{ busy, wait time.Duration }
	sums := map[laneID]sum{}
	var ids []laneID
	begin, end := d.works[0].from, d.works[0].from
	for _, w := range d.works {
		s, ok := sums[w.lane]
		if !ok {
			ids = append(ids, w.lane)
		}
		sums[w.lane] = sum{s.busy + w.took, s.wait + w.wait}
		if e := w.from.Add(w.took); e.After(end) {
			end = e
		}
	}
	slices.SortFunc(ids, func(a, b laneID) int { return (a.stream-b.stream)*len(d.operators) + a.operator - b.operator })
	for i, id := range ids {
		d.rows[id] = i
		name := fmt.Sprintf("stream %d", id.stream+1)
		if id.stream < 0 {
			name = "host: " + shortName(d.operators[id.operator].Name)
		}
		text := fmt.Sprintf("works %s, waits %s", percent(ratio(sums[id].busy, end.Sub(begin))), percent(ratio(sums[id].wait, end.Sub(begin))))
		d.Lanes = append(d.Lanes, lane{Y: laneHeight * float64(i), Name: name, Text: text})
	}
	d.Height = laneHeight * float64(len(ids))
}

// choose takes the time of a few batches in the middle.
func (d *timelineDrawing) choose() {
	var places []place
	for _, w := range d.works {
		if !slices.Contains(places[max(0, len(places)-16):], w.work.place) { // batches in flight overlap, but not for long
			places = append(places, w.work.place)
		}
	}
	from := max(0, (len(places)-timelineBatches)/2)
	chosen := places[from:min(len(places), from+timelineBatches)]
	for _, w := range d.works {
		if !slices.Contains(chosen, w.work.place) {
			continue
		}
		if at := w.from.Add(-w.wait); d.first.IsZero() || at.Before(d.first) {
			d.first = at
		}
		if at := w.from.Add(w.took); at.After(d.last) {
			d.last = at
		}
	}
	if !d.last.After(d.first) {
		d.last = d.first.Add(time.Microsecond)
	}
}

// draw draws the chosen time.
func (d *timelineDrawing) draw() {
	total := d.last.Sub(d.first)
	x := func(at time.Time) float64 {
		return timelineWidth * min(1, max(0, float64(at.Sub(d.first))/float64(total)))
	}
	seen := map[int]bool{}
	for _, w := range d.works {
		end := w.from.Add(w.took)
		if end.Before(d.first) || w.from.Add(-w.wait).After(d.last) || len(d.Spans) >= timelineSpans {
			continue
		}
		y := laneHeight*float64(d.rows[w.lane]) + (laneHeight-spanHeight)/2
		batch := fmt.Sprintf("epoch %d, step %d", w.work.epoch, w.work.step)
		if w.wait > 0 {
			d.Spans = append(d.Spans, laneSpan{x(w.from.Add(-w.wait)), y, x(w.from) - x(w.from.Add(-w.wait)), "wait", fmt.Sprintf("waits %v, %s", w.wait, batch)})
		}
		name := shortName(d.operators[w.work.operator].Name)
		class := fmt.Sprintf("op%d", w.work.operator%colours)
		span := laneSpan{x(w.from), y, max(1.5, x(end)-x(w.from)), class, fmt.Sprintf("%s, %s: %v", name, batch, w.took)}
		d.Spans = append(d.Spans, span)
		for _, in := range d.operators[w.work.operator].Inputs {
			if maker, ok := d.ends[work{in, w.work.place}]; ok {
				d.join(maker, span)
			}
		}
		d.ends[w.work] = span
		if !seen[w.work.operator] {
			seen[w.work.operator] = true
			d.Legend = append(d.Legend, laneColour{name, class, w.work.operator})
		}
	}
	slices.SortFunc(d.Legend, func(a, b laneColour) int { return a.operator - b.operator })
	step := niceStep(total.Seconds() / 6)
	for s := 0.0; s <= total.Seconds(); s += step {
		d.X = append(d.X, tick{timelineWidth * s / total.Seconds(), micro(s * 1e6)})
	}
}

// join draws a flow from one lane to another.
func (d *timelineDrawing) join(from, to laneSpan) {
	if from.Y == to.Y {
		return
	}
	x1, y1, x2, y2 := from.X+from.W, from.Y+spanHeight/2, to.X, to.Y+spanHeight/2
	bend := max(8, (x2-x1)/2)
	d.Flows = append(d.Flows, fmt.Sprintf("M%.1f,%.1f C%.1f,%.1f %.1f,%.1f %.1f,%.1f", x1, y1, x1+bend, y1, x2-bend, y2, x2, y2))
}
