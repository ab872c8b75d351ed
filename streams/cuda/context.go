package cuda

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"
)

// ContextKind says which context of the driver a device works in.
type ContextKind uint8

const (
	// Primary is the context that the process shares with everything that uses
	// CUDA's runtime library. Work of one context can overlap, that of two on one
	// GPU takes turns.
	Primary ContextKind = iota
	// Own is a new context for this device alone. Nobody else's
	// synchronisation waits for it.
	Own
)

// driverContext is a context and how it ends.
type driverContext struct {
	driver *driver
	handle uintptr
	close  func() error // does nothing to a context that somebody else made
	gone   atomic.Bool  // somebody else has destroyed it
}

// openContext returns the context that the options ask for.
func openContext(d *driver, gpu int32, o Options) (*driverContext, error) {
	c := &driverContext{driver: d, handle: o.Handle, close: func() error { return nil }}
	switch {
	case o.Handle != 0:
	case o.Context == Primary:
		if err := d.check("cuDevicePrimaryCtxRetain", invoke(d.primaryCtxRetain, uintptr(unsafe.Pointer(&c.handle)), uintptr(gpu))); err != nil {
			return nil, err
		}
		c.close = func() error {
			return d.check("cuDevicePrimaryCtxRelease_v2", invoke(d.primaryCtxRelease, uintptr(gpu)))
		}
	case o.Context == Own:
		runtime.LockOSThread()
		if err := d.check("cuCtxCreate_v2", invoke(d.ctxCreate, uintptr(unsafe.Pointer(&c.handle)), 0, uintptr(gpu))); err != nil {
			runtime.UnlockOSThread()
			return nil, err
		}
		c.leave() // a new context is current on the thread that made it
		c.close = func() error { return d.check("cuCtxDestroy_v2", invoke(d.ctxDestroy, c.handle)) }
	default:
		return nil, fmt.Errorf("cuda: Options.Context is %d; Primary and Own are possible", o.Context)
	}
	return c, nil
}

// ask calls a function of the driver that works in the context, which must be
// current. All such calls are made here: once the context is abandoned, none
// reaches the driver, whatever is on its way. As for invoke, variables whose
// addresses are among the arguments do not move and live until ask returns.
//
//go:uintptrescapes
func (c *driverContext) ask(fn uintptr, args ...uintptr) Code {
	if c.gone.Load() {
		return codeAbandoned
	}
	return invoke(fn, args...)
}

// enter locks the goroutine to its thread and makes the context current there.
// After success it must be followed by leave.
func (c *driverContext) enter() error {
	if c.gone.Load() {
		return ErrContext
	}
	runtime.LockOSThread()
	if err := c.driver.check("cuCtxPushCurrent_v2", invoke(c.driver.ctxPushCurrent, c.handle)); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	return nil
}

// leave undoes enter: the thread has the context that it had before.
func (c *driverContext) leave() {
	var popped uintptr
	invoke(c.driver.ctxPopCurrent, uintptr(unsafe.Pointer(&popped)))
	runtime.UnlockOSThread()
}

// do calls fn with the context current.
func (c *driverContext) do(fn func() error) error {
	if err := c.enter(); err != nil {
		return err
	}
	defer c.leave()
	return fn()
}

// call calls one function of the driver with the context current.
func (c *driverContext) call(name string, fn func() Code) error {
	return c.do(func() error { return c.driver.check(name, fn()) })
}
