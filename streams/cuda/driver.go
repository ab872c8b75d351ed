package cuda

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/planktonml/plankton/internal/dynlib"
)

// driver is the functions of a driver library. Fields carry the names of the
// driver without its prefix.
type driver struct {
	init, driverGetVersion, getErrorName, getErrorString                 uintptr
	deviceGetCount, deviceGet, deviceGetName, deviceGetAttribute         uintptr
	deviceTotalMem, deviceGetPCIBusID                                    uintptr
	ctxCreate, ctxDestroy, ctxPushCurrent, ctxPopCurrent                 uintptr
	ctxGetStreamPriorityRange                                            uintptr
	primaryCtxRetain, primaryCtxRelease                                  uintptr
	streamCreateWithPriority, streamDestroy, streamWaitEvent             uintptr
	streamSynchronize                                                    uintptr
	eventCreate, eventDestroy, eventRecord, eventQuery, eventElapsedTime uintptr
	memAlloc, memFree, memGetInfo, memHostAlloc, memFreeHost             uintptr
	memcpyAsync, memsetD8Async, pointerGetAttribute                      uintptr
	moduleLoadDataEx, moduleGetFunction, moduleUnload, launchKernel      uintptr
	memAllocFromPoolAsync, memFreeAsync                                  uintptr // these are 0 before CUDA 11.2
	memPoolCreate, memPoolDestroy, memPoolSetAttribute                   uintptr
}

// symbol is where a function of the driver goes.
type symbol struct {
	name     string
	to       *uintptr
	optional bool
}

func (d *driver) symbols() []symbol {
	return []symbol{
		{"cuInit", &d.init, false},
		{"cuDriverGetVersion", &d.driverGetVersion, false},
		{"cuGetErrorName", &d.getErrorName, false},
		{"cuGetErrorString", &d.getErrorString, false},
		{"cuDeviceGetCount", &d.deviceGetCount, false},
		{"cuDeviceGet", &d.deviceGet, false},
		{"cuDeviceGetName", &d.deviceGetName, false},
		{"cuDeviceGetAttribute", &d.deviceGetAttribute, false},
		{"cuDeviceTotalMem_v2", &d.deviceTotalMem, false},
		{"cuDeviceGetPCIBusId", &d.deviceGetPCIBusID, false},
		{"cuCtxCreate_v2", &d.ctxCreate, false},
		{"cuCtxDestroy_v2", &d.ctxDestroy, false},
		{"cuCtxPushCurrent_v2", &d.ctxPushCurrent, false},
		{"cuCtxPopCurrent_v2", &d.ctxPopCurrent, false},
		{"cuCtxGetStreamPriorityRange", &d.ctxGetStreamPriorityRange, false},
		{"cuDevicePrimaryCtxRetain", &d.primaryCtxRetain, false},
		{"cuDevicePrimaryCtxRelease_v2", &d.primaryCtxRelease, false},
		{"cuStreamCreateWithPriority", &d.streamCreateWithPriority, false},
		{"cuStreamDestroy_v2", &d.streamDestroy, false},
		{"cuStreamWaitEvent", &d.streamWaitEvent, false},
		{"cuStreamSynchronize", &d.streamSynchronize, false},
		{"cuEventCreate", &d.eventCreate, false},
		{"cuEventDestroy_v2", &d.eventDestroy, false},
		{"cuEventRecord", &d.eventRecord, false},
		{"cuEventQuery", &d.eventQuery, false},
		{"cuEventElapsedTime", &d.eventElapsedTime, false},
		{"cuMemAlloc_v2", &d.memAlloc, false},
		{"cuMemFree_v2", &d.memFree, false},
		{"cuMemGetInfo_v2", &d.memGetInfo, false},
		{"cuMemHostAlloc", &d.memHostAlloc, false},
		{"cuMemFreeHost", &d.memFreeHost, false},
		{"cuMemcpyAsync", &d.memcpyAsync, false},
		{"cuMemsetD8Async", &d.memsetD8Async, false},
		{"cuPointerGetAttribute", &d.pointerGetAttribute, false},
		{"cuModuleLoadDataEx", &d.moduleLoadDataEx, false},
		{"cuModuleGetFunction", &d.moduleGetFunction, false},
		{"cuModuleUnload", &d.moduleUnload, false},
		{"cuLaunchKernel", &d.launchKernel, false},
		{"cuMemAllocFromPoolAsync", &d.memAllocFromPoolAsync, true},
		{"cuMemFreeAsync", &d.memFreeAsync, true},
		{"cuMemPoolCreate", &d.memPoolCreate, true},
		{"cuMemPoolDestroy", &d.memPoolDestroy, true},
		{"cuMemPoolSetAttribute", &d.memPoolSetAttribute, true},
	}
}

// drivers holds the libraries that have been opened, by name.
var drivers = struct {
	sync.Mutex
	open map[string]*driver
}{open: map[string]*driver{}}

// openDriver opens and initialises a driver library, once per process.
func openDriver(library string) (*driver, error) {
	drivers.Lock()
	defer drivers.Unlock()
	if d := drivers.open[library]; d != nil {
		return d, nil
	}
	handle, err := dynlib.Open(library)
	if err != nil {
		return nil, fmt.Errorf("%w: the library %s cannot be opened: %v; install NVIDIA's driver, or work on the host", ErrNoDriver, library, err)
	}
	d := &driver{}
	for _, s := range d.symbols() {
		if *s.to = dynlib.Symbol(handle, s.name); *s.to == 0 && !s.optional {
			return nil, fmt.Errorf("%w: the library %s has no function %s; a driver for CUDA 11 or later is wanted", ErrNoDriver, library, s.name)
		}
	}
	if err := d.check("cuInit", invoke(d.init, 0)); err != nil {
		return nil, err
	}
	drivers.open[library] = d
	return d, nil
}

// invoke calls a function of the driver. Variables whose addresses are among
// the arguments are on the heap, where they do not move, and live until invoke
// returns.
//
//go:uintptrescapes
func invoke(fn uintptr, args ...uintptr) Code { return Code(dynlib.Call(fn, args...)) }

// check turns a result into an error.
func (d *driver) check(call string, code Code) error {
	switch code {
	case codeSuccess:
		return nil
	case codeAbandoned:
		return ErrContext
	}
	return &Error{Call: call, Code: code, Name: d.text(d.getErrorName, code), Text: d.text(d.getErrorString, code)}
}

// text asks the driver for a string that describes a result.
func (d *driver) text(fn uintptr, code Code) string {
	p := new(*byte)
	if invoke(fn, uintptr(code), uintptr(unsafe.Pointer(p))) != codeSuccess || *p == nil {
		return "not known to the driver"
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(*p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(*p, n))
}
