package kernels

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "compile kernels.cu and write kernels.ptx")

// TestPTXIsOfTheSource compares the committed PTX with the source, and where
// there is a compiler with what it makes of it.
func TestPTXIsOfTheSource(t *testing.T) {
	header := fmt.Sprintf("// kernels.cu has the SHA-256 %x\n", sha256.Sum256([]byte(Source)))
	library := os.Getenv("PLANKTON_NVRTC")
	if *update {
		require.NotEmpty(t, library, "set PLANKTON_NVRTC to libnvrtc.so.11.2 of CUDA 11.8")
		require.NoError(t, os.WriteFile("kernels.ptx", []byte(header+compile(t, library, Source)), 0o644))
		return
	}
	first, rest, _ := strings.Cut(PTX, "\n")
	require.Equal(t, header, first+"\n", "kernels.ptx is not of this source: run go generate")
	require.Contains(t, rest, ".version 7.8\n")
	require.Contains(t, rest, ".target sm_60\n")
	require.Equal(t, names(`(?m)^(?:CROP_MIRROR_NORMALIZE|RESIZE_ROWS|RESIZE_COLUMNS|ONE_HOT)\((\w+)`, Source), names(`\.entry (\w+)`, PTX))
	require.NotContains(t, rest, "fma.rn.f32", "contraction would change results")
	if library == "" {
		t.Skip("PLANKTON_NVRTC is not set: the PTX is not compiled anew")
	}
	require.Equal(t, compile(t, library, Source), rest)
}

func names(pattern, text string) (list []string) {
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	slices.Sort(list)
	return list
}

// compile returns the PTX that NVRTC makes of a source.
func compile(t *testing.T, library, source string) string {
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
	var options []uintptr
	for _, o := range []string{"--gpu-architecture=compute_60", "--fmad=false"} {
		text := append([]byte(o), 0)
		pin.Pin(&text[0])
		options = append(options, uintptr(unsafe.Pointer(&text[0])))
	}
	if r := call(t, lib, "nvrtcCompileProgram", program, uintptr(len(options)), uintptr(unsafe.Pointer(&options[0]))); r != 0 {
		t.Fatalf("nvrtcCompileProgram: %d\n%s", r, text("ProgramLog"))
	}
	return text("PTX")
}

// call calls a function of a library. What its arguments point to is on the heap.
//
//go:uintptrescapes
func call(t *testing.T, lib uintptr, name string, args ...uintptr) int32 {
	fn, err := purego.Dlsym(lib, name)
	require.NoError(t, err)
	r, _, _ := purego.SyscallN(fn, args...)
	return int32(r)
}
