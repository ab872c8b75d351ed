package pipeline

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/planktonml/plankton/internal/accel"
	"github.com/planktonml/plankton/internal/affinity"
	"github.com/planktonml/plankton/internal/compiled"
)

// ErrUnsupported is wrapped by New's error for an option that the operating system
// cannot fulfil: SetAffinity elsewhere than on Linux.
var ErrUnsupported = affinity.ErrUnsupported

// cpus finds out which CPUs so many workers may run on, nil for any.
func (o *Options) cpus(workers int) (*compiled.CPUs, error) {
	if !o.SetAffinity {
		if o.AffinityMask != nil || o.CPUsNearDevice != nil {
			return nil, errors.New("AffinityMask or CPUsNearDevice is given without SetAffinity, which they belong to")
		}
		return nil, nil
	}
	allowed, err := affinity.Allowed()
	if err != nil {
		return nil, fmt.Errorf("SetAffinity: %w", err)
	}
	mask := o.AffinityMask
	if mask == nil {
		if mask, err = maskFromEnv(os.LookupEnv); err != nil {
			return nil, err
		}
	}
	mask = mask[:min(len(mask), workers)] // others are for more workers than there are
	if err := affinity.Check(mask, allowed); err != nil {
		return nil, fmt.Errorf("SetAffinity: %w", err)
	}
	near := allowed
	if workers > len(mask) {
		if near, err = o.nearCPUs(allowed); err != nil {
			return nil, err
		}
	}
	return &compiled.CPUs{Mask: mask, Near: near}, nil
}

// nearCPUs returns the CPUs near the device that the process may run on.
func (o *Options) nearCPUs(allowed []int) ([]int, error) {
	if o.CPUsNearDevice != nil {
		near, err := o.CPUsNearDevice()
		if err != nil {
			return nil, fmt.Errorf("SetAffinity: the CPUs near the device: %w", err)
		}
		if len(near) == 0 {
			return nil, errors.New("SetAffinity: CPUsNearDevice has named none")
		}
		if err := affinity.Check(near, allowed); err != nil {
			return nil, fmt.Errorf("SetAffinity: near the device: %w", err)
		}
		return near, nil
	}
	d, ok := o.Device.(accel.Near)
	if !ok {
		return allowed, nil
	}
	near, err := d.NearCPUs()
	if err != nil {
		return nil, fmt.Errorf("SetAffinity: the CPUs near %s: %w", o.Device.Name(), err)
	}
	near = slices.DeleteFunc(near, func(cpu int) bool { return !slices.Contains(allowed, cpu) })
	if len(near) == 0 {
		return allowed, nil
	}
	return near, nil
}

// maskFromEnv returns the mask that the environment sets, nil for none.
func maskFromEnv(lookup func(string) (string, bool)) ([]int, error) {
	for _, name := range []string{"PLANKTON_AFFINITY_MASK", "DALI_AFFINITY_MASK"} {
		if text, ok := lookup(name); ok && text != "" {
			mask, err := affinity.Parse(text)
			if err != nil {
				return nil, fmt.Errorf("the environment variable %s: %w", name, err)
			}
			return mask, nil
		}
	}
	return nil, nil
}
