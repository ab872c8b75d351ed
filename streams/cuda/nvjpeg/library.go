package nvjpeg

import (
	"fmt"
	"strings"
	"sync"
	"unsafe"

	"github.com/planktonml/plankton/internal/dynlib"
)

// Names of the library, the first that can be opened is taken. That of CUDA 12 comes
// first, since it works with drivers for 12 and for 13.
var names = []string{"libnvjpeg.so.12", "libnvjpeg.so.13", "libnvjpeg.so"}

// library is the functions of an nvJPEG library, without the prefix of their names.
type library struct {
	version [3]int

	getProperty, createEx, destroy, getImageInfo uintptr
	jpegStateCreate, jpegStateDestroy            uintptr
	decode, decodeBatchedInitialize              uintptr
	decodeBatched                                uintptr
}

// libraries holds what has been opened, by name.
var libraries = struct {
	sync.Mutex
	open map[string]*library
}{open: map[string]*library{}}

// openLibrary opens the library of that name, or the first of names where it is "".
func openLibrary(name string) (*library, error) {
	tried := names
	if name != "" {
		tried = []string{name}
	}
	libraries.Lock()
	defer libraries.Unlock()
	var problems []string
	for _, n := range tried {
		if l := libraries.open[n]; l != nil {
			return l, nil
		}
		l, err := load(n)
		if err == nil {
			libraries.open[n] = l
			return l, nil
		}
		problems = append(problems, err.Error())
	}
	return nil, fmt.Errorf("%w: %s; looked for by the system's loader, which knows LD_LIBRARY_PATH: install the CUDA toolkit or the Python package nvidia-nvjpeg-cu12, name the file in Options.Library, or decode on the host",
		ErrNoNVJPEG, strings.Join(problems, "; "))
}

// load opens a library and looks up its functions.
func load(name string) (*library, error) {
	handle, err := dynlib.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be opened: %w", name, err)
	}
	l := &library{}
	for fn, to := range map[string]*uintptr{
		"nvjpegGetProperty":             &l.getProperty,
		"nvjpegCreateEx":                &l.createEx,
		"nvjpegDestroy":                 &l.destroy,
		"nvjpegGetImageInfo":            &l.getImageInfo,
		"nvjpegJpegStateCreate":         &l.jpegStateCreate,
		"nvjpegJpegStateDestroy":        &l.jpegStateDestroy,
		"nvjpegDecode":                  &l.decode,
		"nvjpegDecodeBatchedInitialize": &l.decodeBatchedInitialize,
		"nvjpegDecodeBatched":           &l.decodeBatched,
	} {
		if *to = dynlib.Symbol(handle, fn); *to == 0 {
			return nil, fmt.Errorf("%s has no function %s", name, fn)
		}
	}
	for i := range l.version { // the major, minor and patch number, properties 0 to 2
		var v int32
		if err := call("nvjpegGetProperty", l.getProperty, uintptr(i), uintptr(unsafe.Pointer(&v))); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		l.version[i] = int(v)
	}
	return l, nil
}

// call calls a function of the library. Variables whose addresses are among the
// arguments are on the heap, where they do not move, and live until call returns.
//
//go:uintptrescapes
func call(name string, fn uintptr, args ...uintptr) error {
	if s := Status(dynlib.Call(fn, args...)); s != success {
		return &Error{Call: name, Status: s}
	}
	return nil
}
