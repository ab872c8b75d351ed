package jpeg

import (
	"errors"
	"fmt"
)

// ErrUnsupported is wrapped by the errors for files that are JPEG but of a kind
// this package does not read; the message names the kind.
var ErrUnsupported = errors.New("unsupported JPEG feature")

// ErrTooLarge is wrapped by the errors for files that exceed the [Limits].
var ErrTooLarge = errors.New("JPEG exceeds a limit")

// A FormatError reports a file that is damaged, cut short or no JPEG at all.
type FormatError struct {
	Offset int    // position in the file at which it was noticed, in bytes
	What   string // what was found there, or what is missing

	// Decodable says that a decoder which is Tolerant goes past this place.
	Decodable bool
}

// Error says where the file is damaged and what was found.
func (e *FormatError) Error() string {
	return fmt.Sprintf("jpeg: byte %d: %s", e.Offset, e.What)
}

func formatErrorf(offset int, format string, args ...any) error {
	return &FormatError{Offset: offset, What: fmt.Sprintf(format, args...)}
}

func unsupported(what string) error {
	return fmt.Errorf("jpeg: %w: %s", ErrUnsupported, what)
}
