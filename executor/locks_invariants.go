//go:build invariants

package executor

import (
	"bytes"
	"fmt"
	"runtime"
	"sync"
)

const locksChecked = true

// mutex checks that the goroutine holds nothing of the same or a later rank.
type mutex[R rank] struct{ mu sync.Mutex }

func (m *mutex[R]) Lock() {
	var r R
	takes(r.rank())
	m.mu.Lock()
}

func (m *mutex[R]) Unlock() {
	m.mu.Unlock()
	drops()
}

// held is what each goroutine holds, by its number: ranks, in the order in which
// they were taken.
var held = struct {
	sync.Mutex
	ranks map[string][]int
}{ranks: map[string][]int{}}

func takes(rank int) {
	id := goroutine()
	held.Lock()
	defer held.Unlock()
	ranks := held.ranks[id]
	if n := len(ranks); n > 0 && ranks[n-1] >= rank {
		panic(fmt.Sprintf("executor: a lock of rank %d is taken inside of one of rank %d", rank, ranks[n-1]))
	}
	held.ranks[id] = append(ranks, rank)
}

// drops forgets the lock that was taken last: locks are nested.
func drops() {
	id := goroutine()
	held.Lock()
	defer held.Unlock()
	if n := len(held.ranks[id]); n > 1 {
		held.ranks[id] = held.ranks[id][:n-1]
	} else {
		delete(held.ranks, id)
	}
}

// goroutine returns the number of the goroutine, which only a stack shows.
func goroutine() string {
	var text [32]byte
	return string(bytes.Fields(text[:runtime.Stack(text[:], false)])[1])
}
