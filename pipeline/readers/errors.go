package readers

import (
	"fmt"

	"github.com/planktonml/plankton/internal/printable"
)

// FormatError is a file whose content is not what it should be.
type FormatError struct {
	Path   string
	Line   int   // of a text file, from 1; 0 in other files
	Offset int64 // in a binary file, in bytes from the start of its uncompressed data
	Err    error
}

func (e *FormatError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s: line %d: %s", shown(e.Path), e.Line, printable.Line(e.Err.Error()))
	}
	return fmt.Sprintf("%s: byte %d: %s", shown(e.Path), e.Offset, printable.Line(e.Err.Error()))
}

func (e *FormatError) Unwrap() error { return e.Err }
