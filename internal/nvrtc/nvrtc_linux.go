package nvrtc

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"
)

// Compile returns the PTX that the library, libnvrtc.so.11.2, makes of a source for compute
// capability 6.0, without contraction to fused multiply-adds. Options are the compiler's.
func Compile(t testing.TB, library, source string, options ...string) string {
	t.Helper()
	// NVRTC looks for its builtins by name: load them first.
	builtins, err := filepath.Glob(filepath.Join(filepath.Dir(library), "libnvrtc-builtins.so*"))
	require.NoError(t, err)
	for _, b := range builtins {
		_, err := purego.Dlopen(b, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		require.NoError(t, err)
	}
	lib, err := purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	require.NoError(t, err)
	var program uintptr
	text := func(what string) string {
		var size uint64
		require.Zero(t, call(t, lib, "nvrtcGet"+what+"Size", program, uintptr(unsafe.Pointer(&size))))
		out := make([]byte, size)
		require.Zero(t, call(t, lib, "nvrtcGet"+what, program, uintptr(unsafe.Pointer(&out[0]))))
		return strings.TrimSuffix(string(out), "\x00")
	}
	src, name := append([]byte(source), 0), append([]byte("kernels.cu"), 0)
	require.Zero(t, call(t, lib, "nvrtcCreateProgram", uintptr(unsafe.Pointer(&program)), uintptr(unsafe.Pointer(&src[0])), uintptr(unsafe.Pointer(&name[0])), 0, 0, 0))
	var pin runtime.Pinner // options are passed as a list of addresses
	defer pin.Unpin()
	var list []uintptr
	for _, o := range append([]string{"--gpu-architecture=compute_60", "--fmad=false"}, options...) {
		text := append([]byte(o), 0)
		pin.Pin(&text[0])
		list = append(list, uintptr(unsafe.Pointer(&text[0])))
	}
	if r := call(t, lib, "nvrtcCompileProgram", program, uintptr(len(list)), uintptr(unsafe.Pointer(&list[0]))); r != 0 {
		t.Fatalf("nvrtcCompileProgram: %d\n%s", r, text("ProgramLog"))
	}
	return text("PTX")
}

// call calls a function of a library. What its arguments point to is on the heap.
//
//go:uintptrescapes
func call(t testing.TB, lib uintptr, name string, args ...uintptr) int32 {
	fn, err := purego.Dlsym(lib, name)
	require.NoError(t, err)
	r, _, _ := purego.SyscallN(fn, args...)
	return int32(r)
}
