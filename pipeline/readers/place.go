package readers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/storage"
)

// remote returns the place of the files if it is asked for ranges, else nil.
func (s *fileSource) remote() storage.RangeReader {
	place, _ := s.place.(storage.RangeReader)
	return place
}

// object returns the name that file i has in a place.
func (s *fileSource) object(i int) string { return s.root + s.files.path(i) }

// readPlace reads file i of a place, and its label.
func (s *fileSource) readPlace(ctx context.Context, from ranges, i int, out []*datum.Tensor) error {
	label, size := s.files.about(i)
	if err := s.readObject(ctx, from, s.object(i), size, out[0]); err != nil {
		return err
	}
	return putLabel(out[1], label)
}

// readObject makes t the bytes of a file of a place, which are read from a range of it where
// the place has ranges. The size is -1 where it is not known.
func (s *fileSource) readObject(ctx context.Context, from ranges, name string, size int64, t *datum.Tensor) error {
	if from.place == nil {
		return readOpened(ctx, s.place, name, t)
	}
	if size < 0 {
		info, err := fs.Stat(s.place, name)
		if err != nil {
			return err
		}
		size = info.Size()
	}
	if err := checkSize(size); err != nil {
		return err
	}
	mem, err := t.Resize(int(size))
	if err != nil {
		return err
	}
	return from.read(ctx, name, 0, mem)
}

// readOpened reads a file of a place that opens files.
func readOpened(ctx context.Context, place fs.FS, name string, t *datum.Tensor) error {
	f, err := place.Open(name)
	if err != nil {
		return fmt.Errorf("open: %w", cause(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return notRegular(info.Mode().Type())
	}
	if err := checkSize(info.Size()); err != nil {
		return err
	}
	return readSized(ctx, opened{f}, int(info.Size()), t)
}

// opened is a file of a place that is read from its beginning.
type opened struct{ f fs.File }

func (o opened) readAt(mem []byte, _ int64) (int, error) {
	n, err := io.ReadFull(o.f, mem)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, err
}
