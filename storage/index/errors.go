package index

import (
	"fmt"

	"github.com/planktonml/plankton/internal/printable"
)

// FormatError is a file whose content is not what it should be.
type FormatError struct {
	Path   string
	Offset int64 // in bytes from the start of the file
	Err    error
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s: byte %d: %s", printable.Name(e.Path), e.Offset, printable.Line(e.Err.Error()))
}

func (e *FormatError) Unwrap() error { return e.Err }
