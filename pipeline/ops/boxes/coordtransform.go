package boxes

import (
	"errors"
	"fmt"
	"slices"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
)

// CoordTransformOptions configures CoordTransform: M and T, or MT, which is both side by side.
// Matrices are row by row, as lists of numbers or arrays of two dimensions.
type CoordTransformOptions struct {
	M     pipeline.Value // m×n, or one number for the diagonal; default the identity
	T     pipeline.Value // m numbers, or one for all of them; default 0
	MT    pipeline.Value // m×(n+1)
	Size  int            // m, the coordinates of a result; default from the matrix, or n where that is not known
	DType datum.DType    // Float32 (default) or that of the input, rounded and saturated
}

// CoordTransform maps points of n coordinates, the last dimension of the input, linearly:
// M·x + T.
func CoordTransform(g *pipeline.Graph, v pipeline.Value, o CoordTransformOptions) pipeline.Value {
	const name = "coord_transform"
	s := v.Spec()
	if o.DType == 0 {
		o.DType = datum.Float32
	}
	last := len(s.Shape) - 1
	switch {
	case !v.Set():
		g.Fail(name, errors.New("the points are missing"))
	case last < 1 || s.Shape[last] < 1:
		g.Fail(name, fmt.Errorf("the input is %s; points N×D with a known D are wanted", s))
	case s.DType == datum.Float64 || s.DType == datum.Float16 || s.DType == datum.Bool:
		g.Fail(name, fmt.Errorf("the input is %s; float32 or integers are wanted: cast it first", s))
	case o.DType != datum.Float32 && o.DType != s.DType:
		g.Fail(name, fmt.Errorf("DType is %v for an input of %v; float32 or the type of the input is wanted", o.DType, s.DType))
	case o.MT.Set() && (o.M.Set() || o.T.Set()):
		g.Fail(name, errors.New("give MT, or M and T, not both"))
	}
	if g.Err() != nil {
		return pipeline.Value{}
	}
	n := s.Shape[last]
	m, err := o.rows(n)
	g.Fail(name, err)
	a := ops.NewArgs(g, name, v)
	k := coordTransform{
		n: n, m: m, to: o.DType, matrix: a.Numbers("M", o.M, 1), shift: a.Numbers("T", o.T, 0), both: a.Numbers("MT", o.MT), joint: o.MT.Set(),
	}
	out := datum.Spec{DType: o.DType, Layout: s.Layout, Shape: slices.Clone(s.Shape)}
	out.Shape[last] = m
	return g.Add(pipeline.Op{
		Name: name, Inputs: a.Inputs(), Outputs: []datum.Spec{out}, Config: fmt.Sprintf("%+v", k),
		New: func() (datum.Kernel, error) { k := k; return &k, nil },
	})[0]
}

// rows returns the number of coordinates of a result.
func (o *CoordTransformOptions) rows(n int) (int, error) {
	v, columns := o.M, n
	if o.MT.Set() {
		v, columns = o.MT, n+1
	}
	count := 1
	for _, d := range v.Spec().Shape {
		count *= d
	}
	switch {
	case o.Size > 0:
		return o.Size, nil
	case !v.Set() || count == 1 && len(v.Spec().Shape) == 0 || count < 0:
		return n, nil
	case count%columns != 0 || count == 0:
		return 0, fmt.Errorf("a matrix of %d numbers for points of %d coordinates; rows of %d are wanted", count, n, columns)
	}
	return count / columns, nil
}

type coordTransform struct {
	n, m                int
	to                  datum.DType
	matrix, shift, both ops.Numbers
	joint               bool // both is given

	m32    []float32 // m rows of n numbers and a shift
	points []float32
	result []float32
}

// read sets m32.
func (k *coordTransform) read(in []*datum.Tensor) error {
	k.m32 = slices.Grow(k.m32[:0], k.m*(k.n+1))[:k.m*(k.n+1)]
	clear(k.m32)
	source, columns := &k.matrix, k.n
	if k.joint {
		source, columns = &k.both, k.n+1
	}
	xs, err := source.Of(in)
	switch {
	case err != nil:
		return err
	case len(xs) == k.m*columns:
		for i, x := range xs {
			k.m32[i/columns*(k.n+1)+i%columns] = float32(x)
		}
	case len(xs) == 1 && k.m == k.n:
		for i := range k.n {
			k.m32[i*(k.n+2)] = float32(xs[0])
		}
	default:
		return fmt.Errorf("a matrix of %d numbers; %d rows of %d are wanted, or one number for the diagonal", len(xs), k.m, columns)
	}
	if k.joint {
		return nil
	}
	if xs, err = k.shift.Of(in); err != nil {
		return err
	}
	for i := range k.m {
		switch len(xs) {
		case 1:
			k.m32[i*(k.n+1)+k.n] = float32(xs[0])
		case k.m:
			k.m32[i*(k.n+1)+k.n] = float32(xs[i])
		default:
			return fmt.Errorf("T has %d numbers; %d, or one, are wanted", len(xs), k.m)
		}
	}
	return nil
}

func (k *coordTransform) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	if err := k.read(in); err != nil {
		return err
	}
	var shape [datum.MaxDims]int
	dims := copy(shape[:], in[0].Shape())
	count := in[0].Len() / k.n
	shape[dims-1] = k.m
	dst, err := out[0].Resize(shape[:dims]...)
	if err != nil {
		return err
	}
	out[0].SetLayout(in[0].Layout())
	k.points = slices.Grow(k.points[:0], count*k.n)[:count*k.n]
	k.result = slices.Grow(k.result[:0], count*k.m)[:count*k.m]
	if err := imaging.Cast(datum.BytesOf(k.points), datum.Float32, in[0].Bytes(), datum.DType(in[0].DType())); err != nil {
		return err
	}
	for p := range count {
		x := k.points[p*k.n:][:k.n]
		for r := range k.m {
			row := k.m32[r*(k.n+1):][:k.n+1]
			sum := row[k.n]
			for i, v := range x {
				sum += float32(row[i] * v) // rounded, on every machine
			}
			k.result[p*k.m+r] = sum
		}
	}
	return imaging.Cast(dst, datum.DType(k.to), datum.BytesOf(k.result), datum.Float32)
}
