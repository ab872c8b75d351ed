// Package dataset opens whatever lies under the name that a user gives, as programs take it
// by a flag: a folder of pictures, shards, or a URL of one of these. The readers are those
// of package readers; this package recognises what is there.
//
// It knows folders of pictures and the shards that package index knows, on the machine. A
// program adds what else it wants to open, and imports nothing beside that:
//
//	d, err := dataset.Open(ctx, name, dataset.Options{
//		Schemes: map[string]dataset.Scheme{"s3": s3.OpenURL},
//		Formats: map[string]dataset.Format{".parquet": parquet.OpenShards},
//	})
package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/internal/readdir"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/storage"
	"github.com/planktonml/plankton/storage/cache"
	"github.com/planktonml/plankton/storage/index"
)

// Options says how data are opened. The zero value is ready for use.
type Options struct {
	Schemes map[string]Scheme // by what stands in front of "://", such as "s3"
	Formats map[string]Format // by the endings of files' names, such as ".parquet"

	ReadAhead int    // as [readers.FileOptions] has it
	LookAhead int64  // likewise, for data in a bucket or on the web
	Requests  int    // likewise
	Cache     string // folder in which indexes of shards are kept; "" for none

	// Keep says where what is read from a place that a URL leads to is kept on this
	// machine; without a Dir nowhere.
	Keep cache.Options

	// Progress is told how many shards have been looked at; nil for nobody.
	Progress func(done, shards int)
}

// A Scheme opens the place that a URL names, such as a bucket: "." is what the URL names.
// The place is for as long as ctx. Where it is an [io.Closer], [Data.Close] closes it.
type Scheme func(ctx context.Context, url string) (fs.FS, error)

// A Format opens files of a format that package index does not know: those of the names
// in the folder root of a place, or of the machine where place is nil. Their outputs are the
// encoded picture and the label. Where the source is an [io.Closer], [Data.Close] closes it.
type Format func(ctx context.Context, place fs.FS, root string, files []string) (datum.Source, error)

// Folder is the format of a folder of pictures.
const Folder = "folder"

// Data is a data set that was recognised. Its fields are for reading.
type Data struct {
	Format string   // Folder, "tar", "tfrecord", …, "parquet": the ending of Options.Formats
	Place  fs.FS    // nil for a folder of the machine
	Root   string   // that folder, "." in a Place
	Shards []string // in the place, in their order; none in a folder

	// Index says where the samples lie; nil in a folder and in formats without one.
	Index *index.Index

	options *Options
	read    reader
	owned   []io.Closer // the one opened last is closed first
	cache   *cache.Cache
}

// reader adds a reader of pictures to a graph.
type reader func(g *pipeline.Graph, o pipeline.ReaderOptions) (encoded, label pipeline.Value)

// Read adds a reader of the data: the encoded picture, uint8 with one dimension, and the
// label, an int32 scalar. Without classes all labels are 0. It may be called for several
// pipelines.
func (d *Data) Read(g *pipeline.Graph, o pipeline.ReaderOptions) (encoded, label pipeline.Value) {
	return d.read(g, o)
}

// Close closes what Open opened: files that stay open, the cache and the place. Close
// what reads the data before: reading what is not in memory is an error from then on. It may
// be called twice, and of a nil Data.
func (d *Data) Close() error {
	if d == nil {
		return nil
	}
	var errs []error
	for _, c := range slices.Backward(d.owned) {
		errs = append(errs, c.Close())
	}
	d.owned = nil
	return errors.Join(errs...)
}

// own adds what Close closes, if it can be closed.
func (d *Data) own(x any) {
	if c, ok := x.(io.Closer); ok {
		d.owned = append(d.owned, c)
	}
}

// Traffic returns what has been asked of the server so far; false where there is none.
func (d *Data) Traffic() (storage.Traffic, bool) {
	if d == nil {
		return storage.Traffic{}, false
	}
	c, ok := d.Place.(storage.Counted)
	if !ok {
		return storage.Traffic{}, false
	}
	return c.Traffic(), true
}

// CacheStats returns what the cache did so far; false where there is none.
func (d *Data) CacheStats() (cache.Stats, bool) {
	if d == nil || d.cache == nil {
		return cache.Stats{}, false
	}
	return d.cache.Stats(), true
}

// Open opens a data set: a folder of pictures, flat or one folder per class, a folder of
// shards, one shard, or a URL of one of these. Close it when nothing reads it any more.
// Ctx is that of the place, too: it ends when the program is done with the data.
//
// It is an error if the files are shards of two formats, if one is compressed as a whole,
// and if the URL has a scheme that is not in Options.Schemes.
func Open(ctx context.Context, data string, o Options) (_ *Data, err error) {
	d := &Data{Format: Folder, Root: data, options: &o}
	defer func() {
		if err == nil {
			return
		}
		if closing := d.Close(); closing != nil {
			err = errors.Join(err, closing)
		}
	}()
	if err := d.find(ctx, data); err != nil {
		return nil, err
	}
	if o.Keep.Dir != "" {
		if err := d.keep(ctx, o.Keep); err != nil {
			return nil, err
		}
	}
	if d.Format == Folder {
		d.read = d.readFolder
		return d, nil
	}
	if open := o.Formats["."+d.Format]; open != nil {
		err = d.openFormat(ctx, open)
	} else {
		err = d.openIndexed(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", printable.Name(data), err)
	}
	return d, nil
}

// openFormat opens shards by a format of the options.
func (d *Data) openFormat(ctx context.Context, open Format) error {
	src, err := open(ctx, d.Place, d.Root, d.Shards)
	if err != nil {
		return err
	}
	d.own(src)
	d.read = func(g *pipeline.Graph, o pipeline.ReaderOptions) (encoded, label pipeline.Value) {
		v := g.Read(o, src)
		return v[0], v[1]
	}
	return nil
}

// keep puts a cache before the place.
func (d *Data) keep(ctx context.Context, o cache.Options) (err error) {
	place, ok := d.Place.(storage.Versioned)
	if !ok {
		return fmt.Errorf("a cache is for data in a bucket or on the web; %s is on this machine", printable.Name(d.Root))
	}
	if d.cache, err = cache.Open(ctx, place, o); err != nil {
		return err
	}
	d.own(d.cache)
	d.Place = d.cache
	return nil
}

// find says where data are and what they are.
func (d *Data) find(ctx context.Context, data string) error {
	scheme, _, isURL := strings.Cut(data, "://")
	if isURL {
		open := d.options.Schemes[scheme]
		if open == nil {
			return fmt.Errorf("%s: there is no scheme %q; give a folder%s", printable.Name(data), scheme, d.options.known())
		}
		place, err := open(ctx, data)
		if err != nil {
			return err
		}
		d.own(place)
		d.Place, d.Root = place, "."
	}
	return d.recognise()
}

// recognise looks for shards: the data are one, or a folder of them.
func (d *Data) recognise() error {
	if d.Place == nil {
		info, err := os.Stat(d.Root)
		if err != nil {
			return nil // the reader of folders says what is wrong
		}
		if info.Mode().IsRegular() {
			return d.single()
		}
		var names []string
		err = readdir.Each(d.Root, func(name []byte, kind fs.FileMode) {
			if name := string(name); d.candidate(name, kind) {
				names = append(names, name)
			}
		})
		if err != nil {
			return nil // likewise
		}
		return d.take(names)
	}
	entries, err := fs.ReadDir(d.Place, ".")
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		if d.candidate(e.Name(), e.Type()) {
			names = append(names, e.Name())
		}
	}
	return d.take(names)
}

// candidate reports whether a file is a shard, or would be if it was not compressed.
func (d *Data) candidate(name string, kind fs.FileMode) bool {
	return !kind.IsDir() && !strings.HasPrefix(name, ".") && (d.options.formatOf(name) != "" || index.RefuseCompressed(name) != nil)
}

// single takes a file of the machine for the only shard.
func (d *Data) single() error {
	dir, name := filepath.Split(d.Root)
	if err := d.take([]string{name}); err != nil || d.Format == Folder {
		return err
	}
	d.Root = cmp.Or(dir, ".")
	return nil
}

// take makes the files that are shards those of the data, if there are any.
func (d *Data) take(names []string) error {
	slices.Sort(names)
	for _, name := range names {
		if err := index.RefuseCompressed(name); err != nil {
			return err
		}
		f := d.options.formatOf(name)
		if f == "" {
			continue
		}
		if len(d.Shards) > 0 && f != d.Format {
			return fmt.Errorf("%s and %s are shards of two formats; keep them in folders of their own", printable.Name(d.Shards[0]), printable.Name(name))
		}
		d.Format = f
		d.Shards = append(d.Shards, name)
	}
	return nil
}

// formatOf returns the format of a file by its name, "" for no shard.
func (o *Options) formatOf(name string) string {
	lower := strings.ToLower(path.Base(name))
	for ending := range o.Formats {
		if strings.HasSuffix(lower, ending) {
			return strings.TrimPrefix(ending, ".")
		}
	}
	return index.Format(lower)
}

// known lists the schemes for a message.
func (o *Options) known() string {
	var names []string
	for name := range o.Schemes {
		names = append(names, name+"://…")
	}
	slices.Sort(names)
	return strings.Join(append([]string{""}, names...), ", or ")
}
