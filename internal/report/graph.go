package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/planktonml/plankton/pipeline"
)

// graph is the picture of a pipeline: boxes in columns, by how many operators
// are before them, and curves between them.
type graph struct {
	Width, Height float64
	Boxes         []box
	Edges         []string // paths
	lanes         int      // edges that run below the boxes
}

// box is an operator, an output or the consumer.
type box struct {
	X, Y, W, H float64
	Kind       string   // reader, operator, output or consumer
	Title      []string // lines
	Lines      []string
	Share      float64 // of the workers' time, or of the run's on a stream, 0 to 1
	Bar        float64 // its length
	Tip        string
	Out        string // what leaves it, written beside it
}

// OuterWidth and OuterHeight are the extents with a margin for lines at the edge.
func (g graph) OuterWidth() float64  { return g.Width + 4 }
func (g graph) OuterHeight() float64 { return g.Height + 4 }

// OutY is the place of Out, above where the curves leave.
func (b box) OutY() float64 { return b.H/2 - 7 }

// BarY is the place of the bar under the lines.
func (b box) BarY() float64 { return b.H - pad }

const (
	boxWidth  = 190.0
	columnGap = 120.0
	rowGap    = 22.0
	laneGap   = 10.0
	lineH     = 16.0
	pad       = 12.0
)

// newGraph lays out a pipeline, with what its run has taken.
func newGraph(p *pipeline.Pipeline, s pipeline.Stats) graph {
	ops := p.Operators()
	column := make([]int, len(ops))
	last := 0
	for i, o := range ops {
		for _, in := range o.Inputs {
			column[i] = max(column[i], column[in]+1)
		}
		last = max(last, column[i])
	}
	var g graph
	var columns []float64 // the height that each has so far
	place := func(col int, b box) int {
		for len(columns) <= col {
			columns = append(columns, 0)
		}
		b.W, b.X = boxWidth, float64(col)*(boxWidth+columnGap)
		b.H = 2*pad + lineH*float64(len(b.Title)+len(b.Lines)) + 8
		b.Bar = b.Share * (b.W - 2*pad)
		b.Y = columns[col]
		columns[col] += b.H + rowGap
		g.Boxes = append(g.Boxes, b)
		return len(g.Boxes) - 1
	}
	for i := range ops {
		place(column[i], operatorBox(&ops[i], &s.Operators[i], s))
	}
	outputs := make([]int, 0, len(p.Outputs()))
	for _, name := range p.Outputs() {
		spec, _ := p.Spec(name)
		outputs = append(outputs, place(last+1, box{Kind: "output", Title: []string{"output " + name}, Lines: []string{spec.String()}}))
	}
	consumer := place(last+2, consumerBox(s))

	g.Width = float64(len(columns))*(boxWidth+columnGap) - columnGap
	for _, h := range columns {
		g.Height = max(g.Height, h-rowGap)
	}
	for i := range g.Boxes { // columns are centred
		b := &g.Boxes[i]
		b.Y += (g.Height - (columns[int(b.X/(boxWidth+columnGap)+0.5)] - rowGap)) / 2
	}
	for i, o := range ops {
		for _, in := range o.Inputs {
			g.join(in, i)
		}
	}
	for i, makers := range p.OutputMakers() {
		for _, m := range makers {
			g.join(m, outputs[i])
		}
		g.join(outputs[i], consumer)
	}
	for i := range ops {
		g.Boxes[i].Out = perSampleBytes(s.Operators[i])
	}
	return g
}

// join draws a curve from one box to another, below all boxes if there may be
// some in between.
func (g *graph) join(from, to int) {
	a, b := &g.Boxes[from], &g.Boxes[to]
	x1, y1, x2, y2 := a.X+a.W, a.Y+a.H/2, b.X-7, b.Y+b.H/2
	const bend = columnGap / 2
	if x2-x1 <= columnGap {
		g.Edges = append(g.Edges, fmt.Sprintf("M%.1f,%.1f C%.1f,%.1f %.1f,%.1f %.1f,%.1f", x1, y1, x1+bend, y1, x2-bend, y2, x2, y2))
		return
	}
	if g.lanes == 0 {
		g.Height += rowGap / 2
	}
	g.lanes++
	g.Height += laneGap
	lane := g.Height
	left, right := x1+columnGap, x2-columnGap
	g.Edges = append(g.Edges, fmt.Sprintf("M%.1f,%.1f C%.1f,%.1f %.1f,%.1f %.1f,%.1f L%.1f,%.1f C%.1f,%.1f %.1f,%.1f %.1f,%.1f",
		x1, y1, x1+bend, y1, left-bend, lane, left, lane, right, lane, right+bend, lane, x2-bend, y2, x2, y2))
}

func operatorBox(o *pipeline.OperatorInfo, s *pipeline.OperatorStats, all pipeline.Stats) box {
	b := box{Kind: "operator", Title: wrap(o.Name)}
	if o.Reader {
		b.Kind = "reader"
	}
	busy := s.Busy
	b.Share = ratio(s.Busy+s.WaitGet+s.WaitMemory, all.Workers.Capacity)
	if s.Stream > 0 { // Busy is the time to issue the work
		busy, b.Share = s.OnStream, ratio(s.OnStream, all.Elapsed)
	}
	each := 0.0
	if s.Samples > 0 {
		each = float64(busy) / float64(s.Samples) / 1e3
	}
	b.Lines = []string{fmt.Sprintf("%s a sample, %.0f\u202f%%", micro(each), 100*b.Share)}
	if s.Stream > 0 {
		b.Lines = append(b.Lines, fmt.Sprintf("on stream %d", s.Stream))
	}
	if s.Errors > 0 {
		b.Lines = append(b.Lines, fmt.Sprintf("%s errors", number(float64(s.Errors))))
	}
	b.Tip = fmt.Sprintf("%s: %s samples, %s, busy %v", o.Name, number(float64(s.Samples)), bytesOf(float64(s.Bytes)), busy.Round(time.Millisecond))
	return b
}

func consumerBox(s pipeline.Stats) box {
	c := s.Consumer
	step := 0.0
	if c.Batches > 0 {
		step = float64(c.Body) / float64(c.Batches) / 1e3
	}
	return box{
		Kind: "consumer", Title: []string{"the loop's body"},
		Lines: []string{micro(step) + " a batch", fmt.Sprintf("waits %.0f\u202f%%", 100*c.WaitShare())},
		Share: 1 - c.WaitShare(), Tip: "the bar is the time in which the body had a batch",
	}
}

func perSampleBytes(o pipeline.OperatorStats) string {
	if n := o.Samples - o.Errors; n > 0 {
		return bytesOf(float64(o.Bytes) / float64(n))
	}
	return ""
}

func ratio(part, whole time.Duration) float64 {
	if whole <= 0 {
		return 0
	}
	return min(1, float64(part)/float64(whole))
}

// titleWidth is how many characters of a name fit into a box.
const titleWidth = 21

// wrap breaks the name of an operator into lines that fit into a box.
func wrap(name string) []string {
	var lines []string
	for i, part := range strings.Split(name, "+") {
		if i > 0 {
			part = "+ " + part
		}
		for len(part) > titleWidth {
			cut := strings.LastIndexAny(part[:titleWidth], "_.")
			if cut < 1 {
				cut = titleWidth - 1
			}
			lines = append(lines, part[:cut+1])
			part = part[cut+1:]
		}
		lines = append(lines, part)
	}
	return lines
}
