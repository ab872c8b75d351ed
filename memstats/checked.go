package memstats

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"
)

// Checked is an Allocator for tests: it keeps account of every block of another
// one, with the place that it was allocated from.
type Checked struct {
	from Allocator

	mu     sync.Mutex
	blocks map[*byte]Block
	errs   []error
}

// Block is memory that was allocated and not freed.
type Block struct {
	Size  int
	Stack string // the callers, innermost first, a line each
}

// NewChecked returns an allocator that takes its memory from another one.
func NewChecked(from Allocator) *Checked {
	return &Checked{from: from, blocks: map[*byte]Block{}}
}

// Alloc implements Allocator.
func (c *Checked) Alloc(n int) ([]byte, error) {
	mem, err := c.from.Alloc(n)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.blocks[unsafe.SliceData(mem)] = Block{n, callers()}
	c.mu.Unlock()
	return mem, nil
}

// Free implements Allocator. A block that is not there, or has another size, is
// kept as an error for Check and not passed on.
func (c *Checked) Free(mem []byte) {
	c.mu.Lock()
	b, ok := c.blocks[unsafe.SliceData(mem)]
	switch {
	case !ok:
		c.errs = append(c.errs, fmt.Errorf("memstats: %d bytes were freed that are not allocated, by\n%s", len(mem), callers()))
	case b.Size != len(mem):
		c.errs = append(c.errs, fmt.Errorf("memstats: %d of %d bytes were freed, by\n%s", len(mem), b.Size, callers()))
		ok = false
	default:
		delete(c.blocks, unsafe.SliceData(mem))
	}
	c.mu.Unlock()
	if ok {
		c.from.Free(mem)
	}
}

// Live returns the blocks that are allocated, largest first.
func (c *Checked) Live() []Block {
	c.mu.Lock()
	defer c.mu.Unlock()
	var live []Block
	for _, b := range c.blocks {
		live = append(live, b)
	}
	slices.SortFunc(live, func(a, b Block) int { return b.Size - a.Size })
	return live
}

// Check returns an error that names every leaked block and every wrong Free.
func (c *Checked) Check() error {
	var errs []error
	for _, b := range c.Live() {
		errs = append(errs, fmt.Errorf("memstats: %d bytes were never freed, allocated by\n%s", b.Size, b.Stack))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(append(errs, c.errs...)...)
}

// callers names the functions that led to the allocator.
func callers() string {
	var pcs [12]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	var b strings.Builder
	for {
		f, more := frames.Next()
		fmt.Fprintf(&b, "\t%s (%s:%d)\n", f.Function, f.File, f.Line)
		if !more {
			return b.String()
		}
	}
}
