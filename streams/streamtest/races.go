package streamtest

import (
	"fmt"

	"github.com/planktonml/plankton/streams"
)

// clock is a vector clock: entry 0 counts what the host issued, entry i+1 the
// kernels of stream i (Mattern 1988). The host is one clock: what any goroutine
// has waited for orders what all of them issue later. Races between goroutines
// are for Go's race detector.
type clock []int

func (c clock) copy() clock { return append(clock(nil), c...) }

// join returns the later of c and o in every entry, in c if it is long enough.
func (c clock) join(o clock) clock {
	for len(c) < len(o) {
		c = append(c, 0)
	}
	for i, x := range o {
		c[i] = max(c[i], x)
	}
	return c
}

// Access is a kernel that used a buffer.
type Access struct {
	Stream int
	Kernel int // on its stream, from 1 on
	Write  bool
}

func (a Access) String() string {
	verb := "read"
	if a.Write {
		verb = "write"
	}
	return fmt.Sprintf("%s by kernel %d of stream %d", verb, a.Kernel, a.Stream)
}

// Race is a pair of accesses, at least one of which writes, that nothing orders.
type Race struct {
	Buffer        any
	First, Second Access
}

func (r Race) String() string {
	return fmt.Sprintf("buffer %v: %v and %v are not ordered", r.Buffer, r.First, r.Second)
}

// buffer remembers who used it since the last write.
type buffer struct {
	write *Access
	reads []Access
}

// Reads declares that the kernel which received c reads buffers, each named by
// any comparable value. It does nothing on other devices.
func Reads(c *streams.Context, buffers ...any) { access(c, false, buffers) }

// Writes declares that the kernel which received c writes buffers.
func Writes(c *streams.Context, buffers ...any) { access(c, true, buffers) }

// Races returns the races found so far.
func (d *Device) Races() []Race {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]Race(nil), d.races...)
}

func access(c *streams.Context, write bool, keys []any) {
	s, ok := c.Native.(*stream)
	if !ok {
		return
	}
	d := s.device
	d.mu.Lock()
	defer d.mu.Unlock()
	now := Access{s.number, s.clock[s.number+1], write}
	for _, key := range keys {
		b := d.buffers[key]
		if b == nil {
			b = &buffer{}
			d.buffers[key] = b
		}
		if b.write != nil {
			d.check(s, key, *b.write, now)
		}
		if !write {
			b.reads = append(b.reads, now)
			continue
		}
		for _, r := range b.reads {
			d.check(s, key, r, now)
		}
		b.write, b.reads = &now, nil
	}
}

// check reports a race unless the earlier access comes before what s does now.
func (m *machine) check(s *stream, key any, earlier, now Access) {
	if i := earlier.Stream + 1; i >= len(s.clock) || s.clock[i] < earlier.Kernel {
		m.races = append(m.races, Race{key, earlier, now})
	}
}
