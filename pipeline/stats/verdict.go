package stats

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Bound is what limits a run.
type Bound uint8

const (
	Undecided    Bound = iota // too little has run
	ByReader                  // the consumer waits for a reader
	ByOperator                // the consumer waits for an operator
	ByMemory                  // the consumer waits because there is no memory for samples
	ByBursts                  // now the consumer waits, and now the workers
	ByConsumer                // batches are there before they are asked for
	ByProcessors              // the consumer's step and the workers share the processors
	ByDevice                  // the consumer waits for operators on a stream of the device
	ByCopy                    // the consumer waits for copies to the device
	ByNetwork                 // the consumer waits for a reader that waits for a server, or for rows on their way from workers elsewhere
	ByDisk                    // the consumer waits for a reader that waits for files of this machine
	ByRemote                  // the consumer waits for workers elsewhere
)

var bounds = [...]string{"undecided", "reader", "operator", "memory", "bursts", "consumer", "processors", "device", "copy", "network", "disk", "remote"}

// String returns one word.
func (b Bound) String() string {
	if int(b) < len(bounds) {
		return bounds[b]
	}
	return fmt.Sprintf("Bound(%d)", uint8(b))
}

// MarshalText writes what String returns.
func (b Bound) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText accepts what String returns for the bounds that there are.
func (b *Bound) UnmarshalText(text []byte) error {
	i := slices.Index(bounds[:], string(text))
	if i < 0 {
		return fmt.Errorf("stats: there is no bound %q; the bounds are %s", text, strings.Join(bounds[:], ", "))
	}
	*b = Bound(i)
	return nil
}

// Verdict says in words what limits a run and what to change.
type Verdict struct {
	Bound    Bound  `json:"bound"`
	Operator string `json:"operator,omitempty"` // the reader or operator that takes the most time
	Because  string `json:"because"`            // the figures that it rests on
	Advice   string `json:"advice"`

	// ProcessorsFull says that all processors were busy, so that more workers
	// would not help.
	ProcessorsFull bool `json:"processors_full"`

	serial bool // Operator takes one batch after the other, so that more workers would not help
}

// String writes the verdict as sentences, as in "decode-bound: workers 98 % busy,
// 87 % of their time in decode (310µs a sample); the consumer waits 71 % of the
// time. More workers will not help: …".
func (v Verdict) String() string {
	name := v.Bound.String() + "-bound"
	switch v.Bound {
	case Undecided:
		name = "undecided"
	case ByOperator:
		name = v.Operator + "-bound"
	}
	return fmt.Sprintf("%s: %s. %s.", name, v.Because, v.Advice)
}

// What a verdict goes by. Shares are parts of the time of those that they speak of, and
// count from these on.
const (
	waitingShare   = 0.05 // the consumer waits for data
	starvedShare   = 0.10 // workers wait for memory
	fullShare      = 0.85 // processors are at work, or a stream
	workersShare   = 0.30 // workers take part in keeping the processors at work
	onTheWayShare  = 0.50 // requests wait for bytes that are on their way
	elsewhereShare = 0.50 // rows are made elsewhere
	stretchFactor  = 1.5  // a step that takes so many times its fastest shares its processors
)

// Verdict judges what is in s. The wait for the very first batch does not count.
//
// A step that takes long does not prove that it is the limit: workers that have
// its processors stretch it. So a run on full processors counts as bound by its
// consumer only if the workers need few of them.
func (s Run) Verdict() Verdict {
	c, w := s.Consumer, s.Workers
	if c.Batches < MinBatches-1 || w.Capacity <= 0 {
		return Verdict{
			Because: fmt.Sprintf("%d batches in %v are too few to judge", c.Batches, round(s.Elapsed)),
			Advice:  "Let it run longer",
		}
	}
	c.Waited -= c.FirstBatch
	waits, idle := c.WaitShare(), share(w.WaitPut, w.Capacity)
	top, queue := s.slowest(), s.busiest()
	lined := share(queue.work, s.steady())
	v := Verdict{ProcessorsFull: s.CPUShare() >= fullShare || s.CPU == 0 && w.Workers >= s.Processors, Operator: top.Name}
	switch {
	case waits >= waitingShare && lined >= fullShare && lined > w.BusyShare():
		s.judgeLine(&v, queue, waits)
	case waits >= waitingShare && share(w.WaitMemory, w.Capacity) >= starvedShare:
		v.Bound = ByMemory
		v.because("workers waited for memory %s of their time; %s", percent(share(w.WaitMemory, w.Capacity)), waiting(waits))
		v.Advice = "Raise MemoryBudget, or lower BatchSize, PrefetchDepth or Workers so that samples in the making fit into it"
	case waits >= waitingShare && idle >= fullShare/2 && s.rowsElsewhere() >= elsewhereShare:
		s.judgeRemote(&v, waits)
	case waits >= waitingShare && idle >= waits/2:
		v.Bound = ByBursts
		v.because("workers waited for a free batch %s of their time, and yet %s", percent(idle), waiting(waits))
		v.Advice = fmt.Sprintf("Raise PrefetchDepth, or DevicePrefetchDepth where it is set (%d now): steps or samples differ in how long they take, and more batches ahead level that out", s.Queue.Depth)
	case waits >= waitingShare:
		s.judgeWorkers(&v, top, waits)
	case v.ProcessorsFull && s.load() >= workersShare:
		v.Bound = ByProcessors
		v.because("no processor is free, workers have work for %s of them, and the step %s%s", percent(s.load()), waitsNot(waits), s.stretch())
		v.Advice = fmt.Sprintf("Everything that costs processor time counts: make %s cheaper, the step too, or use more processors", top.Name)
	default:
		v.Bound = ByConsumer
		v.because("a batch was ready %s of the times one was asked for, workers waited for a free batch %s of their time, and the step %s%s",
			percent(s.Queue.FoundShare()), percent(idle), waitsNot(waits), s.stretch())
		v.Advice = "The pipeline is ahead of the step: only a faster step helps"
		if v.ProcessorsFull && s.stretch() != "" {
			v.Advice += ", and fewer Workers may give it back some time"
		}
	}
	v.Advice += s.tooCheap() + s.heldUp(&v)
	return v
}

// rowsElsewhere returns the part of the rows that others made.
func (s Run) rowsElsewhere() float64 {
	var elsewhere, here int64
	for _, r := range s.Remote {
		elsewhere += r.Rows
	}
	for _, o := range s.Operators {
		if !o.Batch {
			here = max(here, o.Samples)
		}
	}
	return portion(elsewhere, elsewhere+here)
}

// cheapRow is what a row costs that is not worth asking others for: to ask and to take the
// answer in costs about as much.
const cheapRow = 20 * time.Microsecond

// tooCheap says so where rows are made elsewhere that are cheap to make here.
func (s Run) tooCheap() string {
	var cost time.Duration
	for _, o := range s.Operators {
		if !o.Batch {
			cost += each(o.Busy, o.Samples)
		}
	}
	if len(s.Remote) == 0 || cost == 0 || cost >= cheapRow {
		return ""
	}
	return fmt.Sprintf("; a row costs %v here, about what it takes to ask for one elsewhere: leave Remote out", round(cost))
}

// judgeWorkers judges a run whose consumer waits while the workers are at work.
func (s Run) judgeWorkers(v *Verdict, top Operator, waits float64) {
	if top.Reader && s.judgeStorage(v, top, waits) {
		return
	}
	w := s.Workers
	v.Bound = ByOperator
	if top.Reader {
		v.Bound = ByReader
	}
	s.becauseOfWorkers(v, top, waits)
	switch {
	case top.Reader && top.WaitGet > top.Busy:
		v.Advice = "A sequence is read by one worker at a time, so more workers will not help: use a source with random access, or read several sequences"
	case v.ProcessorsFull && top.Reader:
		v.Advice = fmt.Sprintf("All %d processors are at work, so more workers will not help: keep the data in a form that is cheaper to read, or use more processors", s.Processors)
	case v.ProcessorsFull:
		v.Advice = fmt.Sprintf("All %d processors are at work, so more workers will not help: make %s cheaper, for example by storing smaller pictures, or use more processors", s.Processors, top.Name)
	case top.Reader:
		v.Advice = fmt.Sprintf("The reader waits for its storage: raise Workers (%d now), also above the number of processors, or move the data to faster storage", w.Workers)
	case w.Workers >= s.Processors:
		v.Advice = fmt.Sprintf("There is a worker for each of %d processors, and yet they are only %s busy: if %s waits for something, raise Workers (%d now); "+
			"if other programs take the processors, nothing here helps", s.Processors, percent(s.CPUShare()), top.Name, w.Workers)
	default:
		v.Advice = fmt.Sprintf("Raise Workers (%d now): the processors are only %s busy", w.Workers, percent(s.CPUShare()))
	}
}

// becauseOfWorkers gives as the reason what the workers do.
func (s Run) becauseOfWorkers(v *Verdict, top Operator, waits float64) {
	v.because("workers %s busy, %s of their time in %s (%v a sample)%s; %s%s", percent(s.Workers.BusyShare()+share(s.Workers.Yielded, s.Workers.Capacity)),
		percent(share(top.Busy+top.WaitGet, s.Workers.Capacity)), top.Name, round(each(top.Busy, top.Samples)), s.between(), waiting(waits), s.stretch())
}

// load returns how much of the processors the workers' work would take, 0 to 1.
func (s Run) load() float64 {
	return share(s.Workers.Busy()+s.Workers.Yielded, s.Elapsed*time.Duration(s.Processors))
}

// between says so where handing samples around takes longer than what is done
// with them.
func (s Run) between() string {
	rest := s.Workers.Busy()
	for _, o := range s.Operators {
		if !o.Batch {
			rest -= o.Busy
		}
	}
	if rest <= s.Workers.Busy()/2 {
		return ""
	}
	return fmt.Sprintf(" and %s between operators, since the samples are so cheap", percent(share(rest, s.Workers.Capacity)))
}

// slowest returns the operator on which workers spent the most time.
func (s Run) slowest() Operator {
	var top Operator
	for _, o := range s.Operators {
		if o.Busy+o.WaitGet > top.Busy+top.WaitGet || top.Name == "" {
			top = o
		}
	}
	return top
}

// stretch says so where steps take much longer than the fastest one.
func (s Run) stretch() string {
	mean := each(s.Consumer.Body, s.Consumer.Batches)
	if fastest := s.Consumer.FastestBody; mean > time.Millisecond && float64(mean) >= stretchFactor*float64(fastest) {
		return fmt.Sprintf("; the step takes %v beside the workers, %v at its fastest", round(mean), round(fastest))
	}
	return ""
}

func (v *Verdict) because(format string, args ...any) {
	v.Because = strings.TrimSpace(fmt.Sprintf(format, args...))
}

func waiting(share float64) string { return "the consumer waits " + percent(share) + " of the time" }

func waitsNot(share float64) string { return "waits " + percent(share) + " of the time for data" }

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
