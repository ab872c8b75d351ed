package pipeline

import (
	"fmt"
	"strconv"
)

// depths reports whether the parts of the pipeline have prefetch depths of their
// own.
func (o *Options) depths() bool { return o.HostPrefetchDepth != 0 || o.DevicePrefetchDepth != 0 }

// prefetch writes the prefetch depths, for Options.String.
func (o *Options) prefetch() string {
	if o.depths() {
		return fmt.Sprintf("%d on the host and %d on the device", o.HostPrefetchDepth, o.DevicePrefetchDepth)
	}
	return strconv.Itoa(o.PrefetchDepth)
}
