package cuda

import (
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"unsafe"
)

// Module is code on a device. It is unloaded when the device is closed.
type Module struct {
	device *Device
	handle uintptr
}

// Kernel is a function of a module that runs on the GPU.
type Kernel struct {
	module *Module
	name   string
	handle uintptr
}

// Options of the driver's compiler, CUjit_option.
const (
	jitErrorLog     = 5
	jitErrorLogSize = 6
)

// Load compiles PTX for the GPU. The error matches ErrModule where the driver is
// too old for the PTX, or the GPU, or has no compiler, or where the PTX is broken,
// and then holds what the driver's compiler says.
func (d *Device) Load(ptx string) (*Module, error) {
	text := append([]byte(ptx), 0)
	log := make([]byte, 4096)
	var pin runtime.Pinner // values holds only its address
	pin.Pin(&log[0])
	defer pin.Unpin()
	options := []int32{jitErrorLog, jitErrorLogSize}
	values := []uintptr{uintptr(unsafe.Pointer(&log[0])), uintptr(len(log))}
	m := &Module{device: d}
	err := d.call("cuModuleLoadDataEx", func() Code {
		return d.ask(d.driver.moduleLoadDataEx, uintptr(unsafe.Pointer(&m.handle)), uintptr(unsafe.Pointer(&text[0])),
			uintptr(len(options)), uintptr(unsafe.Pointer(&options[0])), uintptr(unsafe.Pointer(&values[0])))
	})
	if err != nil {
		said, _, _ := strings.Cut(string(log), "\x00")
		return nil, d.loadError(ptx, strings.TrimSpace(said), err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.modules = append(d.modules, m)
	return m, nil
}

// Header lines of PTX.
var (
	ptxVersion = regexp.MustCompile(`(?m)^\.version\s+(\S+)`)
	ptxTarget  = regexp.MustCompile(`(?m)^\.target\s+([^\s,]+)`)
)

// loadError says what the PTX needs and what there is.
func (d *Device) loadError(ptx, said string, err error) error {
	header := func(re *regexp.Regexp) string {
		if m := re.FindStringSubmatch(ptx); m != nil {
			return m[1]
		}
		return "unknown"
	}
	var e *Error
	hint := ""
	if errors.As(err, &e) {
		switch e.Code {
		case codeUnsupportedPTX:
			hint = "; the driver is too old: install a newer one"
		case codeNoCompiler:
			hint = "; the driver's libnvidia-ptxjitcompiler.so is missing: a container gets it with the driver capability compute"
		case codeCompilerOff:
			hint = "; the environment variable CUDA_DISABLE_PTX_JIT forbids to compile it"
		}
	}
	if said != "" {
		hint += ": " + said
	}
	return fmt.Errorf("%w (PTX version %s for %s; the driver implements CUDA %d.%d, %s has compute capability %d.%d%s)", err,
		header(ptxVersion), header(ptxTarget), d.info.Driver/1000, d.info.Driver%1000/10, d.info.Name, d.info.Major, d.info.Minor, hint)
}

// Kernel returns the function of that name, declared extern "C" in the source.
func (m *Module) Kernel(name string) (*Kernel, error) {
	text := append([]byte(name), 0)
	k := &Kernel{module: m, name: name}
	d := m.device
	err := d.call("cuModuleGetFunction", func() Code {
		return d.ask(d.driver.moduleGetFunction, uintptr(unsafe.Pointer(&k.handle)), m.handle, uintptr(unsafe.Pointer(&text[0])))
	})
	if err != nil {
		return nil, fmt.Errorf("cuda: no kernel %q in the module: %w", name, err)
	}
	return k, nil
}
