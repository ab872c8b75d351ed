// Package cache keeps what was read from a store in a folder of the machine: a disk that is
// near in place of a server that is far.
//
// It fills once and never evicts. Every epoch reads all samples in another order, so whatever is kept is
// read once per epoch, and nothing is better kept than what is there already: the share of
// hits is the share of the data that fits, where a cache that evicts what was used least
// recently has evicted nearly everything before it comes again.
//
// A folder is shared by all processes of a machine, and by several stores. Its size is
// bounded. What is kept is a chunk of a file, under a name made of the file's version, so
// that an object that was written over is another one; each 64 KiB have a checksum. A
// process that is killed leaves nothing behind that another would take for data, and what
// a disk has lost is dropped and fetched again.
package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/planktonml/plankton/storage"
)

// Options says where to keep how much. Dir and Bytes are needed.
type Options struct {
	// Dir is a folder of the cache's own: one that does not exist, is empty, or has been
	// a cache's.
	Dir string

	// Bytes is what the folder may hold, all processes together, each by its own Bytes.
	Bytes int64

	// Chunk is how much is fetched and kept at a time, 64 KiB to 64 MiB and a power of
	// two; default 1 MiB. All processes that share chunks need the same.
	Chunk int
}

const (
	defaultChunk  = 1 << 20
	smallestChunk = blockBytes
	largestChunk  = 64 << 20
	fetchBytes    = 8 << 20 // chunks that lie side by side are fetched together up to this
)

// Stats counts what a cache did since it was opened, in this process.
type Stats struct {
	Hits     int64 `json:"hits"`      // reads of a part of a chunk that was kept
	Misses   int64 `json:"misses"`    // reads of a part of a chunk that was not
	HitBytes int64 `json:"hit_bytes"` // that came from the folder
	Stored   int64 `json:"stored"`    // chunks that were added
	Bad      int64 `json:"bad"`       // chunks that were lost or damaged, dropped and fetched again
	Used     int64 `json:"used"`      // bytes of the folder, all processes together
	Bytes    int64 `json:"bytes"`     // that the folder may hold
}

// Cache is a store of which parts are kept. It implements [fs.ReadDirFS], [fs.StatFS],
// [fs.SubFS] and [storage.Versioned]; files that are opened are read from the store. Its
// methods may be called by several goroutines at once.
type Cache struct {
	place storage.Versioned
	*keeper
}

// keeper is what all folders of one store share.
type keeper struct {
	folder *folder
	chunk  int64
	full   atomic.Bool // nothing more is added

	mu      sync.Mutex
	fetched map[key]chan struct{} // chunks that are being fetched; closed when they are there or not
	buffers sync.Pool

	hits, misses, hitBytes, stored, bad atomic.Int64
}

// Open returns place with a cache before it. It waits for another process that looks
// through the folder, until ctx ends. Close the cache when nothing reads from it any more.
func Open(ctx context.Context, place storage.Versioned, o Options) (*Cache, error) {
	switch {
	case o.Dir == "":
		return nil, errors.New("cache: Dir is empty; give a folder for the cache")
	case o.Bytes < 1:
		return nil, fmt.Errorf("cache: Bytes is %d; say how much the folder may hold", o.Bytes)
	case o.Chunk != 0 && (o.Chunk < smallestChunk || o.Chunk > largestChunk || o.Chunk&(o.Chunk-1) != 0):
		return nil, fmt.Errorf("cache: Chunk is %d; it must be a power of two from %d to %d, or 0 for %d", o.Chunk, smallestChunk, largestChunk, defaultChunk)
	}
	f, err := openFolder(ctx, o.Dir, o.Bytes)
	if err != nil {
		return nil, fmt.Errorf("cache: %s: %w", o.Dir, err)
	}
	k := &keeper{folder: f, chunk: defaultChunk, fetched: map[key]chan struct{}{}}
	if o.Chunk > 0 {
		k.chunk = int64(o.Chunk)
	}
	return &Cache{place, k}, nil
}

// Close lets other processes look through the folder. The store stays open.
func (c *Cache) Close() error { return c.folder.close() }

// Stats returns what the cache did.
func (c *Cache) Stats() Stats {
	used, _ := c.folder.used() // 0 where it cannot be read
	return Stats{
		Hits: c.hits.Load(), Misses: c.misses.Load(), HitBytes: c.hitBytes.Load(),
		Stored: c.stored.Load(), Bad: c.bad.Load(), Used: used, Bytes: c.folder.limit,
	}
}

// Traffic is that of the store, as far as it counts any, and what the cache answered.
func (c *Cache) Traffic() (t storage.Traffic) {
	if counted, ok := c.place.(storage.Counted); ok {
		t = counted.Traffic()
	}
	t.CacheHits, t.CacheMisses, t.Of = c.hits.Load(), c.misses.Load(), c.keeper
	return t
}

// CountAhead adds to the traffic of the store, where it counts any.
func (c *Cache) CountAhead(l storage.LookAhead) {
	if counter, ok := c.place.(storage.AheadCounter); ok {
		counter.CountAhead(l)
	}
}

// Open opens a file of the store.
func (c *Cache) Open(name string) (fs.File, error) { return c.place.Open(name) }

// ReadDir lists a folder of the store.
func (c *Cache) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(c.place, name) }

// Stat describes a file of the store.
func (c *Cache) Stat(name string) (fs.FileInfo, error) { return fs.Stat(c.place, name) }

// Version is that of the store.
func (c *Cache) Version(name string) (string, int64, error) { return c.place.Version(name) }

// Sub returns the same cache before a folder of the store. Of a store whose folders tell no
// versions it is the folder without a cache.
func (c *Cache) Sub(dir string) (fs.FS, error) {
	sub, err := fs.Sub(c.place, dir)
	if v, ok := sub.(storage.Versioned); ok {
		return &Cache{v, c.keeper}, err
	}
	return sub, err
}

// ReadRange implements [storage.RangeReader].
func (c *Cache) ReadRange(ctx context.Context, name string, off int64, dst []byte) (n int, err error) {
	version, size, err := c.place.Version(name)
	if err != nil {
		return 0, err
	}
	if version == "" || off < 0 || off >= size || len(dst) == 0 {
		return c.place.ReadRange(ctx, name, off, dst)
	}
	r := reading{c: c, name: name, version: version, size: size}
	whole := len(dst)
	dst = dst[:min(int64(whole), size-off)]
	for n < len(dst) {
		got, err := r.some(ctx, off+int64(n), dst[n:])
		n += got
		if err != nil {
			return n, err
		}
	}
	if n < whole {
		return n, io.ErrUnexpectedEOF
	}
	return n, nil
}

var (
	_ fs.ReadDirFS      = (*Cache)(nil)
	_ fs.StatFS         = (*Cache)(nil)
	_ fs.SubFS          = (*Cache)(nil)
	_ storage.Versioned = (*Cache)(nil)

	_ storage.AheadCounter = (*Cache)(nil)
)
