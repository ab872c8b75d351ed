package parquet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/planktonml/plankton/internal/meter"
	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/storage"
)

// Options says what [Open] and [Read] read. Root, FS or both must be given.
type Options struct {
	// Root is a folder of .parquet files, which are read in the order of their names, or
	// one file. With FS it is a path in there, default ".".
	Root string

	// FS is the place of the files, such as an embed.FS or a bucket; default the file
	// system of the machine. Files are read by parts: see package storage.
	FS fs.FS

	// Files names files below Root one by one, in the order in which they are to be read.
	Files []string

	// Columns are the outputs. Default a picture and its label.
	Columns []readers.Field

	// Unlabelled gives pictures without a column of labels the label 0, where Columns
	// leaves the choice open. Without it such a table has one output.
	Unlabelled bool

	// CacheBytes bounds the decoded pages that are kept; default 256 MiB. Half as much more
	// may be memory of pages that were dropped, for the next ones, and each worker may have
	// one page more for every column.
	CacheBytes int64
}

// defaultCacheBytes holds two row groups of a thousand pictures.
const defaultCacheBytes = 256 << 20

// Read adds a reader of Parquet files to a pipeline and returns its columns, in the order
// of Options.Columns. A mistake comes out of pipeline.New.
func Read(g *pipeline.Graph, r pipeline.ReaderOptions, o Options) []pipeline.Value {
	none := make([]pipeline.Value, max(2, len(o.Columns)))
	if g.Err() != nil {
		return none
	}
	src, err := Open(context.Background(), o) // building a pipeline has no context of its own
	if err != nil {
		name := r.Name
		if name == "" {
			name = "parquet.Read"
		}
		g.Fail(name, err)
		return none
	}
	return g.Read(r, src)
}

// Open opens Parquet files for [pipeline.Graph.Read]: it reads their footers, and the
// columns of labels. It returns soon after ctx ends.
func Open(ctx context.Context, o Options) (*Source, error) {
	s := &Source{}
	names, err := s.locate(&o)
	if err != nil {
		return nil, err
	}
	if s.files, err = openFiles(ctx, s.place, names); err != nil {
		return nil, err
	}
	switch {
	case o.CacheBytes < 0:
		return nil, fmt.Errorf("CacheBytes is %d; it must be positive, or 0 for the default", o.CacheBytes)
	case o.CacheBytes == 0:
		o.CacheBytes = defaultCacheBytes
	}
	s.cache = newCache(o.CacheBytes)
	if err := s.choose(&o); err != nil {
		return nil, err
	}
	if err := s.addGroups(); err != nil {
		return nil, err
	}
	if s.rows == 0 {
		return nil, fmt.Errorf("%s has no rows; give files with rows", printable.Name(s.files[0].name))
	}
	if err := s.readLabels(ctx); err != nil {
		return nil, err
	}
	s.describe()
	return s, nil
}

// OpenShards opens the pictures and labels of files for a dataset.Format: those that root
// names in a place or, where it is nil, on the machine.
func OpenShards(ctx context.Context, place fs.FS, root string, files []string) (datum.Source, error) {
	o := Options{FS: place, Files: files, Unlabelled: true}
	if place == nil {
		o.Root = root
	}
	src, err := Open(ctx, o)
	if err != nil {
		return nil, err // and not a Source that is nil
	}
	return src, nil
}

// Close closes the files that the source keeps open; see [storage.Kept]. Reading rows
// that are not in memory is an error from then on. Without it the runtime closes them at some time.
func (s *Source) Close() error {
	if kept, ok := s.place.(*storage.Kept); ok && !s.remote {
		return kept.Close()
	}
	return nil
}

// keptFiles is how many files stay open.
const keptFiles = 128

// locate finds the place and the names of the files.
func (s *Source) locate(o *Options) ([]string, error) {
	place, root := o.FS, o.Root
	switch {
	case o.FS == nil && o.Root == "":
		return nil, errors.New("neither Root nor FS is given; name the folder of the .parquet files, or a file")
	case o.FS == nil:
		abs, err := filepath.Abs(o.Root)
		if err != nil {
			return nil, fmt.Errorf("Root: %w", err)
		}
		if info, err := os.Stat(abs); err == nil && info.Mode().IsRegular() && o.Files == nil {
			abs, root = filepath.Split(abs)
			o.Files = []string{root}
		}
		place, root, s.machine = os.DirFS(abs), ".", true
		s.shown = abs
		if !os.IsPathSeparator(abs[len(abs)-1]) {
			s.shown += string(filepath.Separator)
		}
	case o.Root == "":
		root = "."
	case !fs.ValidPath(o.Root):
		return nil, fmt.Errorf("Root %s is no path of an fs.FS: give one with slashes, not rooted and without \"..\"", printable.Name(o.Root))
	}
	if info, err := fs.Stat(place, root); o.FS != nil && o.Files == nil && err == nil && info.Mode().IsRegular() {
		s.keep(place)
		return []string{root}, nil
	}
	if root != "." {
		var err error
		if place, err = fs.Sub(place, root); err != nil {
			return nil, fmt.Errorf("Root: %w", err)
		}
		s.shown = root + "/"
	}
	s.keep(place)
	if o.Files == nil {
		return list(place, ".", o.Root)
	}
	seen := map[string]bool{}
	for i, name := range o.Files {
		if !fs.ValidPath(name) || seen[name] {
			return nil, fmt.Errorf("Files[%d] is %s; want the path of a file below Root, with slashes, once", i, printable.Name(name))
		}
		seen[name] = true
	}
	return o.Files, nil
}

func (s *Source) keep(place fs.FS) {
	_, s.remote = place.(storage.RangeReader)
	s.place = meter.Watch(storage.Keep(place, keptFiles))
}

// addGroups lists the row groups of all files, and their column chunks.
func (s *Source) addGroups() error {
	for i, f := range s.files {
		chosen := make([]*leaf, len(s.fields))
		for k := range s.fields {
			own := &s.fields[k]
			if own.leaf == nil {
				continue
			}
			l, err := find(f.leaves, own.leaf.name)
			if err != nil {
				return fmt.Errorf("%s: %w", printable.Name(f.name), err)
			}
			if l.dtype != own.leaf.dtype || l.size != own.leaf.size || l.maxRep != own.leaf.maxRep {
				return fmt.Errorf("%s: column %s, in %s it is %s; write the files alike", printable.Name(f.name), l.describe(), printable.Name(s.files[0].name), own.leaf.spec())
			}
			chosen[k] = l
		}
		for place := range f.meta.RowGroups {
			g := &f.meta.RowGroups[place]
			if g.NumRows == 0 {
				continue
			}
			s.groups = append(s.groups, group{file: i, place: place, first: s.rows, rows: g.NumRows})
			s.rows += g.NumRows
			for _, l := range chosen {
				c := chunk{file: f, group: place, leaf: l, rows: g.NumRows}
				if l != nil {
					c.meta = &g.Columns[l.index]
				}
				s.chunks = append(s.chunks, c)
			}
		}
	}
	s.found = make([]slot, len(s.chunks))
	return nil
}

// Group is a row group: rows that lie together and are best read together.
type Group struct {
	File  string
	First int64 // row of the data set
	Rows  int64
	Bytes int64 // of the chosen columns, compressed
}

// Groups returns the row groups in the order of the rows.
func (s *Source) Groups() []Group {
	all := make([]Group, len(s.groups))
	for i, g := range s.groups {
		all[i] = Group{File: s.files[g.file].name, First: g.first, Rows: g.rows}
		for k := range s.fields {
			if c := &s.chunks[i*len(s.fields)+k]; c.meta != nil {
				all[i].Bytes += c.meta.MetaData.TotalCompressedSize
			}
		}
	}
	return all
}

// Columns lists all columns of the first file with their types, as in "label (int64 scalar)".
func (s *Source) Columns() []string {
	var all []string
	for _, l := range s.files[0].leaves {
		all = append(all, l.describe())
	}
	return all
}

// Block returns the rows of the largest row group: what to give as
// iterator.Options.ShuffleBlock, so that a shuffled order costs hardly more than that of
// the files.
func (s *Source) Block() int64 {
	most := int64(0)
	for _, g := range s.groups {
		most = max(most, g.rows)
	}
	return most
}

var _ datum.Source = (*Source)(nil)
