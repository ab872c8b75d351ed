package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/storage"
)

// Options says how Open makes an index. The zero value is ready for use.
type Options struct {
	// Label is the member that is the label: the decimal digits of a whole number, or a
	// feature of one whole number. The default is "cls" for a tar archive and
	// "image/class/label" for TFRecords, or "label" where there is none of that name.
	Label string

	// Cache is a folder in which indexes are kept, so that shards are scanned once; ""
	// for none. It may be used by several processes. Files of the machine with few
	// samples are scanned every time.
	Cache string

	// Fresh passes over index files and the cache: the shards are scanned.
	Fresh bool

	// Repeats allows samples of the same name and content in two places. Without it they
	// are an error, since they are a shard that was copied or listed twice.
	Repeats bool

	// Progress is told how many of the shards are done, by one goroutine at a time; nil
	// for nobody.
	Progress func(done, shards int)
}

// isLabel reports whether a member is the label: the one that is asked for, or one of the
// usual names in the format.
func (o *Options) isLabel(member string, usual ...string) bool {
	if o.Label != "" {
		return member == o.Label
	}
	return slices.Contains(usual, member)
}

// Open returns the index of shards that lie in a place, in the order in which they are
// named. It returns soon after ctx ends.
//
// A shard without samples, one that is cut off, one that the index file beside it does not
// belong to, and samples that come twice are errors that name the shard. What is wrong
// with one sample is kept in the index, and fails that sample alone.
func Open(ctx context.Context, place fs.FS, shards []string, o Options) (*Index, error) {
	f, err := common(shards)
	switch {
	case err != nil:
		return nil, err
	case f == nil:
		return nil, errors.New("no shards are named")
	}
	objects, err := describe(place, shards)
	if err != nil {
		return nil, err
	}
	if x, err := stored(ctx, place, objects, &o); x != nil || err != nil {
		return x, err
	}
	kept := storage.Keep(place, 64)
	_, remote := place.(storage.RangeReader)
	if files, ok := kept.(*storage.Kept); ok && !remote { // otherwise they are the caller's
		defer files.Close()
	}
	x, err := scan(ctx, place, kept, f, objects, &o)
	if err != nil {
		return nil, err
	}
	x.asked = o.Label
	if !o.Repeats {
		if err := x.refuseRepeats(ctx, kept); err != nil {
			return nil, err
		}
	}
	return x, o.store(x, objects, remote)
}

// describe says what shards are.
func describe(place fs.FS, shards []string) ([]Object, error) {
	objects := make([]Object, len(shards))
	seen := make(map[string]bool, len(shards))
	for i, name := range shards {
		if seen[name] {
			return nil, fmt.Errorf("%s is named twice; name each shard once", printable.Name(name))
		}
		seen[name] = true
		info, err := fs.Stat(place, name)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is no regular file; name shards", printable.Name(name))
		}
		objects[i] = Object{name, info.Size(), info.ModTime()}
	}
	return objects, nil
}

// scan makes the index shard by shard, several at a time.
func scan(ctx context.Context, place fs.FS, kept storage.RangeReader, f *format, objects []Object, o *Options) (*Index, error) {
	size := windowBytes
	if _, remote := place.(storage.RangeReader); remote {
		size = remoteWindowBytes
	}
	parts := make([]*Index, len(objects))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(4, runtime.GOMAXPROCS(0)))
	var mu sync.Mutex
	done := 0
	for i := range objects {
		group.Go(func() (err error) {
			parts[i], err = scanOne(newWindow(ctx, kept, objects[i], size), f, o)
			mu.Lock()
			defer mu.Unlock()
			done++
			if o.Progress != nil {
				o.Progress(done, len(objects))
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var all Builder
	for i, p := range parts {
		if err := all.Append(p); err != nil {
			return nil, err
		}
		parts[i] = nil
	}
	return all.Index(), nil
}

// scanOne makes the index of one shard.
func scanOne(w *window, f *format, o *Options) (*Index, error) {
	var b Builder
	if f.framed {
		b.Framed()
	}
	b.Object(w.object)
	if w.object.Size == 0 {
		return nil, fmt.Errorf("%s is empty: it has 0 bytes; remove it, or write it again", printable.Name(w.object.Name))
	}
	found := false
	var err error
	if f.beside != nil && !o.Fresh {
		found, err = f.beside(w, &b, o)
	}
	if !found && err == nil {
		err = f.scan(w, &b, o)
	}
	if err != nil {
		return nil, err
	}
	x := b.Index()
	if x.Len() == 0 {
		return nil, fmt.Errorf("%s holds no samples; remove it, or write it again", printable.Name(w.object.Name))
	}
	return x, nil
}

// older reports whether an index file was written before what it is of. Places that do
// not know times have none to compare.
func older(indexed, of time.Time) bool {
	return !indexed.IsZero() && !of.IsZero() && indexed.Before(of)
}

// sameShards reports whether an index is of these shards, in this order, unchanged.
func (x *Index) sameShards(objects []Object) bool {
	return slices.EqualFunc(x.objects, objects, func(a, b Object) bool {
		return a.Name == b.Name && a.Size == b.Size && a.Modified.Equal(b.Modified)
	})
}
