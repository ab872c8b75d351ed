package parquet

import (
	"slices"
	"sync"
)

// cache holds decoded pages, at most so many bytes of them beside those that are being
// read. The page that was used longest ago is dropped first.
type cache struct {
	limit  int64
	memory *memory

	mu      sync.Mutex
	entries map[key]*entry
	used    int64
	ends    entry // of the ring of pages that nobody reads: next is the one used last
}

// key is a page of a column chunk. The dictionary is page -1.
type key struct {
	chunk int64
	page  int32
}

const dictionaryPage = -1

// entry is a page, or one that is being read.
type entry struct {
	key   key
	ready chan struct{} // closed when block or err is there
	block *block
	err   error

	pins       int // of readers and of pages that need the dictionary
	bytes      int64
	next, prev *entry // in the ring, while there are no pins
}

func newCache(limit int64) *cache {
	c := &cache{limit: limit, entries: map[key]*entry{}, memory: &memory{most: max(limit/2, 4<<20)}}
	c.ends.next, c.ends.prev = &c.ends, &c.ends
	return c
}

// claim returns the entry of a page, pinned. Where mine is true, the caller must read the
// page and call done; otherwise it waits for ready.
func (c *cache) claim(k key) (e *entry, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e = c.entries[k]; e != nil {
		if e.pins == 0 {
			e.unlink()
		}
		e.pins++
		return e, false
	}
	e = &entry{key: k, ready: make(chan struct{}), pins: 1}
	c.entries[k] = e
	return e, true
}

// done says what reading a page has come to. An entry with an error is forgotten, so that
// the next reader tries again.
func (c *cache) done(e *entry, b *block, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.block, e.err = b, err
	if err != nil {
		delete(c.entries, e.key)
	} else {
		e.bytes = b.bytes()
		c.used += e.bytes
		c.trim()
	}
	close(e.ready)
}

// unpin ends what claim began.
func (c *cache) unpin(e *entry) {
	c.mu.Lock()
	c.release(e)
	c.trim()
	c.mu.Unlock()
}

// release is unpin with the lock held.
func (c *cache) release(e *entry) {
	if e.pins--; e.pins > 0 || e.err != nil {
		return
	}
	e.next, e.prev = c.ends.next, &c.ends
	e.next.prev, e.prev.next = e, e
}

// trim drops pages until what is left is within the limit.
func (c *cache) trim() {
	for c.used > c.limit && c.ends.prev != &c.ends {
		e := c.ends.prev
		e.unlink()
		delete(c.entries, e.key)
		c.used -= e.bytes
		for _, mem := range e.block.owned {
			c.memory.put(mem)
		}
		if d := e.block.dictionary; d != nil {
			c.release(d)
		}
		e.block = nil
	}
}

func (e *entry) unlink() {
	e.prev.next, e.next.prev = e.next, e.prev
	e.next, e.prev = nil, nil
}

// memory keeps what pages were decoded into for the next ones.
type memory struct {
	most int64 // bytes to keep

	mu   sync.Mutex
	free [][]byte // by capacity
	kept int64
}

// get returns n bytes, which hold anything.
func (m *memory) get(n int) []byte {
	m.mu.Lock()
	i, _ := slices.BinarySearchFunc(m.free, n, func(mem []byte, n int) int { return cap(mem) - n })
	if i < len(m.free) && cap(m.free[i]) <= 2*n+4096 {
		mem := m.free[i]
		m.free = slices.Delete(m.free, i, i+1)
		m.kept -= int64(cap(mem))
		m.mu.Unlock()
		return mem[:n]
	}
	m.mu.Unlock()
	return make([]byte, n)
}

// put takes memory back.
func (m *memory) put(mem []byte) {
	n := int64(cap(mem))
	if n == 0 || n > m.most {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.kept+n > m.most { // the smallest serves least
		m.kept -= int64(cap(m.free[0]))
		m.free = slices.Delete(m.free, 0, 1)
	}
	i, _ := slices.BinarySearchFunc(m.free, cap(mem), func(mem []byte, n int) int { return cap(mem) - n })
	m.free = slices.Insert(m.free, i, mem[:0])
	m.kept += n
}
