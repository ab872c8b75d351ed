package run

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/planktonml/plankton/internal/compiled"
	"github.com/planktonml/plankton/internal/usage"
	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/stats"
)

// origin is the time that now counts from.
var origin = time.Now()

// now returns nanoseconds of the monotonic clock. It reads the clock once, and
// that is the main cost of the statistics.
func now() int64 { return int64(time.Since(origin)) }

// Samples that take less than cheapSample are timed only now and then, one in
// TimedEvery, which is prime, so that it is not always the first that a worker
// takes. Timing the others costs them a hundredth of their time at the most.
const (
	cheapSample = int64(20 * time.Microsecond)
	TimedEvery  = 61
)

// opCounts is what has been counted of one step.
type opCounts struct {
	errors       int64
	timed, good  int64 // samples that were timed, and those of them that it made
	busy, bytes  int64 // of those: nanoseconds, and bytes of the results
	turn, memory int64 // nanoseconds that all samples waited for their turn or for memory
}

// recorder counts what one worker does. For a sample that is not timed this is
// one addition: what each step was given follows from the rows and the errors.
type recorder struct {
	rows      int64        // that the worker was done with
	shownRows atomic.Int64 // of them, what Stats sees: behind by less than the rows that a worker takes at a time
	always    bool         // every row is timed
	skip      int          // rows left before the next timed one
	timing    bool         // this row is timed
	began     int64        // of the row
	last      int64        // the time at the last border between steps
	waited    int64        // since then
	at        *int         // the step at work
	first     int          // the first step that the worker makes

	// Of OperatorEvent.
	hook      func(stats.OperatorEvent)
	event     stats.OperatorEvent
	operators []int // by step

	ops     []opCounts // by step
	changed bool       // since they were shown

	mu    sync.Mutex
	shown []opCounts // what Stats sees

	_ [64]byte // what another worker writes is on another cache line
}

func newRecorder(p *compiled.Pipeline, worker, first int, at *int) *recorder {
	return &recorder{
		always: p.Options().Events.Operator != nil || p.Branches() || p.Readers()[0].Sequence != nil,
		hook:   p.Options().Events.Operator, event: stats.OperatorEvent{Worker: worker}, operators: p.OperatorOf(),
		ops: make([]opCounts, len(p.Nodes())), shown: make([]opCounts, len(p.Nodes())), at: at, first: first,
	}
}

// begin starts a row.
func (r *recorder) begin(f *Flight, row int) {
	r.skip--
	r.timing = r.skip < 0 || r.always
	if !r.timing {
		return
	}
	if r.hook != nil {
		r.event.Epoch, r.event.Step, r.event.Row = f.epoch, f.step, row
	}
	r.began = now()
	r.last, r.waited = r.began, 0
}

// waitedTurn notes that the step at work has waited for its turn.
func (r *recorder) waitedTurn(d int64) {
	r.ops[*r.at].turn += d
	r.waited += d
	r.changed = true
}

// waitedMemory notes that the step at work, or a row before its first one, has
// waited for memory.
func (r *recorder) waitedMemory(d int64) {
	r.ops[*r.at].memory += d
	r.waited += d
	r.changed = true
}

// done counts the step that has been run on a sample which is timed.
func (r *recorder) done(out []*datum.Tensor, err error) {
	t := now()
	d := t - r.last
	var bytes int64
	if err == nil {
		for _, o := range out {
			bytes += int64(len(datum.Shown(o)))
		}
	}
	c := &r.ops[*r.at]
	c.timed++
	c.busy += d - r.waited
	if err == nil {
		c.good++
		c.bytes += bytes
	}
	if op := r.operators[*r.at]; r.hook != nil && op >= 0 {
		e := r.event
		e.Start, e.Duration, e.Waited = origin.Add(time.Duration(r.last)), time.Duration(d), time.Duration(r.waited)
		e.Operator, e.Bytes, e.Failed = op, bytes, err != nil
		r.hook(e)
	}
	r.last, r.waited, r.changed = t, 0, true
}

// made counts a row that went well.
func (r *recorder) made() {
	if r.timing && r.last-r.began < cheapSample {
		r.skip = TimedEvery - 1
	}
	r.count()
}

// gathered counts rows that were made at once.
func (r *recorder) gathered(rows int) {
	r.rows += int64(rows)
}

// timed counts that a step has made so many rows at once, in so many nanoseconds.
func (r *recorder) timed(step, rows int, busy, bytes int64) {
	c := &r.ops[step]
	c.timed += int64(rows)
	c.good += int64(rows)
	c.busy += busy
	c.bytes += bytes
	r.changed = true
}

// failed counts a row that the step at work could not make.
func (r *recorder) failed() {
	r.ops[*r.at].errors++
	r.changed = true
	r.count()
}

// count counts a row. Where nothing else has changed it is shown later, with
// others: the store would wait for the memory that the row has just been written
// to, and so would the next row.
func (r *recorder) count() {
	r.rows++
	if r.changed {
		r.show()
	}
}

// show makes what was counted visible to Stats.
func (r *recorder) show() {
	if r.changed {
		r.mu.Lock()
		copy(r.shown, r.ops)
		r.mu.Unlock()
		r.changed = false
	}
	r.shownRows.Store(r.rows)
}

// addTo adds what was counted to the operators of a Stats.
func (r *recorder) addTo(ops []stats.Operator) {
	r.mu.Lock()
	defer r.mu.Unlock()
	given := r.shownRows.Load()
	for i := range r.first { // a row from elsewhere waits for memory before its first step here
		if op := r.operators[i]; op >= 0 {
			ops[op].WaitMemory += time.Duration(r.shown[i].memory)
		}
	}
	for i := r.first; i < len(r.shown); i++ {
		c := &r.shown[i]
		if op := r.operators[i]; op >= 0 {
			if r.always {
				given = c.timed
			}
			c.addTo(&ops[op], given)
		}
		given -= c.errors
	}
}

// addTo adds the counts of a step that was given so many samples, scaled up to
// all of them where only some were timed.
func (c *opCounts) addTo(o *stats.Operator, given int64) {
	o.Samples += given
	o.Errors += c.errors
	o.Timed += c.timed
	o.WaitGet += time.Duration(c.turn)
	o.WaitMemory += time.Duration(c.memory)
	if c.timed > 0 {
		o.Busy += time.Duration(float64(c.busy) * float64(given) / float64(c.timed))
	}
	if c.good > 0 {
		o.Bytes += int64(math.Round(float64(c.bytes) * float64(given-c.errors) / float64(c.good)))
	}
}

// batchCounts counts what an operator for whole batches does: on the host, and
// what that issued on a stream.
type batchCounts struct {
	operator int
	moves    bool
	hook     func(stats.OperatorEvent)

	mu       sync.Mutex
	counts   opCounts
	stream   int // from 1, 0 while nothing has been done on one
	onStream time.Duration
}

// done counts the work on one batch, begun at the given time.
func (k *batchCounts) done(f *Flight, out []batchop.Tensor, began int64, err error) {
	d := now() - began
	rows := int64(len(f.mask))
	var bytes int64
	if err == nil {
		for i := range out {
			bytes += int64(len(out[i].Data))
		}
	}
	k.mu.Lock()
	k.counts.timed += rows
	k.counts.bytes += bytes
	k.counts.busy += d
	if err == nil {
		k.counts.good += rows
	} else {
		k.counts.errors += rows
	}
	k.mu.Unlock()
	if k.hook != nil {
		k.hook(stats.OperatorEvent{
			Start: origin.Add(time.Duration(began)), Duration: time.Duration(d), Operator: k.operator, Worker: -1,
			Epoch: f.epoch, Step: f.step, Row: -1, Bytes: bytes, Failed: err != nil,
		})
	}
}

// streamed counts the work on one batch that took so long on a stream.
func (k *batchCounts) streamed(stream int, d time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stream = stream + 1
	k.onStream += d
}

// addTo adds what was counted to the operators of a Stats.
func (k *batchCounts) addTo(ops []stats.Operator) {
	k.mu.Lock()
	defer k.mu.Unlock()
	o := &ops[k.operator]
	k.counts.addTo(o, k.counts.timed)
	o.Moves, o.Stream, o.OnStream = k.moves, k.stream, k.onStream
}

// consumer counts what the consumer of a run gets and waits for.
type consumer struct {
	held atomic.Int32 // batches that it holds

	mu    sync.Mutex
	stats stats.Consumer
	queue stats.Queue
	epoch int64   // of the last batch
	lent  *Flight // whose step is running, or nil
	waits bool    // it waits for a batch
	since int64   // the step's beginning, or the wait's

	at      stats.Setting
	running bool
	cpu     time.Duration // of the process while the workers were not parked
	cpuAt   time.Duration // what usage.CPU said when they were resumed
}

// tuned notes the number of workers and the prefetch depth.
func (c *consumer) tuned(to stats.Setting) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = to
}

// resumed notes that the workers go on.
func (c *consumer) resumed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.running {
		c.running, c.cpuAt = true, usage.CPU()
	}
}

// parked notes that the workers rest, and that the consumer goes on without
// batches.
func (c *consumer) parked() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endBody(now())
	if c.running {
		c.running = false
		c.cpu += usage.CPU() - c.cpuAt
	}
}

// asked notes that a batch is wanted when so many are ready.
func (c *consumer) asked(ready, depth int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := now()
	c.endBody(t)
	c.waits, c.since = true, t
	q := &c.queue
	q.Asked++
	q.Ready += int64(min(ready, depth))
	q.Places += int64(depth)
	if ready > 0 {
		q.Found++
	}
}

// answered notes that the wait is over and returns how long it was.
func (c *consumer) answered() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits = false
	return time.Duration(now() - c.since)
}

// delivered notes that the consumer got a batch for which it waited d.
func (c *consumer) delivered(f *Flight, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.stats
	switch {
	case s.Batches == 0:
		s.FirstBatch = d
	case f.epoch > c.epoch:
		s.Gaps++
		s.Gap += d
	}
	s.Batches++
	s.Samples += int64(f.valid)
	s.Bad += int64(f.bad)
	s.Waited += d
	c.epoch, c.lent, c.since = f.epoch, f, now()
}

// released notes that the consumer gave a batch back.
func (c *consumer) released(f *Flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lent == f {
		c.endBody(now())
	}
}

// endBody adds the step that is running, if there is one; mu is held.
func (c *consumer) endBody(now int64) {
	if c.lent == nil {
		return
	}
	d := time.Duration(now - c.since)
	c.stats.Body += d
	if c.stats.FastestBody == 0 || d < c.stats.FastestBody {
		c.stats.FastestBody = d
	}
	c.lent = nil
}
