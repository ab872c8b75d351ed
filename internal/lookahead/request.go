package lookahead

import (
	"errors"

	"github.com/planktonml/plankton/storage"
)

// request is a stretch of an object that is fetched at a time. Run.mu guards it, but for err and
// the bytes of mem, which are the fetching goroutine's until done is closed.
type request struct {
	Range
	first  int32 // the piece in it that is needed first
	needed int64 // bytes of its pieces
	left   int   // pieces of it that nobody has taken, or that are being copied

	mem   []byte // nil before there is memory for it, and when all pieces of it are done with
	begin int64  // of mem in the arena
	over  bool   // done is closed
	done  chan struct{}
	err   error
}

// errBroken is the error of a request whose store panicked.
var errBroken = errors.New("the store panicked")

// fetch sends a request that has memory.
func (r *Run) fetch(q *request) {
	q.err = errBroken
	defer func() {
		_ = recover() // reads ask the store themselves, where the panic is the sample's
		<-r.slots
		r.fetched(q)
	}()
	q.err = storage.ReadRange(r.ctx, r.o.Place, r.o.Samples.Object(q.Object), q.Offset, q.mem)
}

// fetched notes that a request is over.
func (r *Run) fetched(q *request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q.over = true
	close(q.done)
	r.counts.Requests++
	if q.err == nil {
		r.counts.BytesFetched += q.Length
		r.counts.BytesNeeded += q.needed
	}
	if q.left == 0 {
		r.free(q)
	}
}

// release says that a piece of a request is done with; mu is held.
func (r *Run) release(q *request) {
	if q.left--; q.left == 0 && q.mem != nil && q.over {
		r.free(q)
	}
}

// free gives the memory of a request back; mu is held.
func (r *Run) free(q *request) {
	q.mem = nil
	r.arena.give(q.begin, q.Length)
	r.roomier()
}

// roomier has the planner look again, which until then does not count as short of memory; mu is
// held.
func (r *Run) roomier() {
	r.short = false
	r.room.Signal()
}
