//go:build cuda

package gorgoniaplugin

import (
	"errors"
	"fmt"
	"sync"

	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/cuda"
	"gorgonia.org/cu"
	"gorgonia.org/gorgonia"
)

// Device is for pipeline.Options.Device. In a program that is built with
// Gorgonia's tag cuda, it is the GPU that the graph runs on, in the context of the
// machine that Feed.Attach is given; every pipeline needs one of its own. In other
// programs it is nil: the pipeline then works on the host alone. So a pipeline
// whose outputs end with ops.ToDevice brings its batches to where the graph reads
// them, in both builds.
//
// Until Attach nothing is allocated on the device, and a loader that is asked for
// a batch fails with ErrNotAttached.
func Device() streams.Device { return &device{} }

// device is a GPU in the context of a machine that does not exist yet when the
// pipeline is built: a machine is made from the graph, the graph's nodes from the
// pipeline.
//
// Its page-locked memory is of the process's primary context, and as good in the
// machine's: the pipeline's workers write it, and must be able to after the machine
// was closed, which takes the memory of its context with it.
type device struct {
	mu    sync.Mutex
	gpu   *cuda.Device // in the machine's context; nil until a feed is attached
	host  *cuda.Device // in the primary context
	users int          // feeds
}

// readable refuses devices other than those of Device, whose memory belongs to
// another context than the machine's.
func readable(d streams.Device) error {
	if _, ok := d.(*device); !ok {
		return fmt.Errorf("it is in the memory of %s, which a machine of Gorgonia cannot read: set pipeline.Options.Device to Device()", d.Name())
	}
	return nil
}

// open opens the device in the machine's context.
func (d *device) open(vm gorgonia.CUDAMachine) error {
	context := handle(vm)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gpu == nil {
		gpu, err := cuda.OpenWith(0, cuda.Options{Handle: context})
		if err != nil {
			return err
		}
		host, err := cuda.OpenWith(0, cuda.Options{})
		if err != nil {
			return errors.Join(err, gpu.Close())
		}
		d.gpu, d.host = gpu, host
	}
	if d.gpu.Context() != context {
		return fmt.Errorf("gorgoniaplugin: the pipeline's device is in use with another machine: %w: give every pipeline a Device of its own", ErrBusy)
	}
	d.users++
	return nil
}

// release closes the device after its last feed.
func (d *device) release() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.users--; d.users > 0 {
		return nil
	}
	err := errors.Join(d.gpu.Close(), d.host.Close())
	d.gpu, d.host = nil, nil
	return err
}

// abandon says that the machine was closed, and with it the context.
func (d *device) abandon() {
	if gpu, err := d.opened(); err == nil {
		gpu.Abandon()
	}
}

func (d *device) opened() (*cuda.Device, error) {
	gpu, _, err := d.both()
	return gpu, err
}

// both returns the devices in the machine's context and in the primary one.
func (d *device) both() (gpu, host *cuda.Device, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gpu == nil {
		return nil, nil, ErrNotAttached
	}
	return d.gpu, d.host, nil
}

// do calls fn with the machine's context current.
func (d *device) do(fn func() error) error {
	gpu, err := d.opened()
	if err != nil {
		return err
	}
	return gpu.Do(fn)
}

// memoryError makes what gorgonia.org/cu says about a failed allocation an error of
// streams/cuda.
func (d *device) memoryError(n int, err error) error {
	if !errors.Is(err, cu.OutOfMemory) {
		return err
	}
	e := &cuda.MemoryError{Kind: memstats.Device, Asked: int64(n), Err: &cuda.Error{
		Call: "cuMemAllocManaged", Code: cuda.Code(cu.OutOfMemory), Name: "CUDA_ERROR_OUT_OF_MEMORY", Text: err.Error(),
	}}
	e.Free, e.Total, _ = d.gpu.FreeMemory() // 0 if the driver does not say
	return e
}

func (d *device) Name() string {
	if gpu, err := d.opened(); err == nil {
		return gpu.Name()
	}
	return "the GPU of the graph"
}

// NearCPUs returns the CPUs near the first GPU, which Gorgonia works on.
func (d *device) NearCPUs() ([]int, error) { return cuda.NearCPUs(0) }

func (d *device) NewStream() (streams.Stream, error) {
	gpu, err := d.opened()
	if err != nil {
		return nil, err
	}
	return gpu.NewStream()
}

// Close does nothing: Feed.Close ends the device.
func (d *device) Close() error { return nil }

func (d *device) Memory() memstats.Allocator {
	return allocator{d, func(gpu, _ *cuda.Device) memstats.Allocator { return gpu.Memory() }}
}

func (d *device) HostMemory() memstats.Allocator {
	return allocator{d, func(_, host *cuda.Device) memstats.Allocator { return host.HostMemory() }}
}

// allocator is one of the devices', once they are open.
type allocator struct {
	device *device
	of     func(gpu, host *cuda.Device) memstats.Allocator
}

func (a allocator) Alloc(n int) ([]byte, error) {
	gpu, host, err := a.device.both()
	if err != nil {
		return nil, err
	}
	return a.of(gpu, host).Alloc(n)
}

func (a allocator) Free(mem []byte) {
	if gpu, host, err := a.device.both(); err == nil {
		a.of(gpu, host).Free(mem)
	}
}
