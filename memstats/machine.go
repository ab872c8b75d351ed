package memstats

import (
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"sync"
)

// MachineMemory returns the most bytes that this process can have at a time: the memory
// of the machine, or less where a control group (Linux) or a limit on the process's
// address space says so; without swap. It is asked once. Where the system does not tell,
// it is what a process can address.
func MachineMemory() int64 { return machineMemory() }

var machineMemory = sync.OnceValue(func() int64 {
	if n := systemMemory(); n > 0 {
		return min(n, addressSpace)
	}
	return addressSpace
})

// addressSpace is the size of a process's memory on the 64-bit systems that Go knows.
const addressSpace = 1 << 47

// smallestChecked is the smallest request that is worth a look at what the process holds.
const smallestChecked = 1 << 20

// Room returns a *RoomError if the machine has no room for n more bytes beside what
// the program holds on the Go heap. The Go runtime would end the process over them. Less
// than a MiB has always room.
func Room(n int64) error { return room(n, MachineMemory(), liveHeap) }

func room(n, machine int64, live func() int64) error {
	switch {
	case n < smallestChecked || n <= machine-live():
		return nil
	case n <= machine:
		runtime.GC() // some of it may be garbage
		if n <= machine-live() {
			return nil
		}
	}
	return &RoomError{Need: n, Machine: machine}
}

// liveHeap returns the bytes of objects on the heap, dead ones that were not collected
// yet included.
func liveHeap() int64 {
	s := [...]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s[:])
	if s[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(min(s[0].Value.Uint64(), math.MaxInt64))
}

// RoomError says that memory is more than the machine has, or more than it has left.
type RoomError struct {
	Need    int64 // bytes that were asked for
	Machine int64 // bytes that the process can have in all, as MachineMemory says
}

func (e *RoomError) Error() string {
	left := "has"
	if e.Need <= e.Machine {
		left = "has left, of"
	}
	return fmt.Sprintf("%d bytes are more than this machine, or its control group, %s %d; use smaller samples or batches, or fewer batches ahead", e.Need, left, e.Machine)
}
