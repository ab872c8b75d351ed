package cuda_test

import (
	"errors"
	"fmt"

	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/cuda"
)

// A program works on the host where there is no driver.
func Example() {
	var device streams.Device
	gpu, err := cuda.OpenWith(0, cuda.Options{Library: "libcuda-is-not-here.so.1"})
	switch {
	case err == nil:
		device = gpu
	case errors.Is(err, cuda.ErrNoDriver), errors.Is(err, cuda.ErrNoDevice):
		device = streams.NewHost()
	default:
		fmt.Println(err)
		return
	}
	defer device.Close()
	fmt.Println(device.Name())
	// Output: host
}

// What is uploaded on one stream is used on another, behind an event.
func ExampleQueue() {
	d, err := cuda.Open(0)
	if err != nil {
		return
	}
	defer d.Close()
	uploads, _ := d.NewStream()
	kernels, _ := d.NewStream()
	host, _ := d.HostMemory().Alloc(1 << 20)
	defer d.HostMemory().Free(host)
	mem, _ := d.Memory().Alloc(1 << 20)
	defer d.Memory().Free(mem)

	uploads.Do(func(c *streams.Context) error {
		q, err := cuda.QueueOf(c)
		if err != nil {
			return err
		}
		return q.Copy(mem, host)
	})
	kernels.Wait(uploads.Record())
	kernels.Do(func(c *streams.Context) error {
		q, err := cuda.QueueOf(c)
		if err != nil {
			return err
		}
		return q.Fill(mem[:1024], 0)
	})
	if err := errors.Join(uploads.Close(), kernels.Close()); err != nil {
		fmt.Println(err)
	}
}
