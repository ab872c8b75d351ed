package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/stats"
)

// graph is the picture of a pipeline: boxes in levels, by how many operators are before
// them, and curves between them. Levels are columns from left to right, or where Down
// is set, rows from top to bottom, for windows that are too narrow for columns.
type graph struct {
	Down          bool
	Width, Height float64
	Boxes         []box
	Edges         []string // paths
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
	Out        string  // what leaves it, written beside it
	OutX, OutY float64 // where
}

// OuterWidth and OuterHeight are the extents with a margin for lines at the edge.
func (g graph) OuterWidth() float64  { return g.Width + 4 }
func (g graph) OuterHeight() float64 { return g.Height + 4 }

// MinWidth is the width below which its texts would be too small to be read.
func (g graph) MinWidth() float64 {
	if g.Down {
		return legibleDown * g.OuterWidth()
	}
	return legible * g.OuterWidth()
}

// BarY is the place of the bar under the lines.
func (b box) BarY() float64 { return b.H - pad }

const (
	boxWidth  = 190.0
	columnGap = 120.0
	levelGap  = 46.0 // between rows that are levels
	sideGap   = 14.0 // between boxes of such a row
	rowGap    = 22.0
	laneGap   = 10.0
	lineH     = 16.0
	pad       = 12.0

	// The parts of its size down to which a graph may be shrunk, the second one on small
	// screens, which are looked at from nearby.
	legible     = 0.8
	legibleDown = 0.65

	mostInRow = 2 // boxes, or a graph would be too wide for narrow windows again
)

// parts are the boxes of a graph before they have places.
type parts struct {
	boxes []box
	level []int
	links [][2]int // boxes: from, to
}

func (p *parts) add(level int, b box) int {
	b.W, b.H = boxWidth, 2*pad+lineH*float64(len(b.Title)+len(b.Lines))+8
	b.Bar = b.Share * (b.W - 2*pad)
	p.boxes, p.level = append(p.boxes, b), append(p.level, level)
	return len(p.boxes) - 1
}

// newParts lists a pipeline's operators and outputs, with what its run has taken.
func newParts(p *pipeline.Pipeline, s stats.Run) *parts {
	var all parts
	last := 0
	for i, o := range p.Operators() {
		level := 0
		for _, in := range o.Inputs {
			level = max(level, all.level[in]+1)
			all.links = append(all.links, [2]int{in, i})
		}
		last = max(last, level)
		b := operatorBox(&o, &s.Operators[i], s)
		b.Out = perSampleBytes(s.Operators[i])
		all.add(level, b)
	}
	var outputs []int
	for i, name := range p.Outputs() {
		output := all.add(last+1, box{Kind: "output", Title: []string{"output " + name}, Lines: []string{p.Spec(name).String()}})
		outputs = append(outputs, output)
		for _, maker := range p.OutputMakers()[i] {
			all.links = append(all.links, [2]int{maker, output})
		}
	}
	consumer := all.add(last+2, consumerBox(s))
	for _, output := range outputs {
		all.links = append(all.links, [2]int{output, consumer})
	}
	return &all
}

// lay gives every box its place.
func (p *parts) lay(down bool) graph {
	g := graph{Down: down, Boxes: slices.Clone(p.boxes)}
	level := p.level
	if down {
		level = split(level)
	}
	levels := make([][]*box, slices.Max(level)+1)
	for i := range g.Boxes {
		levels[level[i]] = append(levels[level[i]], &g.Boxes[i])
	}
	if down {
		g.rows(levels)
	} else {
		g.columns(levels)
	}
	lanes := 0
	for _, l := range p.links {
		far := level[l[1]]-level[l[0]] > 1
		if far {
			lanes++
		}
		g.join(l[0], l[1], far, lanes)
	}
	if lanes > 0 {
		beside := rowGap/2 + laneGap*float64(lanes)
		if down {
			g.Width += beside
		} else {
			g.Height += beside
		}
	}
	return g
}

// split returns levels of mostInRow boxes at most.
func split(level []int) []int {
	var first []int // the new level of the first box of each
	next := 0
	for l := range slices.Max(level) + 1 {
		n := 0
		for _, own := range level {
			if own == l {
				n++
			}
		}
		first = append(first, next)
		next += (n + mostInRow - 1) / mostInRow
	}
	seen := make([]int, len(first))
	rows := make([]int, len(level))
	for i, l := range level {
		rows[i] = first[l] + seen[l]/mostInRow
		seen[l]++
	}
	return rows
}

// columns puts levels from left to right and centres each.
func (g *graph) columns(levels [][]*box) {
	heights := make([]float64, len(levels))
	for i, level := range levels {
		for _, b := range level {
			b.X, b.Y = float64(i)*(boxWidth+columnGap), heights[i]
			b.OutX, b.OutY = b.W+8, b.H/2-7
			heights[i] += b.H + rowGap
		}
		heights[i] -= rowGap
		g.Height = max(g.Height, heights[i])
	}
	for i, level := range levels {
		for _, b := range level {
			b.Y += (g.Height - heights[i]) / 2
		}
	}
	g.Width = float64(len(levels))*(boxWidth+columnGap) - columnGap
}

// rows puts levels from top to bottom and centres each.
func (g *graph) rows(levels [][]*box) {
	width := func(level []*box) float64 { return float64(len(level))*(boxWidth+sideGap) - sideGap }
	for _, level := range levels {
		g.Width = max(g.Width, width(level))
	}
	for _, level := range levels {
		tallest := 0.0
		for i, b := range level {
			b.X, b.Y = (g.Width-width(level))/2+float64(i)*(boxWidth+sideGap), g.Height
			b.OutX, b.OutY = b.W/2+8, b.H+15
			tallest = max(tallest, b.H)
		}
		g.Height += tallest + levelGap
	}
	g.Height -= levelGap
}

// join draws a curve from one box to another, in a lane of its own beside all boxes if
// there may be some in between.
func (g *graph) join(from, to int, far bool, lane int) {
	// Along is the direction in which levels follow one another, across the other one.
	along1, across1, along2, across2, end, gap := g.ends(from, to)
	at := func(along, across float64) string {
		if g.Down {
			along, across = across, along
		}
		return fmt.Sprintf("%.1f,%.1f", along, across)
	}
	curve := func(bend1, across1, bend2, across2, along2 float64) string {
		return "C" + at(bend1, across1) + " " + at(bend2, across2) + " " + at(along2, across2)
	}
	path := "M" + at(along1, across1) + " "
	if !far {
		middle := (along1 + along2) / 2
		g.Edges = append(g.Edges, path+curve(middle, across1, middle, across2, along2))
		return
	}
	beside := end + rowGap/2 + laneGap*float64(lane)
	first, last := along1+gap, along2-gap
	g.Edges = append(g.Edges, path+curve(along1+gap/2, across1, first-gap/2, beside, first)+
		" L"+at(last, beside)+" "+curve(last+gap/2, beside, along2-gap/2, across2, along2))
}

// ends returns where a curve begins and ends, along the levels and across, where all
// boxes end across, and the gap between levels.
func (g *graph) ends(from, to int) (along1, across1, along2, across2, end, gap float64) {
	a, b := &g.Boxes[from], &g.Boxes[to]
	const head = 7 // the length of an arrow's head
	if g.Down {
		return a.Y + a.H, a.X + a.W/2, b.Y - head, b.X + b.W/2, g.Width, levelGap
	}
	return a.X + a.W, a.Y + a.H/2, b.X - head, b.Y + b.H/2, g.Height, columnGap
}

func operatorBox(o *pipeline.OperatorInfo, s *stats.Operator, all stats.Run) box {
	b := box{Kind: "operator", Title: wrap(shortName(o.Name))}
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

func consumerBox(s stats.Run) box {
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

func perSampleBytes(o stats.Operator) string {
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
