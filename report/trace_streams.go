package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/stats"
)

// place is a batch of a run.
type place struct{ epoch, step int64 }

// work is an operator's work on a whole batch.
type work struct {
	operator int
	place
}

// onStreams returns the operators that worked on streams; r is a snapshot.
func (r *Recorder) onStreams() map[int]bool {
	on := map[int]bool{}
	for _, e := range r.works {
		on[e.Operator] = true
	}
	return on
}

// inOrder returns what streams did in the order of time, and so that no work
// begins before the one in front of it on its stream has ended: the clocks of
// device and host may be that far apart. r is a snapshot.
func (r *Recorder) inOrder() []stats.StreamEvent {
	works := slices.Clone(r.works)
	slices.SortStableFunc(works, func(a, b stats.StreamEvent) int { return a.Start.Compare(b.Start) })
	free := map[int]time.Time{} // by stream
	for i := range works {
		e := &works[i]
		end, last := e.Start.Add(e.Duration), free[e.Stream]
		if e.Start.Before(last) {
			e.Start = last
		}
		e.Duration = max(0, end.Sub(e.Start))
		e.Waited = min(e.Waited, e.Start.Sub(last))
		free[e.Stream] = e.Start.Add(e.Duration)
	}
	return works
}

// streamNames names the tracks of streams.
func (t *tracer) streamNames(name func(kind string, pid, tid int, name string)) {
	named := map[int]bool{}
	for _, e := range t.r.works {
		if len(named) == 0 {
			name("process_name", pidStreams, 0, "streams")
		}
		if !named[e.Stream] {
			named[e.Stream] = true
			name("thread_name", pidStreams, e.Stream, fmt.Sprintf("stream %d", e.Stream+1))
		}
	}
}

// streams writes what streams did and waited for, what the host waited for in
// them, and the flow of each batch: from the span in which it is made through
// those of its operators for whole batches to its step.
func (t *tracer) streams(operators []pipeline.OperatorInfo) {
	if len(t.r.works) == 0 {
		return
	}
	flows := map[place][]traceEvent{}
	pass := func(at place, pid, tid int, when time.Time) {
		flows[at] = append(flows[at], traceEvent{Time: t.at(when), PID: pid, TID: tid})
	}
	for _, e := range t.r.inOrder() {
		args := map[string]any{"epoch": e.Epoch, "step": e.Step, "queued_us": micros(e.Start.Sub(e.Issued)), "measured": e.Measured}
		if e.Waited > 0 {
			t.span(pidStreams, e.Stream, "wait for another stream", "wait", e.Start.Add(-e.Waited), e.Waited, args)
		}
		t.span(pidStreams, e.Stream, operators[e.Operator].Name, "stream", e.Start, e.Duration, args)
		pass(place{e.Epoch, e.Step}, pidStreams, e.Stream, e.Start)
	}
	waits := t.r.hostWaits(operators)
	for _, e := range t.r.operators {
		if e.Worker >= 0 || t.onStream[e.Operator] {
			continue
		}
		at := place{e.Epoch, e.Step}
		if d := waits[work{e.Operator, at}]; d > 0 {
			t.span(pidBatchOps, e.Operator, "wait for a stream", "wait", e.Start.Add(-d), d, nil)
		}
		pass(at, pidBatchOps, e.Operator, e.Start)
	}
	id := 0
	begins := map[int]time.Time{} // by slot
	for _, e := range t.r.batches {
		at := place{e.Epoch, e.Step}
		switch e.kind {
		case begun:
			begins[e.Slot] = e.Time
		case delivered:
			through := flows[at]
			if len(through) == 0 {
				continue
			}
			id++
			slices.SortFunc(through, func(a, b traceEvent) int { return cmp.Compare(a.Time, b.Time) })
			t.flow("s", id, traceEvent{Time: t.at(begins[e.Slot]), PID: pidBatches, TID: e.Slot})
			for _, step := range through {
				t.flow("t", id, step)
			}
			t.flow("f", id, traceEvent{Time: t.at(e.Time), PID: pidConsumer, Bind: "e"})
		}
	}
}

// flow writes a step of a flow, which belongs to the span that begins there.
func (t *tracer) flow(phase string, id int, e traceEvent) {
	e.Name, e.Cat, e.Phase, e.ID = "batch", "flow", phase, id
	t.put(e)
}

// hostWaits returns how long operators on the host waited for streams: from when
// the last of what such an operator reads was issued, or it was free itself, until
// it began. r is a snapshot.
func (r *Recorder) hostWaits(operators []pipeline.OperatorInfo) map[work]time.Duration {
	issued := map[work]time.Time{}
	for _, e := range r.works {
		issued[work{e.Operator, place{e.Epoch, e.Step}}] = e.Issued
	}
	waits := map[work]time.Duration{}
	free := map[int]time.Time{} // by operator
	for _, e := range r.operators {
		if e.Worker >= 0 {
			continue
		}
		at := place{e.Epoch, e.Step}
		var from time.Time
		for _, in := range operators[e.Operator].Inputs {
			if t := issued[work{in, at}]; t.After(from) {
				from = t
			}
		}
		if last := free[e.Operator]; !from.IsZero() && last.After(from) {
			from = last
		}
		if !from.IsZero() && e.Start.After(from) {
			waits[work{e.Operator, at}] = e.Start.Sub(from)
		}
		free[e.Operator] = e.Start.Add(e.Duration)
	}
	return waits
}
