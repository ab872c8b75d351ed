package arrays

import (
	"fmt"
	"math"
	"slices"

	"github.com/planktonml/plankton/pipeline/datum"
)

// Reduction says what is made of the elements of a group.
type Reduction uint8

const (
	SumOf Reduction = iota + 1
	MeanOf
	MeanSquareOf
	RMSOf
	MinOf
	MaxOf
	VarianceOf // about means that are given
	StdDevOf   // the root of VarianceOf
)

// squares reports whether squares are added.
func (r Reduction) squares() bool { return r == MeanSquareOf || r == RMSOf }

// Types returns the type of the result for elements of type t; want is the type asked for, 0
// for none.
func (r Reduction) Types(t, want DType) (DType, error) {
	if t == datum.Bool || t == datum.Float16 || kindOf(t) == none {
		return 0, fmt.Errorf("the input is %v; cast it to a type that is added, such as int32 or float32", t)
	}
	sum := datum.Uint64
	switch {
	case t.IsFloat():
		sum = t
	case IsSigned(t):
		sum = datum.Int64
	}
	var may []DType
	float := datum.Float32
	if t == datum.Float64 {
		float = t
	}
	switch r {
	case SumOf:
		may = []DType{sum, t}
		if t.Size() < 8 {
			may = append(may, float)
		}
	case MeanOf, RMSOf:
		may = []DType{float, t}
	case MeanSquareOf:
		may = []DType{float, sum}
	case MinOf, MaxOf:
		may = []DType{t}
	default:
		may = []DType{float}
	}
	switch {
	case want == 0:
		return may[0], nil
	case !slices.Contains(may, want):
		return 0, fmt.Errorf("DType is %v; the types for %v elements are %v", want, t, may)
	}
	return want, nil
}

// Reducer reduces arrays. It holds scratch memory; each goroutine needs its own. The zero
// value is ready.
type Reducer struct {
	sums  []float64
	whole []uint64 // sums of integers, modulo 2⁶⁴: those of signed ones in two's complement

	dims    []int // of the array, neighbours that are both reduced or both kept being one
	reduced []bool
}

// Reduce writes what r makes of each group of src, an array of type from, to dst, elements of
// type to in row-major order. Elements that differ only along reduced dimensions are one group.
// Means, of variances alone, are one per group or one for all. DDoF is subtracted from the
// number of elements by which variances are divided.
func (w *Reducer) Reduce(r Reduction, dst []byte, to DType, src []byte, from DType, shape []int, reduced []bool, means []float32, ddof int) error {
	w.merge(shape, reduced)
	groups := len(dst) / to.Size()
	if means != nil && len(means) != groups && len(means) != 1 {
		return fmt.Errorf("%d means for %d results; one for each, or a single one, is wanted", len(means), groups)
	}
	if groups == 0 {
		return nil
	}
	count := Len(shape) / groups
	switch from {
	case datum.Uint8:
		reduce[uint8](w, r, dst, to, src, count, means, ddof)
	case datum.Int8:
		reduce[int8](w, r, dst, to, src, count, means, ddof)
	case datum.Uint16:
		reduce[uint16](w, r, dst, to, src, count, means, ddof)
	case datum.Int16:
		reduce[int16](w, r, dst, to, src, count, means, ddof)
	case datum.Uint32:
		reduce[uint32](w, r, dst, to, src, count, means, ddof)
	case datum.Int32:
		reduce[int32](w, r, dst, to, src, count, means, ddof)
	case datum.Uint64:
		reduce[uint64](w, r, dst, to, src, count, means, ddof)
	case datum.Int64:
		reduce[int64](w, r, dst, to, src, count, means, ddof)
	case datum.Float32:
		reduce[float32](w, r, dst, to, src, count, means, ddof)
	case datum.Float64:
		reduce[float64](w, r, dst, to, src, count, means, ddof)
	}
	return nil
}

// merge sets dims and reduced.
func (w *Reducer) merge(shape []int, reduced []bool) {
	w.dims, w.reduced = w.dims[:0], w.reduced[:0]
	for i, d := range shape {
		if k := len(w.dims); k > 0 && w.reduced[k-1] == reduced[i] {
			w.dims[k-1] *= d
			continue
		}
		w.dims, w.reduced = append(w.dims, d), append(w.reduced, reduced[i])
	}
	if len(w.dims) == 0 {
		w.dims, w.reduced = append(w.dims, 1), append(w.reduced, false)
	}
}

// walk calls visit for every run of elements along the innermost dimension, with the group of
// its first one; step is 0 where all of them belong to that group, and 1 where each has one of
// its own.
func (w *Reducer) walk(visit func(first, n, group, step int)) {
	last := len(w.dims) - 1
	n, step := w.dims[last], 1
	if w.reduced[last] {
		step = 0
	}
	var steps, at [MaxDims]int
	kept := 1
	for i := last; i >= 0; i-- {
		if !w.reduced[i] {
			steps[i] = kept
			kept *= w.dims[i]
		}
	}
	total := Len(w.dims)
	for first, group := 0, 0; first < total; first += n {
		visit(first, n, group, step)
		for i := last - 1; i >= 0; i-- {
			at[i]++
			group += steps[i]
			if at[i] < w.dims[i] {
				break
			}
			group -= at[i] * steps[i]
			at[i] = 0
		}
	}
}

// reduce is Reduce for elements of type T.
func reduce[T number](w *Reducer, r Reduction, dst []byte, to DType, src []byte, count int, means []float32, ddof int) {
	x := view[T](src)
	groups := len(dst) / to.Size()
	switch {
	case r == MinOf || r == MaxOf:
		extreme(w, r == MaxOf, view[T](dst), x)
	case !to.IsFloat():
		w.whole = slices.Grow(w.whole[:0], groups)[:groups]
		addWhole(w, r.squares(), x)
		w.writeWhole(r, dst, to, count)
	default:
		w.sums = slices.Grow(w.sums[:0], groups)[:groups]
		add(w, r, x, means)
		w.write(r, dst, to, count, ddof)
	}
}

// extreme finds the smallest or largest element of each group. A NaN is passed over, and an
// empty group has the end of the type's range.
func extreme[T number](w *Reducer, largest bool, dst, x []T) {
	lo, hi := ends[T]()
	end := hi
	if largest {
		end = lo
	}
	for i := range dst {
		dst[i] = end
	}
	w.walk(func(first, n, group, step int) {
		for i, v := range x[first : first+n] {
			if d := &dst[group+i*step]; largest && v > *d || !largest && v < *d {
				*d = v
			}
		}
	})
}

// ends returns the ends of the range of a type.
func ends[T number]() (lo, hi T) {
	one := T(1)
	switch {
	case one/2 != 0: // floating point
		inf := math.Inf(1)
		return T(-inf), T(inf)
	case one-2 > 0: // unsigned
		return 0, one - 2
	}
	hi = one
	for hi*2+1 > hi {
		hi = hi*2 + 1
	}
	return -hi - 1, hi
}

func addWhole[T number](w *Reducer, square bool, x []T) {
	clear(w.whole)
	w.walk(func(first, n, group, step int) {
		for i, v := range x[first : first+n] {
			u := uint64(int64(v))
			if v > 0 {
				u = uint64(v)
			}
			if square {
				u *= u
			}
			w.whole[group+i*step] += u
		}
	})
}

// writeWhole writes integers, which keep their lowest bits.
func (w *Reducer) writeWhole(r Reduction, dst []byte, to DType, count int) {
	size := to.Size()
	for i, sum := range w.whole {
		if r != SumOf && count > 0 {
			if IsSigned(to) && !r.squares() {
				sum = uint64(int64(sum) / int64(count))
			} else {
				sum /= uint64(count)
			}
		}
		if r == RMSOf {
			sum = uint64(math.Sqrt(float64(sum)))
		}
		for b := range size { // little-endian, as all elements
			dst[i*size+b] = byte(sum >> (8 * b))
		}
	}
}

func add[T number](w *Reducer, r Reduction, x []T, means []float32) {
	clear(w.sums)
	square := r.squares() || r == VarianceOf || r == StdDevOf
	each := len(means) > 1
	w.walk(func(first, n, group, step int) {
		for i, v := range x[first : first+n] {
			g, f := group+i*step, float64(v)
			switch {
			case each:
				f -= float64(means[g])
			case means != nil:
				f -= float64(means[0])
			}
			if square {
				f = float64(f * f) // rounded, on every machine
			}
			w.sums[g] += f
		}
	})
}

func (w *Reducer) write(r Reduction, dst []byte, to DType, count, ddof int) {
	by := float64(count)
	switch r {
	case SumOf:
		by = 1
	case VarianceOf, StdDevOf:
		by = float64(count - ddof)
	}
	for i, x := range w.sums {
		x /= by
		if r == RMSOf || r == StdDevOf {
			x = math.Sqrt(x)
		}
		if to == datum.Float64 {
			view[float64](dst)[i] = x
		} else {
			view[float32](dst)[i] = float32(x)
		}
	}
}
