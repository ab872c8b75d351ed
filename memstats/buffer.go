package memstats

// Buffer is memory that follows the size asked for. Its zero value is empty. It
// may be moved to another variable, but not copied: one variable at a time is the
// buffer.
type Buffer struct {
	pool *Pool
	mem  []byte // everything reserved

	floor int // presized: it is not made smaller than this
	least int // the size that Fit was given when it freed the memory
}

// Resize returns n bytes of the buffer, allocating from p if the reserved
// memory is too small. The contents are not kept when memory moves. The bytes
// are valid until the next Resize, Fit or Free. The error is that of p's gate or
// allocator, and leaves the buffer empty.
func (b *Buffer) Resize(p *Pool, n int) ([]byte, error) {
	if n > len(b.mem) {
		if err := b.grow(p, n); err != nil {
			return nil, err
		}
	}
	return b.mem[:n:n], nil
}

// Reserve makes room for n bytes. The buffer never shrinks below that, until
// Free.
func (b *Buffer) Reserve(p *Pool, n int) error {
	b.floor = max(b.floor, n)
	if n > len(b.mem) {
		return b.grow(p, n)
	}
	return nil
}

// grow gives the old memory back first: the buffer's contents are not kept, and
// both together might not fit into a budget. What it gets may be an idle block that
// is larger.
func (b *Buffer) grow(p *Pool, n int) error {
	n = max(scaled(n, p.currentRules().growth(p.opt.Kind)), b.floor, b.least)
	b.drop()
	mem, err := p.alloc(n)
	if err != nil {
		return err
	}
	b.pool, b.mem, b.least = p, mem, 0
	return nil
}

// Reserved returns how many bytes the buffer holds.
func (b *Buffer) Reserved() int { return len(b.mem) }

// Fit says that n bytes are going to be enough for a while. It frees host memory
// of which they need less than the pool's shrink threshold; the next Resize then
// allocates as much as n bytes take.
func (b *Buffer) Fit(n int) {
	if b.pool == nil || b.pool.opt.Kind != Host {
		return
	}
	r := b.pool.currentRules()
	need := max(scaled(n, r.HostGrowthFactor), b.floor)
	if float64(need) < r.HostShrinkThreshold*float64(len(b.mem)) {
		b.drop()
		b.least = need
	}
}

// Free gives the memory back and forgets what the buffer was presized to.
func (b *Buffer) Free() {
	b.drop()
	*b = Buffer{}
}

func (b *Buffer) drop() {
	if b.pool != nil {
		b.pool.free(b.mem)
	}
	b.pool, b.mem = nil, nil
}
