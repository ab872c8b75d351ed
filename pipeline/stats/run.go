package stats

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline/datum"
)

// Run is what a run of a pipeline has done since it began. It is always counted. Times are
// of the clock, and those of workers are sums over all workers; docs/statistics.md says what
// each figure means. Time in which the workers were parked, between loops over epochs, does
// not count.
type Run struct {
	Elapsed    time.Duration  `json:"elapsed_ns"`
	CPU        time.Duration  `json:"cpu_ns"` // processor time of the whole process in Elapsed; 0 where the system does not tell
	Processors int            `json:"processors"`
	Operators  []Operator     `json:"operators"` // in the order of pipeline.Pipeline.Operators
	Workers    Workers        `json:"workers"`
	Queue      Queue          `json:"queue"`
	Consumer   Consumer       `json:"consumer"`
	Memory     memstats.Stats `json:"memory"` // what the buffers hold now
	Warnings   Warnings       `json:"warnings,omitzero"`
	Traffic    datum.Traffic  `json:"traffic,omitzero"` // with the servers that readers' samples lie on, by all that reads there
	Remote     []Remote       `json:"remote,omitempty"` // by worker elsewhere, in the order of their names
	Cut        Cut            `json:"cut,omitzero"`     // with workers elsewhere: what would spare the network
}

// Operator is what one operator or reader has done.
type Operator struct {
	Name    string        `json:"name"`
	Reader  bool          `json:"reader,omitempty"`
	Batch   bool          `json:"batch,omitempty"` // works on whole batches
	Samples int64         `json:"samples"`         // that it was given; whole batches count their rows
	Bytes   int64         `json:"bytes"`           // of its results
	Errors  int64         `json:"errors"`
	Busy    time.Duration `json:"busy_ns"` // at work; an estimate where Timed is less than Samples
	Timed   int64         `json:"timed"`   // samples whose time was taken

	WaitGet    time.Duration `json:"wait_get_ns"`    // it waited for its turn at a sequence
	WaitMemory time.Duration `json:"wait_memory_ns"` // it waited for memory

	Medium      datum.Medium  `json:"medium,omitzero"`          // where a reader's samples lie
	WaitStorage time.Duration `json:"wait_storage_ns,omitzero"` // the part of Busy in which a reader waited for a server

	Moves    bool          `json:"moves,omitempty"`        // it brings batches to other memory, as they are
	Stream   int           `json:"stream,omitempty"`       // the stream of Options.Device that it works on, from 1; 0 for none
	OnStream time.Duration `json:"on_stream_ns,omitempty"` // how long its work took on the stream; Busy is the time to issue it
}

// Workers is what the workers did with their time.
type Workers struct {
	Workers  int           `json:"workers"`     // how many may work now
	Capacity time.Duration `json:"capacity_ns"` // the time of all workers, whatever they did
	WaitPut  time.Duration `json:"wait_put_ns"` // they waited for a free batch: the consumer holds them up
	WaitGet  time.Duration `json:"wait_get_ns"` // they waited for their turn at a sequence
	Yielded  time.Duration `json:"yielded_ns"`  // they gave the processor to the consumer's step

	WaitMemory time.Duration `json:"wait_memory_ns"` // they waited for memory
}

// Queue says how full the queue of finished batches was whenever the
// consumer asked for one.
type Queue struct {
	Depth  int   `json:"depth"`  // batches made ahead at most, now
	Asked  int64 `json:"asked"`  // times a batch was asked for
	Found  int64 `json:"found"`  // times it was ready
	Ready  int64 `json:"ready"`  // sum over these times: batches that were ready
	Places int64 `json:"places"` // sum over these times: batches that could have been, the depth
}

// Consumer is what the consumer got and how long it waited.
type Consumer struct {
	Batches     int64         `json:"batches"`
	Samples     int64         `json:"samples"` // valid rows
	Bad         int64         `json:"bad"`     // samples that were skipped or replaced
	Waited      time.Duration `json:"waited_ns"`
	Body        time.Duration `json:"body_ns"`         // between getting a batch and giving it back
	FastestBody time.Duration `json:"fastest_body_ns"` // the shortest such time of one batch
	FirstBatch  time.Duration `json:"first_batch_ns"`  // the wait for the very first batch
	Gaps        int64         `json:"gaps"`            // times an epoch followed another
	Gap         time.Duration `json:"gap_ns"`          // the wait for those epochs' first batches
}

// Sub returns what was done since an earlier Run of the same run. What is true of a moment,
// such as Memory, stays as it is in s, and so do FastestBody and Warnings.First. FirstBatch
// is 0 if the first batch came earlier.
func (s Run) Sub(earlier Run) Run {
	s.Elapsed -= earlier.Elapsed
	s.CPU -= earlier.CPU
	ops := make([]Operator, len(s.Operators))
	copy(ops, s.Operators)
	for i := range min(len(ops), len(earlier.Operators)) {
		o, e := &ops[i], &earlier.Operators[i]
		o.Samples -= e.Samples
		o.Bytes -= e.Bytes
		o.Errors -= e.Errors
		o.Busy -= e.Busy
		o.WaitGet -= e.WaitGet
		o.WaitMemory -= e.WaitMemory
		o.Timed -= e.Timed
		o.OnStream -= e.OnStream
		o.WaitStorage -= e.WaitStorage
	}
	s.Operators = ops
	s.Workers.Capacity -= earlier.Workers.Capacity
	s.Workers.WaitPut -= earlier.Workers.WaitPut
	s.Workers.WaitGet -= earlier.Workers.WaitGet
	s.Workers.WaitMemory -= earlier.Workers.WaitMemory
	s.Workers.Yielded -= earlier.Workers.Yielded
	s.Queue.Asked -= earlier.Queue.Asked
	s.Queue.Found -= earlier.Queue.Found
	s.Queue.Ready -= earlier.Queue.Ready
	s.Queue.Places -= earlier.Queue.Places
	s.Consumer.Batches -= earlier.Consumer.Batches
	s.Consumer.Samples -= earlier.Consumer.Samples
	s.Consumer.Bad -= earlier.Consumer.Bad
	s.Consumer.Waited -= earlier.Consumer.Waited
	s.Consumer.Body -= earlier.Consumer.Body
	s.Consumer.Gaps -= earlier.Consumer.Gaps
	s.Consumer.Gap -= earlier.Consumer.Gap
	s.Warnings.Count -= earlier.Warnings.Count
	s.Traffic = s.Traffic.Sub(earlier.Traffic)
	s.Remote = subRemote(s.Remote, earlier.Remote)
	if earlier.Consumer.Batches > 0 {
		s.Consumer.FirstBatch = 0
	}
	return s
}

// steady returns the time at work without the wait for the very first batch.
func (s Run) steady() time.Duration { return s.Elapsed - s.Consumer.FirstBatch }

// Rate returns the valid samples per second that the consumer got.
func (s Run) Rate() float64 {
	if s.Elapsed <= 0 {
		return 0
	}
	return float64(s.Consumer.Samples) / s.Elapsed.Seconds()
}

// CPUShare returns the part of the machine's processors that the process kept
// busy, 0 to 1; 0 where the system does not tell.
func (s Run) CPUShare() float64 {
	return share(s.CPU, s.Elapsed*time.Duration(s.Processors))
}

// Busy returns the time in which workers worked on samples.
func (w Workers) Busy() time.Duration {
	return max(0, w.Capacity-w.WaitPut-w.WaitGet-w.WaitMemory-w.Yielded)
}

// BusyShare returns Busy as a part of all the workers' time, 0 to 1.
func (w Workers) BusyShare() float64 { return share(w.Busy(), w.Capacity) }

// Occupancy returns how full the queue was when batches were asked for, 0 to 1:
// 1 means that the pipeline was always as far ahead as it may be.
func (q Queue) Occupancy() float64 { return portion(q.Ready, q.Places) }

// FoundShare returns how often a batch was ready when it was asked for, 0 to 1.
func (q Queue) FoundShare() float64 { return portion(q.Found, q.Asked) }

// WaitShare returns the part of the consumer's time in which it waited for data,
// 0 to 1.
func (c Consumer) WaitShare() float64 { return share(c.Waited, c.Waited+c.Body) }

func share(part, whole time.Duration) float64 { return portion(int64(part), int64(whole)) }

// portion returns part/whole within 0 to 1, 0 where there is nothing.
func portion(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return min(1, max(0, float64(part)/float64(whole)))
}

// String writes the figures as a table, the verdict last.
func (s Run) String() string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "operator\tsamples\tMB\terrors\tµs/sample\tbusy %\twait %\t")
	device := slices.ContainsFunc(s.Operators, func(o Operator) bool { return o.Stream > 0 })
	if device {
		fmt.Fprint(t, "stream\tµs/sample there\tof the time %\t")
	}
	fmt.Fprintln(t)
	for _, o := range s.Operators {
		name := o.Name
		if o.Timed < o.Samples {
			name += " ~"
		}
		fmt.Fprintf(t, "%s\t%d\t%.1f\t%d\t%.1f\t%.1f\t%.1f\t", name, o.Samples, float64(o.Bytes)/1e6, o.Errors,
			perSample(o.Busy, o.Samples), 100*share(o.Busy, s.Workers.Capacity), 100*share(o.WaitGet+o.WaitMemory, s.Workers.Capacity))
		switch {
		case o.Stream > 0:
			fmt.Fprintf(t, "%d\t%.1f\t%.1f\t", o.Stream, perSample(o.OnStream, o.Samples), 100*share(o.OnStream, s.steady()))
		case device:
			fmt.Fprint(t, "\t\t\t")
		}
		fmt.Fprintln(t)
	}
	t.Flush()
	w, q, c := s.Workers, s.Queue, s.Consumer
	fmt.Fprintf(&b, "%d workers: busy %.0f %%, wait to put %.0f %%, wait to get %.0f %%, wait for memory %.0f %%, gave way %.0f %%; processors %.0f %% of %d\n",
		w.Workers, 100*w.BusyShare(), 100*share(w.WaitPut, w.Capacity), 100*share(w.WaitGet, w.Capacity), 100*share(w.WaitMemory, w.Capacity),
		100*share(w.Yielded, w.Capacity), 100*s.CPUShare(), s.Processors)
	fmt.Fprintf(&b, "queue of %d: %.0f %% full when asked, a batch was ready %.0f %% of %d times\n",
		q.Depth, 100*q.Occupancy(), 100*q.FoundShare(), q.Asked)
	fmt.Fprintf(&b, "consumer: %d samples in %d batches, %.0f/s, waited %.0f %%, step %v, first batch after %v, %d bad",
		c.Samples, c.Batches, s.Rate(), 100*c.WaitShare(), round(each(c.Body, c.Batches)), round(c.FirstBatch), c.Bad)
	if c.Gaps > 0 {
		fmt.Fprintf(&b, ", gap between epochs %v", round(each(c.Gap, c.Gaps)))
	}
	for _, r := range s.Remote {
		fmt.Fprintf(&b, "\n%v", r)
	}
	if s.Warnings.Count > 0 {
		fmt.Fprintf(&b, "\n%v", s.Warnings)
	}
	if t := s.Traffic; t != (datum.Traffic{}) {
		fmt.Fprintf(&b, "\nservers: %d requests (%d again, %d hedged), %s fetched for %s, %.1f at a time", t.Requests, t.Retries, t.Hedges, size(t.BytesFetched), size(t.BytesNeeded), s.atOnce())
		if t.CacheHits+t.CacheMisses > 0 {
			fmt.Fprintf(&b, "; cache: %d hits, %d misses", t.CacheHits, t.CacheMisses)
		}
		if t.AheadHits+t.AheadMisses > 0 {
			fmt.Fprintf(&b, "; looking ahead: %d hits, %d misses", t.AheadHits, t.AheadMisses)
		}
	}
	fmt.Fprintf(&b, "\nmemory: %.1f MB, at most %.1f MB\n%s\n", float64(s.Memory.Live)/1e6, float64(s.Memory.Peak)/1e6, s.Verdict())
	return b.String()
}

// perSample returns microseconds.
func perSample(d time.Duration, n int64) float64 {
	if n == 0 {
		return 0
	}
	return float64(d) / float64(n) / 1e3
}

// each returns d shared out among n.
func each(d time.Duration, n int64) time.Duration {
	if n == 0 {
		return 0
	}
	return d / time.Duration(n)
}

// round leaves about three digits, for a person to read.
func round(d time.Duration) time.Duration {
	switch {
	case d > 10*time.Second:
		return d.Round(100 * time.Millisecond)
	case d > time.Second:
		return d.Round(10 * time.Millisecond)
	case d > time.Millisecond:
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(10 * time.Nanosecond)
}
