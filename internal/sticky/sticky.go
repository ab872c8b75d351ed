// Package sticky keeps the errors that end loops which yield them as their last pair.
// Such an error is easily lost: "for range" takes none.
package sticky

import (
	"fmt"
	"sync"
)

// Error is what ended the loops over something. It knows whether the body of a loop has
// seen to the error. The zero value is ready, and may be used by several goroutines.
type Error struct {
	mu             sync.Mutex
	first, ignored error
}

// End ends a loop with an error, which it shows to the body. A body that leaves the loop
// then, so that yield returns false, has seen to the error; one that goes on has not.
func End[B any](e *Error, err error, yield func(*B, error) bool) {
	e.note(&e.first, err)
	if yield(nil, err) {
		e.note(&e.ignored, err)
	}
}

func (e *Error) note(to *error, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if *to == nil {
		*to = err
	}
}

// First returns the first error that ended a loop.
func (e *Error) First() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.first
}

// Ignored returns the first error that the body of its loop has not seen to, wrapped to
// say so.
func (e *Error) Ignored() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ignored == nil {
		return nil
	}
	return fmt.Errorf("a loop ended early, and its body went on after the error: %w", e.ignored)
}

// Clear forgets all of it.
func (e *Error) Clear() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.first, e.ignored = nil, nil
}
