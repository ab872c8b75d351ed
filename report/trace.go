package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/planktonml/plankton/pipeline"
)

// traceEvent is an event of the Trace Event Format ("Trace Event Format",
// Google, 2016), which Perfetto reads. Times are in microseconds.
type traceEvent struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat,omitempty"`
	Phase string         `json:"ph"`
	Time  float64        `json:"ts"`
	Dur   float64        `json:"dur,omitempty"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	ID    int            `json:"id,omitempty"` // of a flow
	Bind  string         `json:"bp,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

// The groups of tracks.
const (
	pidConsumer = 1 + iota
	pidWorkers
	pidBatches
	pidBatchOps
	pidStreams
)

// writeTrace writes what was recorded in the Trace Event Format: a track for the
// consumer, with its steps and waits, one for every worker, with each operator's
// work on each sample, one for every batch's memory, one for every operator that
// works on whole batches, with what the host does for it, and one for every stream
// of a device. Flows lead each batch through the streams. Operators are those of
// the pipeline.
func (r *Recorder) writeTrace(w io.Writer, operators []pipeline.OperatorInfo) error {
	r = r.snapshot()
	buf := bufio.NewWriter(w)
	t := &tracer{w: buf, r: r, onStream: r.onStreams()}
	fmt.Fprint(buf, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n")
	t.names(operators)
	t.operators(operators)
	for _, e := range r.waits {
		t.span(pidWorkers, e.Worker, "wait for a free batch", "wait", e.Start, e.Duration, nil)
	}
	t.batches()
	t.streams(operators)
	for _, e := range r.tuned {
		t.put(traceEvent{
			Name: fmt.Sprintf("%d workers, prefetch %d", e.Workers, e.PrefetchDepth), Phase: "i", Time: t.at(e.Time), PID: pidConsumer, TID: 0,
			Args: map[string]any{"rate": e.Rate, "verdict": e.Verdict.String(), "reverted": e.Reverted},
		})
	}
	fmt.Fprint(buf, "\n]}\n")
	if t.err != nil {
		return t.err
	}
	return buf.Flush()
}

// tracer writes events, separated by commas.
type tracer struct {
	w     *bufio.Writer
	r     *Recorder
	wrote bool
	err   error

	onStream map[int]bool // operators that worked on streams
}

func (t *tracer) put(e traceEvent) {
	text, err := json.Marshal(e)
	if err != nil && t.err == nil {
		t.err = err
	}
	if t.wrote {
		t.w.WriteString(",\n")
	}
	t.wrote = true
	t.w.Write(text)
}

// at returns a time as the format wants it.
func (t *tracer) at(when time.Time) float64 { return micros(when.Sub(t.r.began)) }

func micros(d time.Duration) float64 { return float64(d) / 1e3 }

func (t *tracer) span(pid, tid int, name, cat string, start time.Time, d time.Duration, args map[string]any) {
	t.put(traceEvent{Name: name, Cat: cat, Phase: "X", Time: t.at(start), Dur: max(0.001, micros(d)), PID: pid, TID: tid, Args: args})
}

// names names the tracks.
func (t *tracer) names(operators []pipeline.OperatorInfo) {
	name := func(kind string, pid, tid int, name string) {
		t.put(traceEvent{Name: kind, Phase: "M", PID: pid, TID: tid, Args: map[string]any{"name": name}})
	}
	name("process_name", pidConsumer, 0, "consumer")
	name("thread_name", pidConsumer, 0, "steps and waits")
	name("process_name", pidWorkers, 0, "workers")
	name("process_name", pidBatches, 0, "batches")
	workers, slots := map[int]bool{}, map[int]bool{}
	worker := func(i int) {
		if i >= 0 && !workers[i] {
			workers[i] = true
			name("thread_name", pidWorkers, i, fmt.Sprintf("worker %d", i+1))
		}
	}
	for _, e := range t.r.operators {
		worker(e.Worker)
	}
	for _, e := range t.r.waits {
		worker(e.Worker)
	}
	for _, e := range t.r.batches {
		if !slots[e.Slot] {
			slots[e.Slot] = true
			name("thread_name", pidBatches, e.Slot, fmt.Sprintf("memory %d", e.Slot+1))
		}
	}
	named := false
	for i, o := range operators {
		if o.Batch {
			if !named {
				name("process_name", pidBatchOps, 0, "operators for whole batches")
				named = true
			}
			name("thread_name", pidBatchOps, i, o.Name)
		}
	}
	t.streamNames(name)
}

func (t *tracer) operators(operators []pipeline.OperatorInfo) {
	for _, e := range t.r.operators {
		pid, tid, cat := pidWorkers, e.Worker, "operator"
		if e.Worker < 0 {
			pid, tid = pidBatchOps, e.Operator
		}
		label := operators[e.Operator].Name
		if e.Worker < 0 && t.onStream[e.Operator] {
			label, cat = "call of "+label, "call"
		}
		if operators[e.Operator].Reader {
			cat = "reader"
		}
		args := map[string]any{"epoch": e.Epoch, "step": e.Step, "bytes": e.Bytes}
		if e.Row >= 0 {
			args["row"] = e.Row
		}
		if e.Waited > 0 {
			args["waited_us"] = micros(e.Waited)
		}
		if e.Failed {
			args["failed"] = true
		}
		t.span(pid, tid, label, cat, e.Start, e.Duration, args)
	}
}

// batches writes what happened to each batch in the memory that it was made in,
// and what the consumer did.
func (t *tracer) batches() {
	last := map[int]batchEvent{} // by slot
	for _, e := range t.r.batches {
		label := fmt.Sprintf("epoch %d, step %d", e.Epoch, e.Step)
		args := map[string]any{"epoch": e.Epoch, "step": e.Step, "valid": e.Valid}
		before, ok := last[e.Slot]
		if ok && (e.kind == before.kind+1 || e.kind == delivered && before.kind == made) {
			name := [...]string{made: "making ", finished: "operators for whole batches ", delivered: "ready ", released: "in use "}[e.kind]
			t.span(pidBatches, e.Slot, name+label, "batch", before.Time, e.Time.Sub(before.Time), args)
			if e.kind == released {
				t.span(pidConsumer, 0, "step "+label, "step", before.Time, e.Time.Sub(before.Time), args)
			}
		}
		last[e.Slot] = e
		if e.kind == delivered {
			t.span(pidConsumer, 0, "wait", "wait", e.Time.Add(-e.Waited), e.Waited, args)
			t.put(traceEvent{Name: "batches ready", Phase: "C", Time: t.at(e.Time.Add(-e.Waited)), PID: pidConsumer, Args: map[string]any{"ready": e.Ready}})
		}
	}
}
