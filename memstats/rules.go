package memstats

import (
	"fmt"
	"math"
	"strconv"
)

// Rules say how buffers follow the sizes they are asked for. The names, values
// and defaults are those of NVIDIA DALI.
type Rules struct {
	// HostShrinkThreshold is the fraction of its size below which a host
	// buffer is not used any more: 0 never shrinks, 1 always.
	HostShrinkThreshold float64
	// HostGrowthFactor is how much larger a host or page-locked buffer is made
	// than it has to be when it grows; at least 1.
	HostGrowthFactor float64
	// DeviceGrowthFactor is the same for device buffers.
	DeviceGrowthFactor float64
}

// DefaultRules returns a shrink threshold of 0.9 and growth factors of 1.
func DefaultRules() Rules {
	return Rules{HostShrinkThreshold: 0.9, HostGrowthFactor: 1, DeviceGrowthFactor: 1}
}

// Validate returns an error that names the first value out of range.
func (r Rules) Validate() error {
	if !(r.HostShrinkThreshold >= 0 && r.HostShrinkThreshold <= 1) {
		return fmt.Errorf("the host buffer shrink threshold is %g; it must be 0 (never shrink) … 1 (always)", r.HostShrinkThreshold)
	}
	for _, f := range []struct {
		of    string
		value float64
	}{{"host", r.HostGrowthFactor}, {"device", r.DeviceGrowthFactor}} {
		if !(f.value >= 1) || math.IsInf(f.value, 0) {
			return fmt.Errorf("the %s buffer growth factor is %g; it must be finite and at least 1", f.of, f.value)
		}
	}
	return nil
}

// RulesFromEnv returns the default rules as the environment changes them; lookup
// is os.LookupEnv. A value that is no number, or is out of range, is an error
// that names the variable.
func RulesFromEnv(lookup func(string) (string, bool)) (Rules, error) {
	r := DefaultRules()
	for _, v := range []struct {
		to    *float64
		names []string
	}{
		{&r.HostShrinkThreshold, []string{"HOST_BUFFER_SHRINK_THRESHOLD"}},
		{&r.HostGrowthFactor, []string{"HOST_BUFFER_GROWTH_FACTOR", "BUFFER_GROWTH_FACTOR"}},
		{&r.DeviceGrowthFactor, []string{"DEVICE_BUFFER_GROWTH_FACTOR", "BUFFER_GROWTH_FACTOR"}},
	} {
		name, text, ok := first(lookup, v.names)
		if !ok {
			continue
		}
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return r, fmt.Errorf("the environment variable %s is %q; a number is wanted", name, text)
		}
		*v.to = x
		if err := r.Validate(); err != nil {
			return r, fmt.Errorf("the environment variable %s: %w", name, err)
		}
	}
	return r, nil
}

// first returns the first variable that is set and not empty: plankton's names
// before DALI's, special ones before general ones.
func first(lookup func(string) (string, bool), names []string) (name, value string, ok bool) {
	for _, prefix := range []string{"PLANKTON_", "DALI_"} {
		for _, n := range names {
			if v, ok := lookup(prefix + n); ok && v != "" {
				return prefix + n, v, true
			}
		}
	}
	return "", "", false
}

// growth returns the growth factor of a kind of memory.
func (r *Rules) growth(k Kind) float64 {
	if k == Device {
		return r.DeviceGrowthFactor
	}
	return r.HostGrowthFactor
}

// scaled returns n times a factor, rounded up.
func scaled(n int, factor float64) int {
	if factor == 1 {
		return n
	}
	return max(n, int(math.Ceil(min(float64(n)*factor, 1<<62))))
}
