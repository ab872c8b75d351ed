package ops

import (
	"errors"
	"math"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// Most published means and deviations are for pixels 0 … 1. On pictures of bytes they
// would give values in the hundreds, with which networks train badly and without a word.

// errConvention says what to do about such numbers.
var errConvention = errors.New("Mean and Std are those of pixels 0 … 1, but the pictures are uint8, 0 … 255: multiply both by 255, as ops.ImageNetMean and ops.ImageNetStd are")

// checkConvention refuses numbers for pixels 0 … 1 on pictures of bytes: no mean beyond 1
// and all deviations below 1.
func checkConvention(g *pipeline.Graph, name string, in datum.Spec, mean, std []float64) {
	if in.DType != datum.Uint8 || len(std) == 0 {
		return
	}
	for _, m := range mean {
		if !(math.Abs(m) <= 1) {
			return
		}
	}
	for _, s := range std {
		if !(s > 0 && s < 1) {
			return
		}
	}
	g.Fail(name, errConvention)
}

// constant is Op.Detail of Constant.
type constant []float64

// constants returns the numbers that a value is for all samples, none where it differs or
// is not known.
func constants(v pipeline.Value) []float64 {
	xs, _ := v.Detail().(constant)
	return xs
}
