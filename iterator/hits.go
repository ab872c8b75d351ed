package iterator

import (
	"fmt"

	"github.com/planktonml/plankton/pipeline/datum"
)

// Hits counts the valid rows of a batch that have their largest score, the first one of equal ones, at their label.
// Scores has a number for each row and class, row by row, such as logits; label is an output of class numbers, int32 or int64, or
// one-hot, float32 or float64. Divided by the sum of NumValid over batches it is the accuracy. It panics where the
// output is none of these, or where the scores do not fit it.
func Hits[T float32 | float64](b *Batch, label string, scores []T) (hits int) {
	classes := len(scores) / b.Size()
	if shape := b.Shape(label); classes < 1 || len(scores) != classes*b.Size() || len(shape) > 1 && (len(shape) > 2 || shape[1] != classes) {
		panic(fmt.Sprintf("iterator: Hits was given %d scores for a batch of %d rows whose output %q has the shape %v; want one for each row and class", len(scores), b.Size(), label, shape))
	}
	is := labelsOf(b, label)
	for row, valid := range b.Mask() {
		own := scores[row*classes:][:classes]
		best := 0
		for i := range own {
			if own[i] > own[best] {
				best = i
			}
		}
		if valid && is(row, best) {
			hits++
		}
	}
	return hits
}

// labelsOf returns a function that tells whether a row is of a class.
func labelsOf(b *Batch, output string) func(row, class int) bool {
	classes := 0
	if shape := b.Shape(output); len(shape) == 2 {
		classes = shape[1]
	}
	kind := b.DType(output)
	switch {
	case kind == datum.Int32 && classes == 0:
		of := b.Int32s(output)
		return func(row, class int) bool { return int(of[row]) == class }
	case kind == datum.Int64 && classes == 0:
		of := b.Int64s(output)
		return func(row, class int) bool { return of[row] == int64(class) }
	case kind == datum.Float32 && classes > 0:
		of := b.Float32s(output)
		return func(row, class int) bool { return of[row*classes+class] == 1 }
	case kind == datum.Float64 && classes > 0:
		of := b.Float64s(output)
		return func(row, class int) bool { return of[row*classes+class] == 1 }
	}
	panic(fmt.Sprintf("iterator: output %q is %s of the shape %v; Hits wants class numbers, int32 or int64, or one-hot labels, float32 or float64", output, kind, b.Shape(output)))
}
