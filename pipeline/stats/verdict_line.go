package stats

import (
	"fmt"
	"slices"
	"time"
)

// line is where batches queue up, since it takes one after the other: a stream of
// Options.Device with its operators, or an operator for whole batches on the host.
type line struct {
	work   time.Duration // of its operators
	top    Operator      // the operator that takes most of the time
	shared bool          // there are several operators
}

// lineTime returns the time that an operator for whole batches took of its line.
func (o *Operator) lineTime() time.Duration {
	if o.Stream > 0 {
		return o.OnStream
	}
	return o.Busy
}

// busiest returns the line with the most work, the zero line if there is none.
func (s Run) busiest() (top line) {
	var lines []line
	for _, o := range s.Operators {
		if !o.Batch {
			continue
		}
		i := slices.IndexFunc(lines, func(l line) bool { return o.Stream > 0 && l.top.Stream == o.Stream })
		if i < 0 {
			lines = append(lines, line{work: o.lineTime(), top: o})
			continue
		}
		l := &lines[i]
		l.work += o.lineTime()
		l.shared = true
		if o.lineTime() > l.top.lineTime() {
			l.top = o
		}
	}
	for _, l := range lines {
		if l.work > top.work {
			top = l
		}
	}
	return top
}

// judgeLine judges a run whose batches queue up in front of a line.
func (s Run) judgeLine(v *Verdict, l line, waits float64) {
	o, w := l.top, s.Workers
	v.Operator, v.serial = o.Name, true
	cost, part := round(each(o.lineTime(), o.Samples)), percent(share(l.work, s.steady()))
	behind := fmt.Sprintf("workers waited for a free batch %s of their time, and %s", percent(share(w.WaitPut, w.Capacity)), waiting(waits))
	if o.Stream == 0 {
		v.Bound = ByOperator
		v.because("%s, which takes one batch after the other, is at work %s of the time (%v a sample); %s", o.Name, part, cost, behind)
		v.Advice = fmt.Sprintf("Neither more Workers nor a greater depth helps: make %s cheaper, or do its work on single samples, which all workers share", o.Name)
		return
	}
	v.because("stream %d is at work %s of the time, %s of that in %s (%v a sample); %s", o.Stream, part, percent(share(o.OnStream, l.work)), o.Name, cost, behind)
	v.Advice = "Neither more Workers nor a greater depth helps: "
	if v.Bound = ByDevice; o.Moves {
		v.Bound = ByCopy
		v.Advice += "bring less to the device, such as uint8 pictures that are normalised there, or smaller ones"
	} else {
		v.Advice += fmt.Sprintf("make %s cheaper, by smaller pictures or types, or do a part of its work on the host", o.Name)
	}
	if l.shared {
		v.Advice += "; another StreamPolicy may let the stream's operators overlap"
	}
}
