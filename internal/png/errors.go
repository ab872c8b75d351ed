package png

import (
	"errors"
	"fmt"
	"io"
)

// ErrTooLarge is wrapped by the errors for files with more pixels than
// [Decoder.MaxPixels].
var ErrTooLarge = errors.New("PNG exceeds a limit")

// A FormatError reports a file that is damaged, cut short or no PNG at all. A file
// that is cut short is an io.ErrUnexpectedEOF too.
type FormatError struct {
	Offset int   // position in the file at which it was noticed, in bytes; of compressed data, how far they were read
	Err    error // what was found there, or what is missing
}

// Error says where the file is damaged and what was found.
func (e *FormatError) Error() string { return fmt.Sprintf("png: byte %d: %v", e.Offset, e.Err) }

// Unwrap returns Err.
func (e *FormatError) Unwrap() error { return e.Err }

func formatErrorf(offset int, format string, args ...any) error {
	return &FormatError{Offset: offset, Err: fmt.Errorf(format, args...)}
}

func cutShort(offset int) error {
	return formatErrorf(offset, "the file is cut short: %w", io.ErrUnexpectedEOF)
}
