//go:build linux && (amd64 || arm64)

package cuda

import "github.com/ebitengine/purego"

// openLibrary loads a shared library. Loaded libraries stay until the process ends.
func openLibrary(name string) (handle uintptr, err error) {
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

// lookUp returns the address of a function, 0 if the library does not have it.
func lookUp(handle uintptr, name string) uintptr {
	fn, err := purego.Dlsym(handle, name)
	if err != nil {
		return 0
	}
	return fn
}

// invoke calls a function of the driver. Variables whose addresses are among
// the arguments are on the heap, where they do not move, and live until invoke
// returns.
//
//go:uintptrescapes
func invoke(fn uintptr, args ...uintptr) Code {
	r, _, _ := purego.SyscallN(fn, args...)
	return Code(int32(r))
}
