// Package affinity ties operating system threads to processors: the CPUs of a
// mask for the first workers, CPUs near a device for the rest, as NVIDIA DALI
// does with DALI_AFFINITY_MASK.
package affinity

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrUnsupported is returned where the operating system has no thread affinity
// that this package knows: everywhere but on Linux.
var ErrUnsupported = errors.New("thread affinity is only supported on Linux")

// Parse reads a mask as in "3,5,6,10": CPU numbers in the order of the workers.
// Blanks around numbers are allowed; anything else, an empty entry included, is
// an error.
func Parse(mask string) ([]int, error) {
	var cpus []int
	for _, entry := range strings.Split(mask, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(entry))
		if err != nil || n < 0 {
			return nil, fmt.Errorf("affinity mask %q: %q is no CPU number; numbers from 0 with commas between them are wanted, as in 3,5,6,10", mask, entry)
		}
		cpus = append(cpus, n)
	}
	return cpus, nil
}

// Assign returns the CPUs that each worker may run on: worker i on the i-th CPU of
// the mask alone, and those beyond its end on all CPUs near the device.
func Assign(workers int, mask, near []int) [][]int {
	sets := make([][]int, workers)
	for i := range sets {
		if i < len(mask) {
			sets[i] = mask[i : i+1]
		} else {
			sets[i] = near
		}
	}
	return sets
}

// Check returns an error that names the CPUs of a mask that this process cannot
// run on: they do not exist, are offline, or are not allowed to it.
func Check(mask, allowed []int) error {
	var bad []int
	for _, cpu := range mask {
		if !slices.Contains(allowed, cpu) {
			bad = append(bad, cpu)
		}
	}
	if bad == nil {
		return nil
	}
	return fmt.Errorf("CPUs %v of the affinity mask are offline, missing or not allowed to this process; it may run on %s", bad, Format(allowed))
}

// Format writes CPUs in ascending order as in "0-3,8".
func Format(cpus []int) string {
	cpus = slices.Compact(slices.Sorted(slices.Values(cpus)))
	var b strings.Builder
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		if fmt.Fprint(&b, cpus[i]); j > i {
			fmt.Fprintf(&b, "-%d", cpus[j])
		}
		i = j + 1
	}
	return b.String()
}

// ParseList reads a list of CPUs as Format and the kernel write it, as in "0-3,8"; an empty
// list has none.
func ParseList(list string) (cpus []int, err error) {
	const most = 1 << 16 // no machine has as many
	if list == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(list, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		from, errFrom := strconv.Atoi(low)
		to, errTo := strconv.Atoi(high)
		if errFrom != nil || errTo != nil || from < 0 || to < from || to >= most {
			return nil, fmt.Errorf("%q is no list of CPUs", list)
		}
		for cpu := from; cpu <= to; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}
