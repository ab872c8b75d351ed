package cache

import (
	"context"
	"errors"
	"io/fs"
)

// reading is one read of one file.
type reading struct {
	c       *Cache
	name    string
	version string
	size    int64 // of the file
}

// key returns the key of chunk i.
func (r *reading) key(i int64) key { return keyOf(r.version, r.c.chunk, i) }

// length returns the bytes of chunk i.
func (r *reading) length(i int64) int { return int(min(r.c.chunk, r.size-i*r.c.chunk)) }

// some reads at least one byte from off on, from one chunk that is kept or several that
// are not, or waits until another goroutine has fetched the chunk and reads nothing.
func (r *reading) some(ctx context.Context, off int64, dst []byte) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, context.Cause(ctx)
	}
	c := r.c
	i := off / c.chunk
	if n, ok := r.kept(i, off, dst); ok {
		return n, nil
	}
	if c.full.Load() {
		c.misses.Add(1)
		return c.place.ReadRange(ctx, r.name, off, dst[:r.missing(i, off, dst)])
	}
	last, wait := r.claim(i, off+int64(len(dst)))
	if wait != nil {
		select {
		case <-wait:
			return 0, nil
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	defer r.release(i, last)
	if n, ok := r.kept(i, off, dst); ok { // since it was looked for
		return n, nil
	}
	c.misses.Add(1)
	return r.fetch(ctx, i, last, off, dst)
}

// kept reads from chunk i as much as dst takes, where it is kept and whole.
func (r *reading) kept(i, off int64, dst []byte) (int, bool) {
	c := r.c
	from := int(off - i*c.chunk)
	n := min(len(dst), r.length(i)-from)
	k := r.key(i)
	err := c.folder.read(k, r.length(i), from, dst[:n], c.keeper)
	if err == nil {
		c.hits.Add(1)
		c.hitBytes.Add(int64(n))
		return n, true
	}
	if !errors.Is(err, fs.ErrNotExist) {
		c.bad.Add(1)
		if c.folder.drop(k, fileBytes(r.length(i), r.version)) == nil {
			c.full.Store(false)
		}
	}
	return 0, false
}

// missing returns how much of dst lies in chunks, from i on, that are not kept.
func (r *reading) missing(i, off int64, dst []byte) int {
	end := off + int64(len(dst))
	for i++; i*r.c.chunk < end; i++ {
		if r.c.folder.has(r.key(i)) {
			return int(i*r.c.chunk - off)
		}
	}
	return len(dst)
}

// claim takes the fetching of chunk i and those behind it that are not kept, up to a byte
// of the file, and returns the last one. Where another goroutine fetches chunk i, it
// returns what is closed when that is over.
func (r *reading) claim(i, end int64) (last int64, wait <-chan struct{}) {
	c := r.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if others := c.fetched[r.key(i)]; others != nil {
		return 0, others
	}
	for last = i; ; last++ {
		c.fetched[r.key(last)] = make(chan struct{})
		next := last + 1
		if next*c.chunk >= end || (next+1-i)*c.chunk > fetchBytes || c.fetched[r.key(next)] != nil || c.folder.has(r.key(next)) {
			return last, nil
		}
	}
}

func (r *reading) release(first, last int64) {
	c := r.c
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := first; i <= last; i++ {
		k := r.key(i)
		close(c.fetched[k])
		delete(c.fetched, k)
	}
}

// fetch reads whole chunks from the store, keeps them, and copies what was asked for.
func (r *reading) fetch(ctx context.Context, first, last, off int64, dst []byte) (int, error) {
	c := r.c
	begin, end := first*c.chunk, min((last+1)*c.chunk, r.size)
	dst = dst[:min(int64(len(dst)), end-off)]
	var room int64
	for i := first; i <= last; i++ {
		room += fileBytes(r.length(i), r.version)
	}
	if !c.folder.reserve(room) {
		c.full.Store(true)
		return c.place.ReadRange(ctx, r.name, off, dst)
	}
	mem := c.buffer(int(end - begin))
	defer c.buffers.Put(mem)
	n, err := c.place.ReadRange(ctx, r.name, begin, *mem)
	if err != nil || n < len(*mem) {
		c.folder.giveBack(room)
		return 0, err
	}
	copy(dst, (*mem)[off-begin:])
	for i := first; i <= last; i++ {
		at := (i - first) * c.chunk
		kept := c.folder.add(r.key(i), (*mem)[at:at+int64(r.length(i))], r.version, i)
		switch {
		case kept == nil:
			c.stored.Add(1)
			continue
		case !errors.Is(kept, fs.ErrExist): // by another process
			c.full.Store(true) // the disk is, or broken; the data are here all the same
		}
		c.folder.giveBack(fileBytes(r.length(i), r.version))
	}
	return len(dst), nil
}

// buffer returns memory of n bytes that is used again.
func (k *keeper) buffer(n int) *[]byte {
	mem, _ := k.buffers.Get().(*[]byte)
	if mem == nil || cap(*mem) < n {
		fresh := make([]byte, n, max(n, int(k.chunk)))
		return &fresh
	}
	*mem = (*mem)[:n]
	return mem
}
