package cuda

import (
	"errors"
	"fmt"

	"github.com/planktonml/plankton/memstats"
)

var (
	// ErrNoDriver is the error of a machine without a usable driver library. Its
	// message says what is missing.
	ErrNoDriver = errors.New("cuda: no driver")
	// ErrNoDevice is the error of a machine without a GPU, or of a number that no
	// GPU has.
	ErrNoDevice = errors.New("cuda: no such device")
	// ErrMemory is the error of memory that is not there, as a *MemoryError.
	ErrMemory = errors.New("cuda: out of memory")
	// ErrModule is the error of code that the driver or the GPU cannot run.
	ErrModule = errors.New("cuda: module cannot be loaded")
	// ErrContext is the error of everything on a device after Abandon.
	ErrContext = errors.New("cuda: the context was destroyed by its maker")
	// ErrHeld is the error of closing a device while memory of it is held.
	ErrHeld = errors.New("cuda: memory of the device is still held")
	// ErrNotCUDA is the error of work that needs a stream of this package and was
	// issued on another one.
	ErrNotCUDA = errors.New("cuda: not a stream of a CUDA device")
)

// Code is a result of the driver, a CUresult.
type Code int32

// The results that the package itself tells apart.
const (
	codeSuccess        Code = 0
	codeOutOfMemory    Code = 2
	codeStubLibrary    Code = 34
	codeNoDevice       Code = 100
	codeInvalidDevice  Code = 101
	codeNoBinary       Code = 209
	codeInvalidPTX     Code = 218
	codeNoCompiler     Code = 221
	codeUnsupportedPTX Code = 222
	codeCompilerOff    Code = 223
	codeNotReady       Code = 600

	codeAbandoned Code = -1 // of no driver: driverContext.ask did not call it
)

// Error is a failed call of the driver. Errors of kernels, such as an address
// that does not exist, come out of a later call. The driver then answers all that
// the process asks of it with the same error, in new contexts, too: close the
// device, and start the program again.
type Error struct {
	Call string // the function, such as "cuMemAlloc_v2"
	Code Code
	Name string // such as "CUDA_ERROR_OUT_OF_MEMORY"
	Text string // what the driver says about it
}

func (e *Error) Error() string {
	return fmt.Sprintf("cuda: %s: %s (%s, %d)", e.Call, e.Text, e.Name, e.Code)
}

// Is maps results to the errors of this package.
func (e *Error) Is(target error) bool {
	switch e.Code {
	case codeStubLibrary:
		return target == ErrNoDriver
	case codeNoDevice, codeInvalidDevice:
		return target == ErrNoDevice
	case codeOutOfMemory:
		return target == ErrMemory
	case codeNoBinary, codeInvalidPTX, codeUnsupportedPTX, codeNoCompiler, codeCompilerOff:
		return target == ErrModule
	}
	return false
}

// MemoryError says that memory was asked for and is not there. What was
// allocated before stays valid.
type MemoryError struct {
	Kind  memstats.Kind
	Asked int64 // bytes
	Free  int64 // bytes that the device had left; of page-locked memory only the system knows
	Total int64 // bytes of the device
	Err   error // of the driver
}

func (e *MemoryError) Error() string {
	if e.Kind == memstats.PageLocked {
		return fmt.Sprintf("cuda: %d bytes of page-locked memory were asked for and the system has none to lock: use smaller or fewer batches, or raise the limit (ulimit -l): %v", e.Asked, e.Err)
	}
	return fmt.Sprintf("cuda: %d bytes of %v memory were asked for, %d of %d are free: use smaller or fewer batches, or end what else uses the GPU: %v", e.Asked, e.Kind, e.Free, e.Total, e.Err)
}

// Unwrap returns the driver's error.
func (e *MemoryError) Unwrap() error { return e.Err }
