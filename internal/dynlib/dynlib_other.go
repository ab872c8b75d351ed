//go:build !linux || !(amd64 || arm64)

package dynlib

import (
	"fmt"
	"runtime"
)

// Open fails: libraries are opened on Linux.
func Open(string) (handle uintptr, err error) {
	return 0, fmt.Errorf("there is none for %s on %s", runtime.GOOS, runtime.GOARCH)
}

// Symbol returns 0.
func Symbol(handle uintptr, name string) uintptr { return 0 }

// Call must not be called: no library is open.
//
//go:uintptrescapes
func Call(fn uintptr, args ...uintptr) int32 { panic("dynlib: no library is open") }
