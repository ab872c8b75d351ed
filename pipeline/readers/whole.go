package readers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/planktonml/plankton/pipeline/datum"
)

const (
	maxFileBytes = math.MaxInt32 - 1
	readBytes    = 4 << 20 // read at a time, so that a cancelled read ends soon
)

// readWhole makes t the bytes of a file of the machine.
func readWhole(ctx context.Context, name []byte, t *datum.Tensor) error {
	f, err := openHandle(name)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer f.close()
	size, err := f.size()
	if err != nil {
		return err
	}
	if err := checkSize(size); err != nil {
		return err
	}
	return readSized(ctx, f, int(size), t)
}

// checkSize returns an error for a file of a size that no sample has.
func checkSize(size int64) error {
	switch {
	case size == 0:
		return errors.New("the file is empty")
	case size > maxFileBytes:
		return fmt.Errorf("the file has %d bytes; a sample can have %d", size, maxFileBytes)
	}
	return nil
}

// readerAt reads a file; 0 bytes are the end of it.
type readerAt interface {
	readAt(mem []byte, offset int64) (int, error)
}

// readSized makes t the bytes of a file that is said to have so many.
func readSized[F readerAt](ctx context.Context, f F, size int, t *datum.Tensor) error {
	// One byte more than there should be tells the end of the file from a file
	// that has grown without another system call.
	mem, err := t.Resize(size + 1)
	if err != nil {
		return err
	}
	n, err := readToEnd(ctx, f, mem)
	switch {
	case err != nil:
		return err
	case n < size:
		return fmt.Errorf("the file ends after %d of its %d bytes: it was changed while it was read", n, size)
	case n > size:
		return fmt.Errorf("the file has more than its %d bytes: it was changed while it was read", size)
	}
	_, err = t.Resize(n)
	return err
}

// readToEnd reads until mem is full or the file is over. A read that falls
// short is the end of the file where only mem's last byte is missing; elsewhere
// it may have been interrupted.
func readToEnd[F readerAt](ctx context.Context, f F, mem []byte) (n int, err error) {
	for n < len(mem) {
		if ctx.Err() != nil {
			return n, context.Cause(ctx)
		}
		want := min(readBytes, len(mem)-n)
		got, err := f.readAt(mem[n:n+want], int64(n))
		if err != nil {
			return n, fmt.Errorf("read at byte %d: %w", n, err)
		}
		n += got
		if got == 0 || got < want && n == len(mem)-1 {
			break
		}
	}
	return n, nil
}

// notRegular says what is in the place of a file.
func notRegular(mode fs.FileMode) error {
	if mode.IsDir() {
		return errors.New("a folder is in the place of the file")
	}
	return fmt.Errorf("not a regular file (%s)", mode)
}
