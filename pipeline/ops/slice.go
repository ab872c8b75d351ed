package ops

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/planktonml/plankton/internal/arrays"
	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// Beyond says what Slice shows beyond an array's ends.
type Beyond uint8

const (
	BeyondError      Beyond = iota // it is the sample's error
	BeyondFill                     // SliceOptions.Fill
	BeyondTrim                     // nothing: the region is cut to the array
	BeyondEdge                     // the last element: aaa|abc|ccc
	BeyondReflect                  // the elements backwards: cba|abc|cba
	BeyondReflect101               // the elements backwards without the last one: cb|abc|ba
	BeyondWrap                     // the elements again: abc|abc|abc
)

// SliceOptions configures Slice. The region begins at Start or RelStart, default 0, and ends at
// End or RelEnd, default the end of the array, or has the extents Shape or RelShape. Each is
// a list of numbers per sample, one for each of the axes, or one number for all of them.
// Relative ones are multiples of the array's extents; ends are rounded to the nearest element.
type SliceOptions struct {
	Start, RelStart pipeline.Value
	End, RelEnd     pipeline.Value
	Shape, RelShape pipeline.Value

	// Axes are the dimensions that the numbers stand for, negative ones counted from the back;
	// default the first ones, in their order. The other dimensions are taken whole.
	Axes      []int
	AxisNames string // the same by their names in the layout

	Outside Beyond      // default BeyondError
	Fill    []float64   // one value, or one for each extent of the layout's dimension C; default 0
	DType   datum.DType // Uint8, Float16, Float32 or, the default, that of the input
}

// Slice cuts a region out of an array of any number of dimensions. The layout stays.
func Slice(g *pipeline.Graph, v pipeline.Value, o SliceOptions) pipeline.Value {
	const name = "slice"
	given(g, name, v)
	in := v.Spec()
	a := newArgs(g, name, v)
	k := slicer{
		start: a.list("Start", o.Start), relStart: a.list("RelStart", o.RelStart),
		end: a.list("End", o.End), relEnd: a.list("RelEnd", o.RelEnd),
		shape: a.list("Shape", o.Shape), relShape: a.list("RelShape", o.RelShape),
		outside: o.Outside, fill: o.Fill, to: o.DType, arrays: o.RelStart.Spec().DType == datum.Float32, fillDim: strings.IndexByte(string(in.Layout), 'C'),
	}
	g.Fail(name, o.check(in))
	axes, err := dimsOf(in, o.Axes, o.AxisNames)
	g.Fail(name, err)
	if g.Err() != nil {
		return pipeline.Value{}
	}
	if k.axes = axes; o.Axes == nil && o.AxisNames == "" {
		k.axes, err = k.firstAxes(o, len(in.Shape))
		g.Fail(name, err)
	}
	out := datum.Spec{DType: in.DType, Layout: in.Layout, Shape: slices.Clone(in.Shape)}
	if o.DType != 0 {
		out.DType = o.DType
	}
	g.Fail(name, k.static(out.Shape, o))
	return one(g, pipeline.Op{
		Name: name, Inputs: a.inputs, Outputs: []datum.Spec{out}, Config: fmt.Sprintf("%+v", k),
		New: func() (datum.Kernel, error) { k := k; return &k, nil },
	})
}

func (o *SliceOptions) check(in datum.Spec) error {
	count := func(vs ...pipeline.Value) (n int) {
		for _, v := range vs {
			if v.Set() {
				n++
			}
		}
		return n
	}
	switch {
	case count(o.Start, o.RelStart) > 1:
		return errors.New("give Start or RelStart, not both")
	case count(o.End, o.RelEnd, o.Shape, o.RelShape) > 1:
		return errors.New("give one of End, RelEnd, Shape and RelShape")
	case count(o.Start, o.RelStart, o.End, o.RelEnd, o.Shape, o.RelShape) == 0:
		return errors.New("no region is given; set Start, End, Shape or their relatives")
	case o.Outside > BeyondWrap:
		return fmt.Errorf("Outside is %d, which is none of the Beyond constants", o.Outside)
	case len(o.Fill) > 1 && !strings.Contains(string(in.Layout), "C"):
		return fmt.Errorf("%d fill values, but the layout %q of the input has no dimension C; give one value", len(o.Fill), in.Layout)
	case o.DType != 0 && o.DType != in.DType && o.DType != datum.Uint8 && o.DType != datum.Float16 && o.DType != datum.Float32:
		return fmt.Errorf("DType is %v; uint8, float16, float32 or the type of the input is wanted", o.DType)
	}
	return nil
}

// firstAxes returns as many dimensions, from the first one on, as the arguments have numbers.
func (k *slicer) firstAxes(o SliceOptions, ndim int) (axes []int, err error) {
	n := 1
	for _, v := range []pipeline.Value{o.Start, o.RelStart, o.End, o.RelEnd, o.Shape, o.RelShape} {
		if !v.Set() {
			continue
		}
		_, m := known(v)
		if m < 0 || m > ndim {
			return nil, fmt.Errorf("an argument is %s for an input of %d dimensions; set Axes", v.Spec(), ndim)
		}
		n = max(n, m)
	}
	for i := range min(n, ndim) {
		axes = append(axes, i)
	}
	return axes, nil
}

// static puts what is known of the region's extents into shape, which is that of the input.
func (k *slicer) static(shape []int, o SliceOptions) error {
	for i, axis := range k.axes {
		extent := shape[axis]
		shape[axis] = -1
		if xs, _ := known(o.Shape); xs != nil && o.Outside != BeyondTrim {
			n, err := nth(xs, i, len(k.axes))
			if err != nil {
				return fmt.Errorf("Shape: %w", err)
			}
			shape[axis] = int(n)
		}
		fixed := extent >= 0
		var r region
		for to, v := range map[*[]float64]pipeline.Value{
			&r.start: o.Start, &r.relStart: o.RelStart, &r.end: o.End, &r.relEnd: o.RelEnd, &r.shape: o.Shape, &r.relShape: o.RelShape,
		} {
			xs, _ := known(v)
			*to = xs
			fixed = fixed && (!v.Set() || xs != nil)
		}
		if !fixed {
			continue
		}
		_, n, err := k.place(&r, i, axis, extent)
		if err != nil {
			return err
		}
		shape[axis] = n
	}
	return nil
}

// region holds the arguments of one sample, nil for those that are not given.
type region struct {
	start, relStart, end, relEnd, shape, relShape []float64
}

// nth returns number i of a list for n axes, which may be a single number for all of them.
func nth(xs []float64, i, n int) (float64, error) {
	switch len(xs) {
	case n:
		return xs[i], nil
	case 1:
		return xs[0], nil
	}
	return 0, fmt.Errorf("%d numbers for %d axes; one for each, or a single one, is wanted", len(xs), n)
}

type slicer struct {
	start, relStart, end, relEnd, shape, relShape listArg
	axes                                          []int
	outside                                       Beyond
	fill                                          []float64
	fillDim                                       int
	arrays                                        bool        // relative arguments are float32 arrays
	to                                            datum.DType // 0: that of the input

	region      region
	from, count [datum.MaxDims]int
	filled      []byte // fill as elements
	cast        []byte // the input as elements of type to
	wide        []float64
}

// place returns where the region lies in a dimension of so many elements: axis is number i of
// the axes.
func (k *slicer) place(r *region, i, axis, extent int) (start, n int, err error) {
	get := func(xs []float64) float64 {
		if xs == nil || err != nil {
			return 0
		}
		x, wrong := nth(xs, i, len(k.axes))
		err = wrong
		return x
	}
	// DALI's relative arguments are float32, and so are their products with the extent; those
	// with relative extents, and those of numbers that are float32 arrays, are float64.
	relative := func(xs []float64) float64 {
		x := get(xs)
		if k.arrays {
			return x * float64(extent)
		}
		return float64(float32(x) * float32(extent))
	}
	first := get(r.start) + relative(r.relStart)
	last := float64(extent)
	switch {
	case r.end != nil || r.relEnd != nil:
		last = get(r.end) + relative(r.relEnd)
	case r.shape != nil:
		last = first + get(r.shape)
	case r.relShape != nil:
		last = get(r.start) + float64(float32(get(r.relStart)))*float64(extent)
		last += float64(float64(float32(get(r.relShape))) * float64(extent))
	}
	const most = 1 << 40
	switch {
	case err != nil:
		return 0, 0, err
	case !(math.Abs(first) < most && math.Abs(last) < most):
		return 0, 0, fmt.Errorf("the region is %g … %g of axis %d, which has %d elements", first, last, axis, extent)
	}
	start = int(math.Round(first))
	n = int(math.Round(last)) - start
	if n < 0 {
		return 0, 0, fmt.Errorf("the region is %g … %g of axis %d; it must not end before it begins", first, last, axis)
	}
	policy := imaging.BoundsPad
	switch k.outside {
	case BeyondError:
		policy = imaging.BoundsError
	case BeyondTrim:
		policy = imaging.BoundsTrim
	}
	if start, n, err = policy.Bound(start, n, extent); err != nil {
		err = fmt.Errorf("elements %g … %g of axis %d, which has %d; move the region, or set Outside", first, last, axis, extent)
	}
	return start, n, err
}

func (k *slicer) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	shape := in[0].Shape()
	if err := k.find(in, shape); err != nil {
		return err
	}
	to, src := k.to, in[0].Bytes()
	if to == 0 {
		to = in[0].DType()
	}
	dst, err := out[0].ResizeAs(to, k.count[:len(shape)]...)
	if err != nil {
		return err
	}
	out[0].SetLayout(in[0].Layout())
	if to != in[0].DType() {
		if src, err = k.convert(src, in[0].DType(), to); err != nil {
			return err
		}
	}
	from, count := k.from[:len(shape)], k.count[:len(shape)]
	if border := k.border(); border != 0 {
		return arrays.SliceBorder(dst, src, to.Size(), shape, from, count, border)
	}
	if len(shape) == 0 {
		copy(dst, src)
		return nil
	}
	if err := k.fillAs(to, count); err != nil {
		return err
	}
	return plain(imaging.Slice(dst, src, to.Size(), shape, from, count, k.filled, max(k.fillDim, 0)))
}

// find sets from and count.
func (k *slicer) find(in []*datum.Tensor, shape []int) (err error) {
	r := &k.region
	read := func(to *[]float64, from *listArg) {
		if err == nil && from.given() {
			*to, err = from.of(in)
		}
	}
	read(&r.start, &k.start)
	read(&r.relStart, &k.relStart)
	read(&r.end, &k.end)
	read(&r.relEnd, &k.relEnd)
	read(&r.shape, &k.shape)
	read(&r.relShape, &k.relShape)
	for i, d := range shape {
		k.from[i], k.count[i] = 0, d
	}
	for i, axis := range k.axes {
		if err != nil {
			return err
		}
		k.from[axis], k.count[axis], err = k.place(r, i, axis, shape[axis])
	}
	return err
}

func (k *slicer) border() arrays.Border {
	switch k.outside {
	case BeyondEdge:
		return arrays.Edge
	case BeyondReflect:
		return arrays.Reflect
	case BeyondReflect101:
		return arrays.Reflect101
	case BeyondWrap:
		return arrays.Wrap
	}
	return 0
}

// fillAs readies the fill values; their fractions are cut off in integer types.
func (k *slicer) fillAs(to datum.DType, count []int) (err error) {
	if len(k.fill) == 0 {
		return nil
	}
	if len(k.fill) > 1 && count[k.fillDim] != len(k.fill) {
		return fmt.Errorf("%d fill values for %d channels; one, or one for each, is wanted", len(k.fill), count[k.fillDim])
	}
	k.wide = append(k.wide[:0], k.fill...)
	k.filled, err = truncated(k.filled, to, k.wide)
	return err
}

// convert returns an input as elements of another type. Fractions are cut off in integer types,
// as by DALI's Slice.
func (k *slicer) convert(src []byte, from, to datum.DType) ([]byte, error) {
	n := len(src) / from.Size()
	k.wide = slices.Grow(k.wide[:0], n)[:n]
	if err := imaging.Cast(datum.BytesOf(k.wide), datum.Float64, src, from); err != nil {
		return nil, err
	}
	var err error
	k.cast, err = truncated(k.cast, to, k.wide)
	return k.cast, err
}
