package executor

import (
	"errors"
	"time"
)

// Rows is the work of a node that is done row by row: Op.Rows. The node's kernel
// calls Call.Arm when the rows of its iteration can be made. Workers of the executor,
// Options.Workers of them, then take the rows, in order and across iterations, so none
// idles at the end of one. When the last row is done, Finish is called.
//
// Such a node is async and InOrder, and a graph has one of them at most. Its program
// runs as one Loop at a time.
//
// A worker has a number, from 0, and whatever is kept by number belongs to one
// goroutine at a time. Operators that may take long (Op.Expensive) do not starve
// rows: a goroutine that is about to run what follows a finished iteration hands its
// number to another goroutine first, if the program has such operators.
type Rows struct {
	N     int // rows of an iteration; at least 1
	Grain int // rows that a worker takes at a time; 0 means 1

	// Row makes one row. It is called from worker goroutines, once for each row that Ticket
	// has not made, and anew after RowPool.Again. It must not panic.
	Row func(worker int, c *Call, row int)

	// Ticket makes the rows of a ticket, or the row of RowPool.Again, at once, from row up to end, which is none of them. Where
	// it reports false, or ends its goroutine, they are made by Row. It must not panic, and may
	// be nil.
	Ticket func(worker int, c *Call, row, end int) bool

	// Ran is called by a worker that has made all rows of a ticket (Grain), before they
	// count as done. It may be nil.
	Ran func(worker int)

	// Finish is called when all rows of an iteration are done, by the worker that
	// made the last one. It calls c.Done, or a later call of Finish does. It must not
	// block.
	Finish func(c *Call)

	// Lost is called when Row left its goroutine through runtime.Goexit; the row counts
	// as done, and another goroutine takes the worker's number. It may be nil.
	Lost func(worker int, c *Call, row int)

	// Start is called by a goroutine that takes a worker's number; what it returns is
	// called by the same goroutine when it gives the number up. It may be nil.
	Start func(worker int) (end func())

	// Suits returns the numbers of the takers that new rows, from row up to end, are to be kept for
	// (RowPool.Join), one for each ticket, 0 for any taker. It is called by RowPool.Wait, and may be nil.
	Suits func(c *Call, row, end int) []int

	// Idle is called by a worker that finds no row to make, before it waits, and by RowPool.Wait after a Nudge; worker
	// is -1 for Wait. It may give rows back that others hold (RowPool.GiveBack) and
	// reports whether it did. Nudge has those that wait call it again. It may be nil.
	Idle func(worker int) bool

	// Waited is called by a worker that had to wait for rows, or was parked, with the
	// time at which the wait began. It may be nil.
	Waited func(worker int, since time.Time)
}

var (
	errOneLoop = errors.New("executor: a program with rows runs as one Loop at a time; close the other one first")
	errNoRun   = errors.New("executor: a program with rows runs as a Loop; Run is for programs without")
)

func (r *Rows) check(op *Op) error {
	switch {
	case r.N < 1:
		return errors.New("Rows.N is below 1")
	case r.Grain < 0:
		return errors.New("Rows.Grain is negative")
	case r.Row == nil || r.Finish == nil:
		return errors.New("Rows.Row or Rows.Finish is missing")
	case !op.Async || op.Order != InOrder:
		return errors.New("a node with Rows is Async and InOrder")
	}
	return nil
}

// Arm says that the rows of the call can be made; the kernel of a node with Rows calls
// it once, before it returns, unless it calls Done or fails. False means that the loop
// is being closed: the kernel then returns an error.
func (c *Call) Arm() bool { return c.st.x.rows.arm(c) }

// Rows returns who makes the rows of the program, nil if it has none.
func (x *Executor) Rows() *RowPool { return x.rows }
