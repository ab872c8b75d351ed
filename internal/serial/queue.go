// Package serial holds what streams have in common whose work is issued by a
// goroutine: the queue that it works off, and outcomes, which the first of several
// parties settles.
package serial

import "sync"

// Queue is an unbounded queue and the goroutine that works it off, in order. The
// goroutine takes whole batches, so that a busy queue is locked rarely.
type Queue[T any] struct {
	worker Worker[T]
	ended  chan struct{} // closed when the goroutine has left

	mu     sync.Mutex
	wake   *sync.Cond
	items  []T
	closed bool

	// The goroutine's own.
	batch []T
	next  int // the next item of batch
}

// Worker is what the goroutine of a queue calls, one at a time. Idle and End may
// be nil.
type Worker[T any] struct {
	// Do works off one item. When it ends the goroutine with runtime.Goexit,
	// another one goes on with the next item.
	Do func(T)
	// Idle is called before the goroutine waits for items, and when it ends. It
	// must not use the queue.
	Idle func()
	// End is called once the queue is closed and empty.
	End func()
}

// Start returns an empty queue, whose goroutine runs until Close.
func Start[T any](w Worker[T]) *Queue[T] {
	if w.Idle == nil {
		w.Idle = func() {}
	}
	if w.End == nil {
		w.End = func() {}
	}
	q := &Queue[T]{worker: w, ended: make(chan struct{})}
	q.wake = sync.NewCond(&q.mu)
	go q.loop()
	return q
}

// Put adds the item and reports false on a closed queue, which drops it. It may
// be called from any goroutine, that of the queue included.
func (q *Queue[T]) Put(item T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.items = append(q.items, item)
	if len(q.items) == 1 {
		q.wake.Signal()
	}
	return true
}

// Close waits until all items have been worked off and the goroutine has left. It
// reports whether it is the first call. It must not be called by the worker.
func (q *Queue[T]) Close() (first bool) {
	q.mu.Lock()
	first = !q.closed
	q.closed = true
	q.wake.Signal()
	q.mu.Unlock()
	<-q.ended
	return first
}

// loop works the queue off until it is closed and empty. An item that calls
// runtime.Goexit takes the goroutine with it; another one then goes on, or
// everything that waits for this queue would wait for ever.
func (q *Queue[T]) loop() {
	left := false
	defer func() {
		q.worker.Idle()
		if left {
			close(q.ended)
		} else {
			go q.loop()
		}
	}()
	var none T
	for q.refill() {
		for q.next < len(q.batch) {
			item := q.batch[q.next]
			q.batch[q.next] = none // the batch must not keep alive what is done
			q.next++
			q.worker.Do(item)
		}
	}
	q.worker.End()
	left = true
}

// refill swaps the items in once the batch is done. It blocks while there is
// nothing to do and reports false when there never will be.
func (q *Queue[T]) refill() bool {
	if q.next < len(q.batch) {
		return true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.items) == 0 && !q.closed {
		q.worker.Idle()
		q.wake.Wait()
	}
	q.batch, q.items, q.next = q.items, q.batch[:0], 0
	return len(q.batch) > 0
}
