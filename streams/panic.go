package streams

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// PanicError is the error of work, a kernel, an operator or a reader that panicked, here
// and in the packages that run them.
type PanicError struct {
	Value any    // what panic was called with; nil if the goroutine was ended by runtime.Goexit
	File  string // of the program's function that panicked, or that called what panicked; "" where there is none
	Line  int
	Stack []byte // of the goroutine that panicked
}

func (e *PanicError) Error() string {
	if e.Value == nil {
		return "the goroutine was ended by runtime.Goexit"
	}
	if e.File == "" {
		return fmt.Sprintf("panic: %v", e.Value)
	}
	return fmt.Sprintf("panic: %v (%s:%d)", e.Value, e.File, e.Line)
}

// Unwrap returns the value of the panic if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// NewPanicError makes an error of what recover returned; nil stands for runtime.Goexit. It
// is to be called by the deferred function that recovers, whose stack still has that of
// the panic below it.
func NewPanicError(v any) *PanicError {
	if e, ok := v.(*PanicError); ok {
		return e // raised again on another goroutine
	}
	e := &PanicError{Value: v, Stack: debug.Stack()}
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	panicked := false
	var library string // the folder of the standard library's files, as they are named in the stack
	for more := true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); f.Function == "runtime.gopanic" {
			library, panicked = strings.TrimSuffix(f.File, "runtime/panic.go"), true
			continue
		}
		if panicked && f.File != "" && !fromLibrary(f, library) {
			e.File, e.Line = f.File, f.Line
			break
		}
	}
	return e
}

// module is what the names of this module's functions begin with.
const module = "github.com/planktonml/plankton/"

// fromLibrary reports whether a function is one of the standard library or of
// plankton's packages, and not of a program that uses them.
func fromLibrary(f runtime.Frame, library string) bool {
	if own, ok := strings.CutPrefix(f.Function, module); ok {
		top, _, _ := strings.Cut(own, "/")
		return top != "examples" && !strings.HasSuffix(f.File, "_test.go")
	}
	if library != "" {
		return strings.HasPrefix(f.File, library)
	}
	// A program built with -trimpath: packages of the standard library have no dot in
	// the first part of their path.
	first, _, _ := strings.Cut(f.File, "/")
	return !strings.Contains(first, ".") && !strings.HasPrefix(f.Function, "main.")
}
