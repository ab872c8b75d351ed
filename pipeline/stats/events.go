package stats

import "time"

// Events holds functions that a pipeline calls when something happens,
// for logs, traces and dashboards. Any of them may be nil. They are called by
// the goroutine at work, several of them at a time, so they must be quick and
// safe for concurrent use, and must not call the pipeline.
type Events struct {
	// BatchBegun is called when a batch is free to be made, BatchMade when its
	// last row is done.
	BatchBegun, BatchMade func(BatchEvent)

	// BatchFinished is called when the operators for whole batches are done with
	// it, where there are any.
	BatchFinished func(BatchEvent)

	// BatchDelivered is called when the consumer gets a batch, BatchReleased
	// when it has given it back. Between them runs its step.
	BatchDelivered, BatchReleased func(BatchEvent)

	// Operator is called after every sample of every operator. Samples in memory are then made one
	// by one, where they are made many at a time without it. Where it is set, the time
	// of every sample is taken; without it, operators that are very cheap are timed for
	// some samples only.
	Operator func(OperatorEvent)

	// Stream is called for every operator that has worked on a batch on a stream of
	// Options.Device. The calls for a batch come when all its operators are done, before
	// BatchFinished. Where it is set, the streams record up to two events more for each
	// operator.
	Stream func(StreamEvent)

	// WorkerWaited is called after a worker had to wait for a free batch.
	WorkerWaited func(WaitEvent)

	// Warned is called for a row that was made although an operator warned of its
	// sample, see datum.Sample.Warn.
	Warned func(WarningEvent)

	// WorkerUp is called when a remote worker (pipeline.Options.Remote) begins to make rows,
	// WorkerDown when it does not answer or is too late, and WorkerRefused when it makes
	// other rows than this process or does not let it ask.
	WorkerUp, WorkerDown, WorkerRefused func(RemoteEvent)

	// Tuned is called when Autotune changes something.
	Tuned func(TuneEvent)
}

// BatchEvent is something that happened to a batch.
type BatchEvent struct {
	Time        time.Time
	Epoch, Step int64
	Slot        int           // the memory that the batch is made in
	Waited      time.Duration // BatchDelivered: how long the consumer waited for it
	Ready       int           // BatchDelivered: batches that were ready when it was asked for
	Valid       int           // rows that are valid; 0 in BatchBegun
}

// OperatorEvent is an operator's work on one sample.
type OperatorEvent struct {
	Start    time.Time
	Duration time.Duration // for an operator on a device the time of the call on the host; see StreamEvent
	Waited   time.Duration // the part of Duration in which it waited for its turn or for memory
	Operator int           // its place in Run.Operators
	Worker   int           // -1 for an operator that works on whole batches
	Epoch    int64
	Step     int64
	Row      int   // -1 for an operator that works on whole batches
	Bytes    int64 // of the result
	Failed   bool
}

// StreamEvent is an operator's work on one batch on a stream of a device.
//
// Where Measured is true, the device has measured the times (streams.Event.Elapsed). Start
// is moved to the host's clock then, so that work begins after it is issued and ends before
// the host learns of its end. Where Measured is false, the device cannot measure: Start is
// when the operator's function was called on the host, Duration ends when the host learned
// that the work had completed, and Waited is 0.
type StreamEvent struct {
	Operator    int // its place in Run.Operators
	Stream      int // in the order in which the run made its streams, from 0
	Epoch, Step int64
	Slot        int
	Issued      time.Time     // when the host put it on the stream
	Waited      time.Duration // just before Start: the stream waited for other streams
	Start       time.Time
	Duration    time.Duration
	Measured    bool
}

// WaitEvent is a worker's wait for a free batch.
type WaitEvent struct {
	Start    time.Time
	Duration time.Duration
	Worker   int
}

// TuneEvent is a change that Autotune made.
type TuneEvent struct {
	Time          time.Time
	Workers       int     // that work from now on
	PrefetchDepth int     // from now on
	Rate          float64 // samples per second before the change
	Verdict       Verdict // why
	Reverted      bool    // this takes back the change before, which did not help
}
