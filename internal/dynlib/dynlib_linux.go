//go:build linux && (amd64 || arm64)

package dynlib

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// Open loads a shared library, by its file or by a name that the system's loader
// finds. Loaded libraries stay until the process ends.
func Open(name string) (handle uintptr, err error) {
	runtime.LockOSThread() // the loader keeps the text of an error for the thread that met it
	defer runtime.UnlockOSThread()
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

// Symbol returns the address of a function, 0 if the library does not have it.
func Symbol(handle uintptr, name string) uintptr {
	fn, err := purego.Dlsym(handle, name)
	if err != nil {
		return 0
	}
	return fn
}

// Call calls a function that returns an int. Variables whose addresses are among
// the arguments are on the heap, where they do not move, and live until Call
// returns.
//
//go:uintptrescapes
func Call(fn uintptr, args ...uintptr) int32 {
	r, _, _ := purego.SyscallN(fn, args...)
	return int32(r)
}
