package fakedriver

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"
)

// raw calls functions of the driver without any package between.
type raw struct {
	t      *testing.T
	handle uintptr
}

//go:uintptrescapes
func (r raw) call(name string, args ...uintptr) int {
	fn, err := purego.Dlsym(r.handle, name)
	require.NoError(r.t, err)
	code, _, _ := purego.SyscallN(fn, args...)
	return int(int32(code))
}

// do is call for what must succeed.
//
//go:uintptrescapes
func (r raw) do(name string, args ...uintptr) {
	r.t.Helper()
	require.Zero(r.t, r.call(name, args...), name)
}

// fixture is a context with a stream, an event and memory.
type fixture struct {
	raw
	context, stream, event, device, host uintptr
}

func (f *fixture) open() {
	f.do("cuCtxCreate_v2", uintptr(unsafe.Pointer(&f.context)), 0, 0)
	f.do("cuStreamCreate", uintptr(unsafe.Pointer(&f.stream)), 1)
	f.do("cuEventCreate", uintptr(unsafe.Pointer(&f.event)), 0)
	f.do("cuMemAlloc_v2", uintptr(unsafe.Pointer(&f.device)), 100)
	f.do("cuMemHostAlloc", uintptr(unsafe.Pointer(&f.host)), 100, 0)
}

// TestCache looks at what building and using leave in the cache.
func TestCache(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	cache := filepath.Join(os.Getenv("XDG_CACHE_HOME"), "plankton-fakedriver")
	long := time.Now().AddDate(0, 0, -31)
	for _, name := range []string{"recent", "old"} {
		require.NoError(t, os.MkdirAll(filepath.Join(cache, name), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(cache, name, "libcuda.so.1"), nil, 0o644))
	}
	require.NoError(t, os.Chtimes(filepath.Join(cache, "old"), long, long))
	library, err := compile()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("there is no C compiler to build the fake driver with: install one, or set CC")
	}
	require.NoError(t, err)
	dir := filepath.Dir(library)
	left, err := filepath.Glob(filepath.Join(cache, "*", "*"))
	require.NoError(t, err)
	require.ElementsMatch(t, []string{library, filepath.Join(cache, "recent", "libcuda.so.1")}, left)

	require.NoError(t, os.Chtimes(dir, long, long))
	again, err := compile()
	require.NoError(t, err)
	require.Equal(t, library, again)
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Greater(t, info.ModTime(), long.AddDate(0, 0, 1), "it is in use")
}

// TestMistakes makes one mistake each and looks for it in the report.
func TestMistakes(t *testing.T) {
	const invalidValue, invalidContext, invalidHandle = 1, 201, 400
	for _, c := range []struct {
		name    string
		mistake func(f *fixture)
		report  string
	}{
		{"none", func(f *fixture) {
			f.do("cuMemcpyAsync", f.device, f.host, 100, f.stream)
			f.do("cuEventRecord", f.event, f.stream)
			f.do("cuStreamWaitEvent", 0, f.event, 0)
			f.do("cuStreamSynchronize", f.stream)
			f.do("cuStreamSynchronize", 0)
			f.do("cuStreamQuery", 0)
		}, ""},
		{"no context", func(f *fixture) {
			var c uintptr
			f.do("cuCtxPopCurrent_v2", uintptr(unsafe.Pointer(&c)))
			require.Equal(f.t, invalidContext, f.call("cuStreamSynchronize", f.stream))
			f.do("cuCtxPushCurrent_v2", c)
		}, "no current context"},
		{"popping too often", func(f *fixture) {
			var c uintptr
			f.do("cuCtxPopCurrent_v2", uintptr(unsafe.Pointer(&c)))
			require.Equal(f.t, invalidContext, f.call("cuCtxPopCurrent_v2", uintptr(unsafe.Pointer(&c))))
			f.do("cuCtxPushCurrent_v2", f.context)
		}, "popped that was not pushed"},
		{"a wild handle", func(f *fixture) { require.Equal(f.t, invalidHandle, f.call("cuStreamSynchronize", 0xdead)) }, "is no stream"},
		{"an event as a stream", func(f *fixture) { require.Equal(f.t, invalidHandle, f.call("cuEventRecord", f.event, f.event)) }, "is no stream"},
		{"a stream of another context", func(f *fixture) {
			var other uintptr
			f.do("cuCtxCreate_v2", uintptr(unsafe.Pointer(&other)), 0, 0)
			require.Equal(f.t, invalidHandle, f.call("cuStreamSynchronize", f.stream))
			f.do("cuCtxPopCurrent_v2", uintptr(unsafe.Pointer(&other)))
			f.do("cuCtxDestroy_v2", other)
		}, "context of another"},
		{"a destroyed event", func(f *fixture) {
			var e uintptr
			f.do("cuEventCreate", uintptr(unsafe.Pointer(&e)), 0)
			f.do("cuEventDestroy_v2", e)
			require.Equal(f.t, invalidHandle, f.call("cuEventQuery", e))
		}, "is no event"},
		{"an event that was never recorded", func(f *fixture) { f.do("cuStreamWaitEvent", f.stream, f.event, 0) }, "never recorded"},
		{"a destroyed context", func(f *fixture) {
			var other uintptr
			f.do("cuCtxCreate_v2", uintptr(unsafe.Pointer(&other)), 0, 0)
			f.do("cuCtxDestroy_v2", other)
			require.Equal(f.t, invalidContext, f.call("cuCtxPushCurrent_v2", other))
		}, "is pushed that was destroyed"},
		{"times of two contexts", func(f *fixture) {
			var other, event uintptr
			var ms float32
			f.do("cuEventRecord", f.event, f.stream)
			f.do("cuStreamSynchronize", f.stream)
			f.do("cuCtxCreate_v2", uintptr(unsafe.Pointer(&other)), 0, 0)
			f.do("cuEventCreate", uintptr(unsafe.Pointer(&event)), 0)
			f.do("cuEventRecord", event, 0)
			f.do("cuStreamSynchronize", 0)
			require.Equal(f.t, invalidHandle, f.call("cuEventElapsedTime", uintptr(unsafe.Pointer(&ms)), f.event, event))
			f.do("cuEventDestroy_v2", event)
			f.do("cuCtxDestroy_v2", other)
		}, ""},
		{"a pool that is in use", func(f *fixture) {
			var pool, p uintptr
			props := [88 / 4]int32{1, 0, 1, 0}
			f.do("cuMemPoolCreate", uintptr(unsafe.Pointer(&pool)), uintptr(unsafe.Pointer(&props)))
			f.do("cuMemAllocFromPoolAsync", uintptr(unsafe.Pointer(&p)), 10, pool, f.stream)
			f.do("cuMemPoolDestroy", pool)
			f.do("cuMemFreeAsync", p, f.stream)
		}, "a pool ends with 1 allocations"},
		{"writing what is being copied", func(f *fixture) { // from ordinary memory
			mem := new([64]byte)
			var pin runtime.Pinner
			pin.Pin(mem)
			defer pin.Unpin()
			f.do("fakePause")
			f.do("cuMemcpyAsync", f.device, uintptr(unsafe.Pointer(mem)), 64, f.stream)
			mem[63] = 1
			f.do("cuStreamSynchronize", f.stream)
		}, "was written before it was copied"},
		{"freeing twice", func(f *fixture) {
			var p uintptr
			f.do("cuMemAlloc_v2", uintptr(unsafe.Pointer(&p)), 10)
			f.do("cuMemFree_v2", p)
			require.Equal(f.t, invalidValue, f.call("cuMemFree_v2", p))
		}, "no such memory"},
		{"freeing the wrong kind", func(f *fixture) { require.Equal(f.t, invalidValue, f.call("cuMemFree_v2", f.host)) }, "no such memory"},
		{"freeing what is in use", func(f *fixture) {
			var p uintptr
			f.do("cuMemAlloc_v2", uintptr(unsafe.Pointer(&p)), 10)
			f.do("fakePause")
			f.do("cuMemsetD8Async", p, 1, 10, f.stream)
			f.do("cuMemFree_v2", p)
		}, "while 1 operations use it"},
		{"a copy beyond the end", func(f *fixture) {
			require.Equal(f.t, invalidValue, f.call("cuMemcpyAsync", f.device, f.host, 101, f.stream))
			require.Equal(f.t, invalidValue, f.call("cuMemsetD8Async", f.device+1, 0, 100, f.stream))
		}, ""},
		{"a write beyond the end", func(f *fixture) {
			var p uintptr
			f.do("cuMemHostAlloc", uintptr(unsafe.Pointer(&p)), 10, 0)
			(*[11]byte)(*(*unsafe.Pointer)(unsafe.Pointer(&p)))[10] = 1
			f.do("cuMemFreeHost", p)
		}, "beyond the 10 bytes"},
		{"memory beside memory", func(f *fixture) { // of whole pages, without gaps
			var p [8]uintptr
			for i := range p {
				f.do("cuMemHostAlloc", uintptr(unsafe.Pointer(&p[i])), 1<<16, 0)
			}
			for i := range p {
				f.do("cuMemFreeHost", p[i])
			}
		}, ""},
		{"registered memory", func(f *fixture) {
			mem := new([64]byte)
			var pin runtime.Pinner
			pin.Pin(mem)
			defer pin.Unpin()
			at := uintptr(unsafe.Pointer(mem))
			f.do("cuMemHostRegister_v2", at, 64, 0)
			require.NotZero(f.t, f.call("cuMemHostRegister_v2", at+10, 10, 0), "overlap")
			f.do("fakePause")
			f.do("cuMemcpyAsync", f.device, at, 64, f.stream)
			f.call("fakeAccess", at, 1, 1)
			f.do("cuStreamSynchronize", f.stream)
			f.do("cuMemHostUnregister", at)
		}, "race: the host on stream 0 writes bytes 0 to 1 of r-memory"},
		{"the default stream", func(f *fixture) { // orders streams that are not non-blocking, and no others
			var blocking uintptr
			f.do("cuStreamCreate", uintptr(unsafe.Pointer(&blocking)), 0)
			f.do("fakePause")
			f.do("cuMemsetD8Async", f.device, 1, 50, blocking)
			f.do("cuMemsetD8Async", f.device, 1, 50, 0)
			f.do("cuMemsetD8Async", f.device, 1, 50, blocking)
			f.do("cuMemsetD8Async", f.device+50, 1, 50, f.stream)
			f.do("cuMemsetD8Async", f.device+50, 1, 50, 0)
			f.do("cuStreamDestroy_v2", blocking)
		}, "race: fill on stream"},
		{"a context that is not empty", func(f *fixture) {
			var c, s uintptr
			f.do("cuCtxCreate_v2", uintptr(unsafe.Pointer(&c)), 0, 0)
			f.do("cuStreamCreate", uintptr(unsafe.Pointer(&s)), 1)
			f.do("cuCtxPopCurrent_v2", uintptr(unsafe.Pointer(&c)))
			f.do("cuCtxDestroy_v2", c)
		}, "a context ends with 1 streams"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Open(t)
			runtime.LockOSThread() // for good: the thread ends with the test, and its contexts with it
			handle, err := purego.Dlopen(d.Library, purego.RTLD_NOW)
			require.NoError(t, err)
			f := &fixture{raw: raw{t, handle}}
			f.do("cuInit", 0)
			f.open()
			c.mistake(f)
			f.do("cuCtxSynchronize")
			f.do("cuStreamDestroy_v2", f.stream)
			f.do("cuEventDestroy_v2", f.event)
			f.do("cuMemFree_v2", f.device)
			f.do("cuMemFreeHost", f.host)
			var popped uintptr
			f.do("cuCtxPopCurrent_v2", uintptr(unsafe.Pointer(&popped)))
			f.do("cuCtxDestroy_v2", f.context)
			report := d.Report()
			if c.report == "" {
				require.Empty(t, report)
			} else {
				require.Contains(t, report, c.report)
				require.Equal(t, 1, strings.Count(report, "\n"), report)
			}
		})
	}
}
