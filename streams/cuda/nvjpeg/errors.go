package nvjpeg

import (
	"errors"
	"fmt"

	"github.com/planktonml/plankton/streams/cuda"
)

var (
	// ErrNoNVJPEG is the error of a machine without a usable nvJPEG library. Its
	// message says what is missing and where it was looked for.
	ErrNoNVJPEG = errors.New("nvjpeg: no library")
	// ErrBadJPEG is the error of a file that is damaged, cut short or no JPEG.
	ErrBadJPEG = errors.New("nvjpeg: bad JPEG file")
)

// Status is a result of the library, an nvjpegStatus_t.
type Status int32

const (
	success                   Status = 0
	notInitialized            Status = 1
	invalidParameter          Status = 2
	badJPEG                   Status = 3
	jpegNotSupported          Status = 4
	allocatorFailure          Status = 5
	executionFailed           Status = 6
	archMismatch              Status = 7
	implementationUnsupported Status = 9
	incompleteBitstream       Status = 10
)

var statusText = map[Status]string{
	notInitialized:            "not initialised",
	invalidParameter:          "invalid parameter",
	badJPEG:                   "the file is damaged or no JPEG",
	jpegNotSupported:          "a kind of JPEG that the library does not read",
	allocatorFailure:          "out of memory",
	executionFailed:           "a task on the GPU failed",
	archMismatch:              "the GPU is too old",
	8:                         "internal error",
	implementationUnsupported: "not possible with this backend",
	incompleteBitstream:       "the file is cut short",
}

// Error is a failed call of the library.
type Error struct {
	Call   string // the function, such as "nvjpegDecodeBatched"
	Status Status
}

func (e *Error) Error() string {
	text := statusText[e.Status]
	if text == "" {
		text = "unknown error"
	}
	return fmt.Sprintf("nvjpeg: %s: %s (status %d)", e.Call, text, e.Status)
}

// Is maps results to ErrBadJPEG, to errors.ErrUnsupported for a kind of file that
// the library does not read, and to cuda.ErrMemory.
func (e *Error) Is(target error) bool {
	switch e.Status {
	case badJPEG, incompleteBitstream:
		return target == ErrBadJPEG
	case jpegNotSupported, implementationUnsupported:
		return target == errors.ErrUnsupported
	case allocatorFailure:
		return target == cuda.ErrMemory
	}
	return false
}

// ofFile reports whether the error says something of a file, not of the library or
// the GPU.
func ofFile(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Status {
	case notInitialized, invalidParameter, allocatorFailure, executionFailed, archMismatch:
		return false
	}
	return true
}

// SizeError is a picture of another size than it has memory for.
type SizeError struct {
	H, W         int // of the picture in the file
	WantH, WantW int
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("nvjpeg: the picture has %d×%d pixels, %d×%d were expected", e.H, e.W, e.WantH, e.WantW)
}
