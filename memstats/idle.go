package memstats

import (
	"slices"
	"sync"
)

// idle keeps the blocks of page-locked or device memory that nobody uses. To give
// one back makes the whole device wait, so a pool does that only to replace a block
// by a larger one, when its gate or its allocator refuses, and in Pool.Trim.
type idle struct {
	mu     sync.Mutex
	blocks [][]byte // by size
}

func (i *idle) keep(mem []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.blocks = slices.Insert(i.blocks, i.fit(len(mem)), mem)
}

// take takes off the smallest block of at least n bytes. If all are smaller it
// takes off the largest, to be replaced: so there are never more blocks than were
// in use at a time. Nil is none.
func (i *idle) take(n int) (mem []byte, fits bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.blocks) == 0 {
		return nil, false
	}
	at := i.fit(n)
	fits = at < len(i.blocks)
	at = min(at, len(i.blocks)-1)
	mem = i.blocks[at]
	i.blocks = slices.Delete(i.blocks, at, at+1)
	return mem, fits
}

func (i *idle) takeAll() (blocks [][]byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	blocks, i.blocks = i.blocks, nil
	return blocks
}

// fit returns the place of the first block of at least n bytes.
func (i *idle) fit(n int) int {
	at, _ := slices.BinarySearchFunc(i.blocks, n, func(mem []byte, n int) int { return len(mem) - n })
	return at
}
