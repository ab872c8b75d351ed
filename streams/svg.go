package streams

import (
	"bufio"
	"cmp"
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strconv"
)

// Drawing is a plan and the graph it was made for.
type Drawing struct {
	Graph *Graph
	Plan  *Plan
}

// WriteSVG draws plans, one below the other, as lanes over time: a lane per
// stream, above them as many as the nodes on the host need, a box per node as
// wide as its cost, and an arrow per wait from the end of the producer to the
// start of the consumer, dashed if it comes from an earlier iteration. Boxes of
// one colour run the same command. The time axis is stretched at every start
// and finish to make room for the arrows.
//
// The plans must be ones that Verify accepts.
func WriteSVG(w io.Writer, drawings ...Drawing) error {
	var layouts []*layout
	width, height := 0.0, 0.0
	for _, d := range drawings {
		l := newLayout(d)
		layouts = append(layouts, l)
		width, height = max(width, l.width), height+l.height
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" font-family="system-ui, sans-serif" font-size="12">
<style>
.title{font-size:15px;font-weight:600;fill:#1c2430}.note{fill:#5c6773}.lane{fill:#f3f5f8}.host{fill:#faf7ef}
.box{stroke:#1c2430;stroke-opacity:.35}.label{fill:#1c2430;text-anchor:middle;font-weight:600;stroke:#fff;stroke-opacity:.7;stroke-width:2.5;paint-order:stroke}
.wait{fill:none;stroke:#b3261e;stroke-width:1.3;stroke-opacity:.75}.carried{stroke-dasharray:5 3;stroke:#3d5a99}
.tick{fill:#5c6773;font-size:10px;text-anchor:middle}.grid{stroke:#d9dee5;stroke-width:1}.join{stroke:#1c2430;stroke-width:2;stroke-opacity:.5}
</style>
<defs><marker id="tip" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="6" markerHeight="6" orient="auto"><path d="M0 .5 8 4 0 7.5z" fill="#b3261e"/></marker>
<marker id="tipc" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="6" markerHeight="6" orient="auto"><path d="M0 .5 8 4 0 7.5z" fill="#3d5a99"/></marker></defs>
<rect width="100%%" height="100%%" fill="#fff"/>
`, math.Ceil(width), math.Ceil(height))
	y := 0.0
	for _, l := range layouts {
		fmt.Fprintf(out, "<g transform=\"translate(0 %g)\">\n", y)
		l.draw(out)
		fmt.Fprintln(out, "</g>")
		y += l.height
	}
	fmt.Fprintln(out, "</svg>")
	return out.Flush()
}

// Sizes in pixels.
const (
	margin    = 16.0
	header    = 58.0
	gutter    = 110.0 // for the names of the lanes
	laneStep  = 46.0
	laneInset = 8.0 // between a lane and its boxes
	laneSize  = 38.0
	axis      = 34.0
	slot      = 18.0 // room for arrows at every start and finish
	narrowest = 24.0 // of the box of the cheapest node
	widest    = 6000.0
)

// palette has one colour per command, from the tenth on again.
var palette = [...]string{
	"#a8c7e8", "#f6c89a", "#b5d9a8", "#d9b8e0", "#f3b5b0", "#f2e29b", "#a9dcd8", "#d8c3a5", "#c3c7f0", "#d5dbe1",
}

// layout is where everything of one drawing goes.
type layout struct {
	Drawing
	start, finish []float64
	times         []float64 // all starts and finishes, ascending
	scale         float64   // pixels per unit of time
	hostLane      []int     // per node on the host: its lane
	hostLanes     int
	command       map[int]int // command → colour
	width, height float64
}

func newLayout(d Drawing) *layout {
	l := &layout{Drawing: d, hostLane: make([]int, d.Graph.N), command: map[int]int{}}
	l.start, l.finish = d.Plan.timeline(l.cost)
	cheapest, total := math.Inf(1), 0.0
	for v := range d.Graph.N {
		l.times = append(l.times, l.start[v], l.finish[v])
		if c := l.cost(v); c > 0 {
			cheapest = min(cheapest, c)
		}
		total = max(total, l.finish[v])
	}
	slices.Sort(l.times)
	l.times = slices.Compact(l.times)
	if total > 0 {
		l.scale = min(narrowest/cheapest, widest/total)
	}
	for _, c := range d.Graph.Cmds {
		if _, seen := l.command[c]; !seen {
			l.command[c] = len(l.command)
		}
	}
	l.packHost()
	l.width = max(l.x(total)+slot+margin, 480)
	l.height = header + float64(l.hostLanes+d.Plan.NumStreams)*laneStep + axis
	return l
}

func (l *layout) cost(v int) float64 {
	if l.Graph.Cost == nil {
		return 1
	}
	return l.Graph.Cost[v]
}

// packHost puts nodes on the host that run at the same time on lanes of their own.
func (l *layout) packHost() {
	var host []int
	for _, v := range l.Plan.Order {
		if len(l.Plan.Streams[v]) == 0 {
			host = append(host, v)
		}
	}
	slices.SortStableFunc(host, func(a, b int) int { return cmp.Compare(l.start[a], l.start[b]) })
	var free []float64
	for _, v := range host {
		i := slices.IndexFunc(free, func(t float64) bool { return t <= l.start[v] })
		if i < 0 {
			i = len(free)
			free = append(free, 0)
		}
		free[i] = l.finish[v]
		l.hostLane[v] = i
	}
	l.hostLanes = len(free)
}

// x is where boxes that finish at time t end; those that start then begin one
// slot further right.
func (l *layout) x(t float64) float64 {
	before, _ := slices.BinarySearch(l.times, t)
	return margin + gutter + t*l.scale + slot*float64(before)
}

// lanes returns the lanes of node v.
func (l *layout) lanes(v int) []int {
	if len(l.Plan.Streams[v]) == 0 {
		return []int{l.hostLane[v]}
	}
	lanes := make([]int, len(l.Plan.Streams[v]))
	for i, s := range l.Plan.Streams[v] {
		lanes[i] = l.hostLanes + s
	}
	return lanes
}

func laneTop(lane int) float64 { return header + float64(lane)*laneStep }

func laneMiddle(lane int) float64 { return laneTop(lane) + laneSize/2 }

// box returns the horizontal extent of node v; one that costs nothing is a bar
// in the middle of the slot.
func (l *layout) box(v int) (left, right float64) {
	left, right = l.x(l.start[v])+slot, l.x(l.finish[v])
	if l.start[v] == l.finish[v] {
		left, right = right+slot/2-2, right+slot/2+2
	}
	return left, right
}

func (l *layout) draw(w io.Writer) {
	l.drawFrame(w)
	l.drawAxis(w)
	for v := range l.Graph.N {
		l.drawBox(w, v)
	}
	for _, wait := range l.Plan.Waits {
		l.drawWait(w, wait)
	}
	for v := range l.Graph.N { // on top, so that arrows leave them legible
		l.drawLabel(w, v)
	}
}

func (l *layout) drawFrame(w io.Writer) {
	name := cmp.Or(l.Graph.Name, "graph")
	fmt.Fprintf(w, "<text class=\"title\" x=\"%g\" y=\"26\">%s</text>\n", margin, html.EscapeString(name))
	fmt.Fprintf(w, "<text class=\"note\" x=\"%g\" y=\"44\">%d nodes · %s</text>\n", margin, l.Graph.N, html.EscapeString(l.Plan.String()))
	for lane := range l.hostLanes + l.Plan.NumStreams {
		class, text := "host", "host"
		if s := lane - l.hostLanes; s >= 0 {
			class, text = "lane", "stream "+strconv.Itoa(s)
			if slices.Max(l.Plan.Device) > 0 {
				text += " · dev " + strconv.Itoa(l.Plan.Device[s])
			}
		}
		fmt.Fprintf(w, "<rect class=\"%s\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" rx=\"4\"/><text class=\"note\" x=\"%g\" y=\"%g\">%s</text>\n",
			class, margin, laneTop(lane), l.width-2*margin, laneSize, margin+6, laneMiddle(lane)+4, text)
	}
}

// drawAxis marks times, leaving out those that would touch the one before.
func (l *layout) drawAxis(w io.Writer) {
	top, bottom := header-2, laneTop(l.hostLanes+l.Plan.NumStreams)
	last := math.Inf(-1)
	for _, t := range l.times {
		x := l.x(t) + slot/2
		text := strconv.FormatFloat(t, 'g', 5, 64)
		half := 3.5*float64(len(text)) + 4
		if x-half < last {
			continue
		}
		last = x + half
		fmt.Fprintf(w, "<line class=\"grid\" x1=\"%.1f\" y1=\"%g\" x2=\"%.1f\" y2=\"%g\"/><text class=\"tick\" x=\"%.1f\" y=\"%g\">%s</text>\n",
			x, top, x, bottom, x, bottom+12, text)
	}
}

func (l *layout) drawBox(w io.Writer, v int) {
	left, right := l.box(v)
	lanes := l.lanes(v)
	colour := palette[0]
	if l.Graph.Cmds != nil {
		colour = palette[l.command[l.Graph.Cmds[v]]%len(palette)]
	}
	if len(lanes) > 1 {
		middle := (left + right) / 2
		fmt.Fprintf(w, "<line class=\"join\" x1=\"%.1f\" y1=\"%g\" x2=\"%.1f\" y2=\"%g\"/>\n",
			middle, laneMiddle(slices.Min(lanes)), middle, laneMiddle(slices.Max(lanes)))
	}
	for _, lane := range lanes {
		fmt.Fprintf(w, "<rect class=\"box\" x=\"%.1f\" y=\"%g\" width=\"%.1f\" height=\"%g\" rx=\"3\" fill=\"%s\"><title>node %d, %g to %g</title></rect>\n",
			left, laneTop(lane)+laneInset, right-left, laneSize-2*laneInset, colour, v, l.start[v], l.finish[v])
	}
}

// drawLabel writes the number of node v into its boxes if it fits.
func (l *layout) drawLabel(w io.Writer, v int) {
	left, right := l.box(v)
	text := strconv.Itoa(v)
	if right-left < 7*float64(len(text))+2 {
		return
	}
	for _, lane := range l.lanes(v) {
		fmt.Fprintf(w, "<text class=\"label\" x=\"%.1f\" y=\"%g\">%s</text>\n", (left+right)/2, laneMiddle(lane)+4, text)
	}
}

func (l *layout) drawWait(w io.Writer, wait Wait) {
	_, x1 := l.box(wait.Producer)
	x2, _ := l.box(wait.Consumer)
	from, to := l.nearest(wait)
	y1, y2 := laneMiddle(from), laneMiddle(to)
	class, tip := "wait", "tip"
	bend := max(slot*.9, min((x2-x1)/2, 60))
	if wait.Distance > 0 { // back in time, as a rule: out to the right and in from the left
		class, tip, bend = "wait carried", "tipc", 3*slot
	}
	fmt.Fprintf(w, "<path class=\"%s\" marker-end=\"url(#%s)\" d=\"M%.1f %g C%.1f %g %.1f %g %.1f %g\"><title>%d waits for %d</title></path>\n",
		class, tip, x1, y1, x1+bend, y1, x2-bend, y2, x2, y2, wait.Consumer, wait.Producer)
}

// nearest returns the lanes of the producer and the consumer that are closest,
// but not a lane that both are on: there the order needs no wait.
func (l *layout) nearest(wait Wait) (from, to int) {
	best := math.MaxInt
	for _, a := range l.lanes(wait.Producer) {
		for _, b := range l.lanes(wait.Consumer) {
			d := max(a-b, b-a)
			if d == 0 {
				d = math.MaxInt - 1
			}
			if d < best {
				best, from, to = d, a, b
			}
		}
	}
	return from, to
}
