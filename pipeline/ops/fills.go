package ops

import (
	"fmt"
	"math"
	"slices"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline/datum"
)

// fills are fill values as elements of a type.
type fills struct {
	list listArg
	wide []float64
	mem  []byte
}

// of returns one value, or one for each of so many channels. For integers fractions are
// cut off.
func (f *fills) of(in []*datum.Tensor, t datum.DType, channels int) ([]byte, error) {
	xs, err := f.list.of(in)
	if err != nil {
		return nil, err
	}
	if len(xs) != 1 && len(xs) != channels {
		return nil, fmt.Errorf("%s has %d values for %d channels; one, or one per channel, is wanted", f.list.name, len(xs), channels)
	}
	f.wide = append(f.wide[:0], xs...) // a default belongs to all workers
	f.mem, err = truncated(f.mem, t, f.wide)
	return f.mem, err
}

// truncated returns numbers as elements of a type, in the memory of dst where it suffices: for
// integers their fractions are cut off, and they saturate. It spoils xs.
func truncated(dst []byte, to datum.DType, xs []float64) ([]byte, error) {
	if !to.IsFloat() {
		for i, x := range xs {
			xs[i] = math.Trunc(x)
		}
	}
	n := len(xs) * to.Size()
	dst = slices.Grow(dst[:0], n)[:n]
	return dst, plain(imaging.Cast(dst, to, datum.BytesOf(xs), datum.Float64))
}
