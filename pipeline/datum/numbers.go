package datum

import (
	"context"
	"fmt"
)

// Numbers reads all samples of a source that has one output, of one number, for a Column of a [Columned].
func Numbers(ctx context.Context, src Source) ([]float64, error) {
	spec := src.Outputs()[0]
	if len(spec.Shape) > 0 {
		return nil, fmt.Errorf("one number for each sample is wanted, the column is %s", spec)
	}
	var t Tensor
	t.Declare(&spec)
	out, column := []*Tensor{&t}, make([]float64, src.Len())
	for i := range column {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		Begin(out)
		err := src.Read(ctx, int64(i), out)
		if err == nil {
			column[i], err = t.Scalar()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", src.Describe(int64(i)), err)
		}
	}
	return column, nil
}
