package imaging

import "fmt"

// ArgumentError reports an argument that an operator cannot work with.
type ArgumentError struct {
	Op   string // name of the operator, as in "crop"
	What string // what was given, what was expected and what to do
}

// Error implements error.
func (e *ArgumentError) Error() string { return e.Op + ": " + e.What }

func badArgument(op, format string, args ...any) error {
	return &ArgumentError{Op: op, What: fmt.Sprintf(format, args...)}
}
