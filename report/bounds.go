package report

import (
	"fmt"
	"time"

	"github.com/planktonml/plankton/pipeline/stats"
)

// boundPart is a part of the run that one thing bounded.
type boundPart struct {
	Class, Tip string
	Width      float64 // in hundredths of the bar
}

// boundKind is what bounded parts of a run.
type boundKind struct{ Class, Name, Text string }

// bounds joins parts of the time that follow each other and have one verdict.
func (v *view) bounds() {
	c := &v.Course
	n := len(c.Bounds)
	if n < 2 {
		return
	}
	times := map[boundKind]int{}
	var order []boundKind
	for from := 0; from < n; {
		kind := kindOf(c.Bounds[from])
		to := from
		for to < n && kindOf(c.Bounds[to]) == kind {
			to++
		}
		if times[kind] == 0 {
			order = append(order, kind)
		}
		times[kind] += to - from
		at := func(i int) string { return seconds(time.Duration(i) * c.BoundWidth) }
		v.Bounds = append(v.Bounds, boundPart{kind.Class, fmt.Sprintf("%s to %s: %s", at(from), at(to), kind.Name), 100 * float64(to-from) / float64(n)})
		from = to
	}
	for _, kind := range order {
		kind.Text = percent(float64(times[kind]) / float64(n))
		v.Kinds = append(v.Kinds, kind)
	}
}

// kindOf returns what a part of the time is shown as.
func kindOf(v stats.Verdict) boundKind {
	name := "the " + v.Bound.String()
	switch v.Bound {
	case stats.Undecided:
		name = "undecided"
	case stats.ByBursts:
		name = "bursts"
	case stats.ByReader, stats.ByOperator:
		name = shortName(v.Operator)
	}
	return boundKind{Class: "by-" + v.Bound.String(), Name: name}
}
