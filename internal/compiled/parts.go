package compiled

import (
	"math"

	"github.com/planktonml/plankton/memstats"
)

// Part is what the memory of a dense output belongs to: the batch, from its
// beginning to its release, or where the parts of the pipeline have prefetch depths
// of their own, one of them.
type Part uint8

const (
	OfBatch  Part = iota
	OfHost        // from the sample region to the operators that read it there
	OfDevice      // from the operators for whole batches to the release

	Parts = iota
)

// partOf returns what an output's memory belongs to.
func (p *Pipeline) partOf(output int) Part {
	switch {
	case !p.options.Depths():
		return OfBatch
	case p.outputs[output].Whole:
		return OfDevice
	case output < p.shown:
		return OfBatch
	}
	return OfHost
}

// SlabCount returns how many slabs of a part there are at the most.
func (p *Pipeline) SlabCount(of Part) int {
	switch o := &p.options; {
	case of == OfHost && o.Depths():
		return o.HostDepth + 1
	case of == OfDevice && o.Depths():
		return o.DeviceDepth + 1
	case of == OfBatch:
		return o.Slots()
	}
	return 0
}

// DenseBytes returns what the dense outputs of all batches take of the host,
// page-locked memory included, and of the device.
func (p *Pipeline) DenseBytes() (host, device int64) {
	for i, o := range p.outputs {
		n := p.DenseBytesOf(i)
		if o.Kind == memstats.Device {
			device = AddCapped(device, n)
		} else {
			host = AddCapped(host, n)
		}
	}
	return host, device
}

// LookAhead returns the bytes that readers set aside to fetch what a run is going to read.
func (p *Pipeline) LookAhead() (n int64) {
	for i := range p.readers {
		n = AddCapped(n, p.readers[i].LookAhead())
	}
	return n
}

// DenseBytesOf returns what one of the outputs takes in all batches.
func (p *Pipeline) DenseBytesOf(output int) int64 {
	o := &p.outputs[output]
	if !o.Spec.Dense() || !o.Owns {
		return 0
	}
	return MulCapped(MulCapped(int64(p.SlabCount(o.Part)), int64(p.options.BatchSize)), int64(o.Spec.Bytes()))
}

// MulCapped returns the product of two numbers that are not negative, at most MaxInt64.
func MulCapped(a, b int64) int64 {
	if a != 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}

// AddCapped returns their sum, likewise.
func AddCapped(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
