package ops

import (
	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline/datum"
)

var (
	_ datum.RowsKernel = cast{}
	_ datum.RowsKernel = funcOfRows{}
	_ datum.RowsKernel = constantKernel{}
	_ datum.RowsKernel = lookup{}
	_ datum.RowsKernel = (*elementwise)(nil)
	_ datum.RowsKernel = (*reshape)(nil)
	_ datum.RowsKernel = (*joiner)(nil)
	_ datum.RowsKernel = (*normalize)(nil)
	_ datum.RowsKernel = (*oneHot)(nil)
	_ datum.RowsKernel = (*cmnOfAll)(nil)
)

// rowOf returns one of n rows that lie one behind the other.
func rowOf(data []byte, n, row int) []byte {
	size := len(data) / n
	return data[row*size:][:size:size]
}

// rowScalar is datum.Tensor.Scalar of one of n rows; false where that is an error.
func rowScalar(r *datum.Rows, n, row int) (x float64, ok bool) {
	t := r.Spec.DType
	if r.Spec.Bytes() != t.Size() || t == datum.Float16 {
		return 0, false
	}
	var one [1]float64
	err := imaging.Cast(datum.BytesOf(one[:]), datum.Float64, rowOf(r.Data, n, row), t)
	return one[0], err == nil
}
