// Package cuda is a device of package streams on an NVIDIA GPU: streams, events,
// memory, modules and kernels of the CUDA driver.
//
// The driver library is opened at run time, so a program that imports this
// package builds without CUDA's headers or a C compiler, on every system, and
// runs where there is no driver: Open then returns ErrNoDriver. Only Linux has a
// driver that is looked for.
//
//	d, err := cuda.Open(0)
//	…
//	defer d.Close()
//	s, err := d.NewStream()
//	…
//	s.Do(func(c *streams.Context) error {
//		q, err := cuda.QueueOf(c)
//		if err != nil {
//			return err
//		}
//		return q.Copy(onDevice, pageLocked)
//	})
//	ready := s.Record()
//
// # Order
//
// Every stream has a goroutine that issues, which calls the functions given to
// Do one after the other: they launch kernels and copies, which return at once,
// on the Queue of their stream. A stream that waits for an event first waits for
// it to have been recorded, and then lets the driver wait; so what the functions
// do on the host is ordered like what they launch. Nothing waits for the GPU
// except who asks to: Event.Wait, Event.Then, Synchronize and Close. For all of
// them one goroutine of the device asks the driver which events have completed.
//
// # Threads and contexts
//
// The driver keeps a stack of contexts per thread, and goroutines change
// threads. The package pushes its context for the calls it makes and pops it
// afterwards, on a locked thread. It neither relies on a context that is current
// nor leaves its own behind, so it can share a process with other users of the
// driver. Functions given to Stream.Do and Device.Do find the context current.
//
// # Memory
//
// Memory of the device is a []byte that holds an address and a length. Its
// bytes are out of reach for the host: reading one ends the process.
// Page-locked memory is ordinary memory that the GPU copies from and to by
// itself. Both kinds are not collected; who allocates frees.
package cuda
