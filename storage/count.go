package storage

import (
	"context"
	"io/fs"
	"sync/atomic"
	"time"
)

// Counter is a place that counts what is read from it; see [Count].
type Counter struct {
	place RangeReader

	requests, lists, needed, fetched, underWay atomic.Int64
}

// Count returns a place that tells its traffic ([Counted]), for one that does not: a folder that
// comes over a network, or a store of one's own. Requests are reads of parts of files, files that are
// opened or described, and folders that are listed. Readers and statistics take the place for one on a
// server: they look ahead, and tell how long reads have waited. Of a place that is no
// [RangeReader], files stay open; see [Keep].
func Count(fsys fs.FS) *Counter { return &Counter{place: Keep(fsys, countedOpen)} }

// countedOpen is how many files of a place stay open.
const countedOpen = 256

// Traffic implements [Counted].
func (c *Counter) Traffic() Traffic {
	return Traffic{
		Requests: c.requests.Load(), Lists: c.lists.Load(), BytesNeeded: c.needed.Load(), BytesFetched: c.fetched.Load(),
		UnderWay: time.Duration(c.underWay.Load()),
	}
}

// ask counts a request and returns when it began, over that it has ended.
func (c *Counter) ask() (began time.Time) {
	c.requests.Add(1)
	return time.Now()
}

func (c *Counter) over(began time.Time) { c.underWay.Add(int64(time.Since(began))) }

// ReadRange implements [RangeReader].
func (c *Counter) ReadRange(ctx context.Context, name string, off int64, dst []byte) (int, error) {
	defer c.over(c.ask())
	n, err := c.place.ReadRange(ctx, name, off, dst)
	c.needed.Add(int64(n))
	c.fetched.Add(int64(n))
	return n, err
}

// Open opens a file of the place. What is read from it then is not counted.
func (c *Counter) Open(name string) (fs.File, error) {
	defer c.over(c.ask())
	return c.place.Open(name)
}

// Stat describes a file of the place.
func (c *Counter) Stat(name string) (fs.FileInfo, error) {
	defer c.over(c.ask())
	return fs.Stat(c.place, name)
}

// ReadDir lists a folder of the place.
func (c *Counter) ReadDir(name string) ([]fs.DirEntry, error) {
	defer c.over(c.ask())
	c.lists.Add(1)
	return fs.ReadDir(c.place, name)
}

var (
	_ RangeReader  = (*Counter)(nil)
	_ Counted      = (*Counter)(nil)
	_ fs.ReadDirFS = (*Counter)(nil)
	_ fs.StatFS    = (*Counter)(nil)
)
