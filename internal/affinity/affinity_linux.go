package affinity

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// maxCPUs is the size of the kernel's CPU sets as this package has them.
const maxCPUs = 1024

// allowed and allowedErr are what the process began with: any of its threads may
// have been pinned since, the first one too.
var allowed, allowedErr = Get()

// Allowed returns the CPUs that this process may run on, in ascending order, as
// they were when it began.
func Allowed() ([]int, error) { return allowed, allowedErr }

// Get returns the CPUs that the calling thread may run on, in ascending order.
func Get() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("sched_getaffinity: %w", err)
	}
	var cpus []int
	for cpu := range maxCPUs {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// Pin locks the calling goroutine to its thread and lets that run on the given
// CPUs only, until unpin, which the same goroutine calls. A goroutine that ends
// without it takes the thread with it.
func Pin(cpus []int) (unpin func(), err error) {
	runtime.LockOSThread()
	before, err := Get()
	if err == nil {
		err = set(cpus)
	}
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	return func() {
		if set(before) == nil {
			runtime.UnlockOSThread()
		}
	}, nil
}

func set(cpus []int) error {
	var set unix.CPUSet
	for _, cpu := range cpus {
		if cpu >= maxCPUs {
			return fmt.Errorf("CPU %d: at most %d CPUs are known", cpu, maxCPUs)
		}
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("sched_setaffinity to CPUs %s: %w", Format(cpus), err)
	}
	return nil
}
