package parquet

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"runtime"
	"strings"
	"time"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
	"golang.org/x/sync/errgroup"

	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/storage"
)

// file is an open Parquet file: its footer.
type file struct {
	name     string
	size     int64
	modified time.Time
	meta     *format.FileMetaData
	leaves   []*leaf
	root     *node
	rows     int64
}

// footerReads is how many footers are read at a time: on network storage each waits for
// its answer.
const footerReads = 16

// openFiles reads the footers of files. Of several that are wrong the first one is named.
func openFiles(ctx context.Context, place storage.RangeReader, names []string) ([]*file, error) {
	files := make([]*file, len(names))
	return files, each(len(names), func(i int) (err error) {
		files[i], err = openFile(ctx, place, names[i])
		if err != nil {
			return fmt.Errorf("%s: %w", printable.Name(names[i]), cause(err))
		}
		return nil
	})
}

// each calls do for 0 to n-1, several at a time, and returns the first error in that order.
func each(n int, do func(i int) error) error {
	var group errgroup.Group
	group.SetLimit(max(footerReads, runtime.GOMAXPROCS(0)))
	failed := make([]error, n)
	for i := range n {
		group.Go(func() error {
			failed[i] = do(i)
			return nil
		})
	}
	_ = group.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

func openFile(ctx context.Context, place storage.RangeReader, name string) (f *file, err error) {
	info, err := fs.Stat(place, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("not a regular file (%s)", info.Mode().Type())
	}
	f = &file{name: name, size: info.Size(), modified: info.ModTime()}
	if err := f.checkEnds(ctx, place); err != nil {
		return nil, err
	}
	defer func() {
		if v := recover(); v != nil { // the library panics at footers that contradict themselves
			f, err = nil, fmt.Errorf("the footer is damaged: %v", v)
		}
	}()
	opened, err := pq.OpenFile(&section{ctx, place, name}, f.size, pq.SkipPageIndex(true), pq.SkipBloomFilters(true), pq.OptimisticRead(true), pq.ReadBufferSize(footerGuess))
	if err != nil {
		return nil, fmt.Errorf("the footer cannot be read: %w", err)
	}
	f.meta = opened.Metadata()
	if f.root, f.leaves, err = schemaOf(f.meta); err != nil {
		return nil, err
	}
	return f, f.countRows()
}

// footerGuess is how much of the end of a file is read at first, in the hope that it is
// the footer.
const footerGuess = 64 << 10

// magic is at both ends of a file.
const magic = "PAR1"

// checkEnds tells a file that was cut off, and what is no Parquet file at all, apart.
func (f *file) checkEnds(ctx context.Context, place storage.RangeReader) error {
	if f.size == 0 {
		return errors.New("the file is empty")
	}
	var ends [12]byte
	head, tail := ends[:4], ends[4:]
	if f.size >= int64(len(ends)) {
		if err := storage.ReadRange(ctx, place, f.name, 0, head); err != nil {
			return err
		}
		if err := storage.ReadRange(ctx, place, f.name, f.size-int64(len(tail)), tail); err != nil {
			return err
		}
	}
	switch first, last := string(head), string(tail[4:]); {
	case first == "PARE" || last == "PARE":
		return errors.New("the file is encrypted; write it without encryption")
	case first == magic && last != magic:
		return fmt.Errorf("the file has no footer at its end, byte %d: it was cut off; copy or write it again", f.size)
	case first != magic || last != magic:
		return fmt.Errorf("no Parquet file: it begins with %q; want %q", head, magic)
	}
	if n := int64(binary.LittleEndian.Uint32(tail)); n > f.size-int64(len(ends)) {
		return fmt.Errorf("the footer is to have %d bytes, the file has %d: it was cut off, or is damaged; copy or write it again", n, f.size)
	}
	return nil
}

// countRows adds the row groups up, and refuses those that contradict the file.
func (f *file) countRows() error {
	for i := range f.meta.RowGroups {
		g := &f.meta.RowGroups[i]
		if g.NumRows < 0 || len(g.Columns) != len(f.leaves) {
			return fmt.Errorf("the footer is damaged: row group %d has %d rows and %d columns, the schema has %d", i, g.NumRows, len(g.Columns), len(f.leaves))
		}
		f.rows += g.NumRows
		for k := range g.Columns {
			c := &g.Columns[k]
			if c.FilePath != "" {
				return fmt.Errorf("row group %d is in the file %s; only files that have their data themselves can be read", i, printable.Name(c.FilePath))
			}
			m := &c.MetaData
			if from := start(m); from < 4 || m.TotalCompressedSize < 0 || from > f.size || m.TotalCompressedSize > f.size-from {
				return fmt.Errorf("row group %d is to lie in bytes %d to %d, the file has %d: it was cut off, or is damaged; copy or write it again", i, from, from+m.TotalCompressedSize, f.size)
			}
		}
	}
	return nil
}

// start returns where a column chunk begins.
func start(m *format.ColumnMetaData) int64 {
	if at := m.DictionaryPageOffset; at > 0 && at < m.DataPageOffset {
		return at
	}
	return m.DataPageOffset
}

// section is a file as the library reads it while it is opened.
type section struct {
	ctx   context.Context
	place storage.RangeReader
	name  string
}

func (s *section) ReadAt(p []byte, off int64) (int, error) {
	if err := storage.ReadRange(s.ctx, s.place, s.name, off, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// cause returns the error of a call of the system without the path, which messages name
// themselves.
func cause(err error) error {
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// list returns the Parquet files of a folder, in the order of their names.
func list(place fs.FS, root, shown string) ([]string, error) {
	entries, err := fs.ReadDir(place, root)
	if err != nil {
		return nil, fmt.Errorf("Root %s: %w", printable.Name(shown), cause(err))
	}
	var names []string
	for _, e := range entries {
		if name := e.Name(); !e.IsDir() && !strings.HasPrefix(name, ".") && strings.EqualFold(path.Ext(name), ".parquet") {
			names = append(names, path.Join(root, name))
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("Root %s holds no .parquet files; give the folder that they lie in, or name them in Files", printable.Name(shown))
	}
	return names, nil
}

var _ io.ReaderAt = (*section)(nil)
