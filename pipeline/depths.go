package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// depths reports whether the parts of the pipeline have prefetch depths of their
// own.
func (o *Options) depths() bool { return o.HostPrefetchDepth != 0 || o.DevicePrefetchDepth != 0 }

// depthName returns the option that says how many batches the consumer may hold.
func (o *Options) depthName() string {
	if o.depths() {
		return "DevicePrefetchDepth"
	}
	return "PrefetchDepth"
}

// prefetch writes the prefetch depths, for Options.String.
func (o *Options) prefetch() string {
	if o.depths() {
		return fmt.Sprintf("%d on the host and %d on the device", o.HostPrefetchDepth, o.DevicePrefetchDepth)
	}
	return strconv.Itoa(o.PrefetchDepth)
}

// checkDepths refuses prefetch depths for parts that are not there.
func (p *Pipeline) checkDepths() error {
	if p.opt.depths() && !slices.ContainsFunc(p.batchOps, batchNode.onStream) {
		return &BuildError{Op: "options", Err: errors.New("HostPrefetchDepth and DevicePrefetchDepth are for pipelines with mixed or device operators, which this one has not: use PrefetchDepth")}
	}
	return nil
}
