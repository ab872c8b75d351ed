package fakedriver

import (
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/planktonml/plankton/streams/cuda/kernels"
	"github.com/planktonml/plankton/streams/cuda/kernels/elementwise"
)

//go:embed csrc
var sources embed.FS

// Setting is something about the machine that the driver pretends to be on. It
// holds for devices that are opened afterwards.
type Setting int

// The settings, with what they are in a new Driver.
const (
	Version    Setting = iota // of CUDA: 13000
	Devices                   // how many GPUs: 1
	Capability                // of the GPUs, as 10·major + minor: 90
	Memory                    // bytes of a GPU: 1 GiB
	HostMemory                // bytes that can be page-locked: 1 GiB
	Pools                     // whether memory can be allocated in the order of a stream: 1
	DelayUS                   // the longest random delay before an operation, in microseconds: 0
	Seed                      // of the delays: 0
	TimeScale                 // how much faster the clock of events goes: 1
)

var defaults = []int{13000, 1, 90, 1 << 30, 1 << 30, 1, 0, 0, 1}

// Count is something that the driver counts.
type Count int

// The counts.
const (
	Copies         Count = iota
	CopiedBytes          // of all copies
	PageableCopies       // from or to host memory that is not page-locked, for which the fake does not wait
	Fills
	Launches
	Allocations // of memory of any kind
	Events      // that were created
	Records     // of events
	Waits       // of streams for events
	Queries     // of events
	Uploads     // copies from host memory of any kind to memory of the device
	UploadedBytes
	Calls     // of functions of the driver
	OpenPools // of memory: those that are open now
)

// Driver is the fake driver. There is one per process.
type Driver struct {
	// Library is the file to open.
	Library string

	symbols map[string]uintptr
}

var build = sync.OnceValues(func() (*Driver, error) {
	library, err := find()
	if err != nil {
		return nil, err
	}
	handle, err := purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	d := &Driver{Library: library, symbols: map[string]uintptr{}}
	for _, name := range []string{"fakeSet", "fakeCount", "fakeFail", "fakePause", "fakeResume", "fakeAccess", "fakeReport", "fakePicture", "fakeReset"} {
		if d.symbols[name], err = purego.Dlsym(handle, name); err != nil {
			return nil, err
		}
	}
	return d, nil
})

// Open returns the driver with its defaults. It skips the test where there is no
// C compiler, and fails it at its end if the driver has something to report
// then. Tests that use the driver must not run in parallel.
func Open(t testing.TB) *Driver {
	t.Helper()
	d, err := build()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("there is no C compiler to build the fake driver with: install one, or set CC")
	}
	if err != nil {
		t.Fatal(err)
	}
	for s, v := range defaults {
		d.Set(Setting(s), v)
	}
	d.call("fakeReset")
	d.Report() // of a test before
	t.Cleanup(func() {
		if text := d.Report(); text != "" {
			t.Errorf("the fake driver reports:\n%s", text)
		}
	})
	return d
}

// find returns the library: the one that this program is linked to, if that is
// the fake, else one that it builds.
func find() (library string, err error) {
	if _, err := purego.Dlsym(purego.RTLD_DEFAULT, "fakeReport"); err == nil {
		return "libcuda.so.1", nil
	}
	return compile()
}

// compile builds the library, once per version of the sources, and returns its
// file in the user's cache.
func compile() (string, error) {
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	if _, err := exec.LookPath(cc); err != nil {
		return "", exec.ErrNotFound
	}
	files, err := fs.Glob(sources, "csrc/*")
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	text := map[string][]byte{"kernels.cu": []byte(kernels.Source), "elementwise.cu": []byte(elementwise.Source)}
	for _, f := range files {
		b, err := sources.ReadFile(f)
		if err != nil {
			return "", err
		}
		text[filepath.Base(f)] = b
		hash.Write(b)
	}
	fmt.Fprint(hash, kernels.Source, elementwise.Source, cc)
	cache, err := os.UserCacheDir()
	if err == nil {
		cache = filepath.Join(cache, "plankton-fakedriver")
		err = os.MkdirAll(cache, 0o755)
	}
	if err != nil { // such as a home that cannot be written
		cache = filepath.Join(os.TempDir(), "plankton-fakedriver")
	}
	dir := filepath.Join(cache, fmt.Sprintf("%x", hash.Sum(nil)[:8]))
	library := filepath.Join(dir, "libcuda.so.1")
	now := time.Now()
	if _, err := os.Stat(library); err == nil {
		_ = os.Chtimes(dir, now, now) // for prune
		return library, nil
	}
	prune(cache, now.AddDate(0, 0, -30))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(dir, "build")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	args := []string{"-std=gnu11", "-O2", "-g", "-fPIC", "-shared", "-pthread", "-ffp-contract=off", `-DKERNEL_SOURCE="kernels.cu"`, `-DELEMENTWISE_SOURCE="elementwise.cu"`, "-o", "lib"}
	for name, b := range text {
		if err := os.WriteFile(filepath.Join(work, name), b, 0o644); err != nil {
			return "", err
		}
		if strings.HasSuffix(name, ".c") {
			args = append(args, name)
		}
	}
	cmd := exec.Command(cc, append(args, "-lm")...)
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the fake driver: %w\n%s", err, out)
	}
	// Test binaries that build at the same time end up with one of the results.
	return library, os.Rename(filepath.Join(work, "lib"), library)
}

// prune removes the builds that nobody has started to use since then. A program that
// has opened one keeps it.
func prune(cache string, since time.Time) {
	builds, _ := os.ReadDir(cache) // to tidy up is no reason to fail
	for _, b := range builds {
		if info, err := b.Info(); err == nil && info.ModTime().Before(since) {
			_ = os.RemoveAll(filepath.Join(cache, b.Name()))
		}
	}
}

// Set changes a setting.
func (d *Driver) Set(s Setting, value int) { d.call("fakeSet", uintptr(s), uintptr(value)) }

// Count returns a count since the process began.
func (d *Driver) Count(c Count) int { return int(d.call("fakeCount", uintptr(c))) }

// Fail lets a call of a function of the driver return an error, after that many
// calls that do not. The function "kernel" stands for a kernel that fails while it
// runs: all calls return its error from then on, until the next Open.
func (d *Driver) Fail(function string, code, after int) {
	name := append([]byte(function), 0)
	d.call("fakeFail", uintptr(unsafe.Pointer(&name[0])), uintptr(code), uintptr(after))
}

// Pause keeps all work from starting until Resume, or until the host waits for a
// stream in the driver. What is issued meanwhile is issued in ignorance of
// how far streams have got, so a wait that is missing is found for certain.
func (d *Driver) Pause() { d.call("fakePause") }

// Resume lets work start.
func (d *Driver) Resume() { d.call("fakeResume") }

// Access declares that the host reads or writes page-locked memory.
func (d *Driver) Access(mem []byte, write bool) {
	w := uintptr(0)
	if write {
		w = 1
	}
	d.call("fakeAccess", uintptr(unsafe.Pointer(unsafe.SliceData(mem))), uintptr(len(mem)), w)
}

// Report returns the races and mistakes since the last Report, a line each, "" if
// there were none.
func (d *Driver) Report() string {
	buf := make([]byte, 1<<17)
	d.call("fakeReport", uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
	text, _, _ := strings.Cut(string(buf), "\x00")
	return text
}

//go:uintptrescapes
func (d *Driver) call(name string, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(d.symbols[name], args...)
	return r
}
