package readers

import "fmt"

// FormatError is a file whose content is not what it should be.
type FormatError struct {
	Path   string
	Line   int   // of a text file, from 1; 0 in other files
	Offset int64 // in a binary file, in bytes from the start of its uncompressed data
	Err    error
}

func (e *FormatError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s: line %d: %v", e.Path, e.Line, e.Err)
	}
	return fmt.Sprintf("%s: byte %d: %v", e.Path, e.Offset, e.Err)
}

func (e *FormatError) Unwrap() error { return e.Err }
