//go:build cuda

package gorgoniaplugin

import (
	"errors"
	"fmt"
	"reflect"
	"time"
	"unsafe"

	"gorgonia.org/cu"
	cublas "gorgonia.org/cu/blas"
	"gorgonia.org/gorgonia"
)

// machine is the machine that a feed is attached to, as far as batches on the GPU
// go.
type machine struct {
	vm      gorgonia.CUDAMachine // nil where nothing is on the GPU
	device  *device
	managed map[*batchOp][]byte // for batches that operators read on the host as well
	err     error               // of waiting for the machine
}

// attach readies vm for what the feed shows it, and the pipeline's device for vm.
func (m *machine) attach(f *Feed, vm gorgonia.VM) ([]Placement, error) {
	c, ok := vm.(gorgonia.CUDAMachine)
	on := ok && open(c)
	if on {
		if err := giveContext(c); err != nil {
			return nil, err
		}
		if err := loadKernels(f.graph, c); err != nil {
			return nil, err
		}
	}
	if !f.onDevice() {
		if err := f.checkGraph(vm); err != nil {
			return nil, err
		}
		return f.place(c, on), nil
	}
	if !on {
		return nil, fmt.Errorf("gorgoniaplugin: Attach was given a %T that does nothing on the GPU, or that was closed: pass an open TapeMachine of the graph that the feed's nodes are in", vm)
	}
	if m.vm != nil && any(m.vm) != any(c) {
		return nil, errors.New("gorgoniaplugin: the feed's batches are in the memory of another machine: close the feed, and make a loader and a feed for this one")
	}
	if err := f.checkGraph(vm); err != nil {
		return nil, err
	}
	if m.vm == nil {
		d := f.loader.Pipelines()[0].Options().Device.(*device)
		if err := d.open(c); err != nil {
			return nil, err
		}
		m.vm, m.device, m.managed = c, d, map[*batchOp][]byte{}
	}
	places := f.place(c, on)
	for i, in := range f.inputs {
		if op, ok := in.source.(*batchOp); ok && places[i].Where == Managed && m.managed[op] == nil {
			mem, err := m.alloc(in.shape.TotalSize() * int(in.dtype.Size()))
			if err != nil {
				return nil, err
			}
			m.managed[op] = mem
		}
	}
	return places, nil
}

// giveContext makes the machine's context that of its engine's cuBLAS. Gorgonia opens
// and calls cuBLAS on a thread that it leaves without one, so that cuBLAS would work
// in the process's primary context, where memory of the machine need not be visible
// and where work is not ordered after that of the machine. A handle of cuBLAS belongs
// to the context in which it was made, so there is a new one.
func giveContext(vm gorgonia.CUDAMachine) error {
	c, blas := contextOf(vm), vm.Engines()[0].BLASContext()
	if err := onEngine(vm, func() error {
		if err := blas.Close(); err != nil {
			return err
		}
		if err := cu.SetCurrentContext(c.CUDAContext()); err != nil {
			return err
		}
		return blas.Init(cublas.WithContext(c))
	}); err != nil {
		return fmt.Errorf("gorgoniaplugin: cuBLAS cannot be opened in the machine's context: %w", err)
	}
	return nil
}

// onEngine calls fn on the thread of the machine's engine. Gorgonia ends that thread
// when something on it fails, and lets wait for ever who asks it for something
// afterwards; then this takes fn back and returns ErrMachineFailed.
func onEngine(vm gorgonia.CUDAMachine, fn func() error) (err error) {
	c, done := contextOf(vm), make(chan struct{})
	go func() {
		defer close(done)
		_ = c.Do(func() error {
			err = fn() // of which the engine does not know, so it goes on
			return nil
		})
	}()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-done:
			return err
		case <-look.C:
			if !failed(vm) {
				continue
			}
			select {
			case <-done:
				return err
			case <-c.Work():
				c.ErrChan() <- nil
				<-done
				return ErrMachineFailed
			}
		}
	}
}

// failed reports whether the machine's engine has ended with an error, of which
// Gorgonia tells nobody.
func failed(vm gorgonia.CUDAMachine) bool {
	e := &vm.Engines()[0]
	e.Lock()
	defer e.Unlock()
	err := reflect.ValueOf(e).Elem().FieldByName("err")
	return err.IsValid() && !err.IsNil()
}

// open reports whether a machine works on the GPU and has not been closed.
func open(vm gorgonia.CUDAMachine) bool { return len(vm.Engines()) > 0 }

// contextOf returns the machine's context on the first GPU; Gorgonia uses no other.
// The method Contexts would copy engines that are at work.
func contextOf(vm gorgonia.CUDAMachine) *cu.BatchedContext { return vm.Engines()[0].Context() }

// handle returns the driver's handle of the machine's context, which is all that a
// CUContext holds.
func handle(vm gorgonia.CUDAMachine) uintptr {
	c := contextOf(vm).CUDAContext()
	return *(*uintptr)(unsafe.Pointer(&c))
}

// address returns where memory of the GPU is.
func address(mem []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(mem))) }

// alloc returns managed memory of the machine's context.
func (m *machine) alloc(n int) (mem []byte, err error) {
	err = m.device.do(func() error {
		p, err := cu.MemAllocManaged(int64(n), cu.AttachGlobal)
		if err != nil {
			return m.device.memoryError(n, err)
		}
		mem = unsafe.Slice(*(**byte)(unsafe.Pointer(&p)), n)
		return nil
	})
	return mem, err
}

// copy copies between memory of the GPU, and waits: the host may read dst next.
func (m *machine) copy(dst, src []byte) error {
	return m.device.do(func() error {
		if err := cu.MemcpyDtoD(cu.DevicePtr(address(dst)), cu.DevicePtr(address(src)), int64(len(src))); err != nil {
			return err
		}
		return cu.NoStream.Synchronize()
	})
}

// begin does nothing: what a machine has on the GPU does not tell whether it was reset.
func (*machine) begin() {}

// ran tells, behind a body, whether the machine is still there.
func (m *machine) ran() error { return m.check() }

// check tells whether the machine is still there.
func (m *machine) check() error {
	if m.vm != nil && !open(m.vm) {
		return ErrMachineClosed
	}
	return m.err
}

// finish waits until the machine has done what it has issued: all of it goes to
// the context's default stream. The batch's memory can then be written again. Most
// runs end with a copy to the host, after which nothing is left to wait for.
//
// The host waits, here and in the pipeline before it hands a batch over, where the
// streams could wait for each other's events. That would gain nothing: a run begins with
// copies from the host, of the weights if of nothing else, for which Gorgonia waits
// on the default stream, so the host would stand there instead. And it would cost that
// a batch is over when its loop's body is: an upload that fails has to be known before the body,
// and Reset and Close would find batches that nobody holds and that are still read.
func (m *machine) finish() {
	if m.vm != nil && m.check() == nil {
		m.err = m.device.do(cu.NoStream.Synchronize)
	}
}

// close ends what the feed has in the machine's context. The loader's batches are
// there, so it ends, too.
func (m *machine) close(f *Feed) error {
	if m.vm == nil {
		return nil
	}
	if !open(m.vm) {
		m.device.abandon()
	}
	err := m.check()
	err = errors.Join(err, f.loader.Close())
	for _, mem := range m.managed {
		if open(m.vm) {
			err = errors.Join(err, m.device.do(func() error { return cu.MemFree(cu.DevicePtr(address(mem))) }))
		}
	}
	m.managed = nil
	return errors.Join(err, m.device.release())
}
