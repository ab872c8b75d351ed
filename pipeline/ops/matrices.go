package ops

import (
	"errors"
	"fmt"
	"math"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// Matrices of affine transforms for WarpAffine and CoordTransform: float32 of n×(n+1),
// which map a point of n coordinates, x first, with the last column added. Angles are
// degrees, counter-clockwise where x points right and y up.

// A MatrixInput is a transform that a new one goes with.
type MatrixInput struct {
	Input   pipeline.Value // applied before the new transform; default none
	Reverse bool           // it is applied after the new transform
}

// TranslationMatrixOptions configures TranslationMatrix.
type TranslationMatrixOptions struct {
	MatrixInput
	Offset pipeline.Value // one number per coordinate
}

// ScaleMatrixOptions configures ScaleMatrix.
type ScaleMatrixOptions struct {
	MatrixInput
	Scale  pipeline.Value // one factor per coordinate, or one for all
	Center pipeline.Value // the point that stays; default the origin
	NDim   int            // coordinates where Scale is one factor; default those of Input, or 1
}

// RotationMatrixOptions configures RotationMatrix.
type RotationMatrixOptions struct {
	MatrixInput
	Angle  pipeline.Value // degrees
	Axis   pipeline.Value // three numbers: rotate points of three coordinates around it; default: two coordinates
	Center pipeline.Value // the point that stays; default the origin
}

// ShearMatrixOptions configures ShearMatrix. One of Shear and Angles is given.
type ShearMatrixOptions struct {
	MatrixInput
	Shear  pipeline.Value // of two coordinates: xy, yx; of three: xy, xz, yx, yz, zx, zy
	Angles pipeline.Value // the same as angles whose tangents they are, -90 … 90 degrees
	Center pipeline.Value // the point that stays; default the origin
}

// CropMatrixOptions configures CropMatrix. Each is one number per coordinate, or one for
// all.
type CropMatrixOptions struct {
	MatrixInput
	FromStart, FromEnd pipeline.Value // a region; default 0 and 1
	ToStart, ToEnd     pipeline.Value // where it goes; default 0 and 1
	Absolute           bool           // exchange a start and an end where the start is larger
}

// maxCoordinates is the largest number of coordinates of a transform.
const maxCoordinates = 6

// affine is a transform of n coordinates.
type affine struct {
	n int
	m [maxCoordinates][maxCoordinates + 1]float64
}

func identity(n int) (a affine) {
	a.n = n
	for i := range n {
		a.m[i][i] = 1
	}
	return a
}

// after returns the transform that applies b and then a.
func (a *affine) after(b *affine) (c affine) {
	c.n = a.n
	for i := range a.n {
		for j := range a.n + 1 {
			for k := range a.n {
				c.m[i][j] += float64(a.m[i][k] * b.m[k][j])
			}
		}
		c.m[i][a.n] += a.m[i][a.n]
	}
	return c
}

// around makes the transform leave a point where it is.
func (a *affine) around(center []float64) {
	for i := range a.n {
		x := at(center, i)
		for j := range a.n {
			x -= float64(a.m[i][j] * at(center, j))
		}
		a.m[i][a.n] += x
	}
}

// read sets a to a matrix.
func (a *affine) read(name string, xs []float64) error {
	for n := 1; n <= maxCoordinates; n++ {
		if len(xs) == n*(n+1) {
			a.n = n
			for i := range xs {
				a.m[i/(n+1)][i%(n+1)] = xs[i]
			}
			return nil
		}
	}
	return fmt.Errorf("%s has %d numbers; a matrix n×(n+1) is wanted", name, len(xs))
}

// write makes a tensor the matrix.
func (a *affine) write(out *datum.Tensor) error {
	if _, err := out.Resize(a.n, a.n+1); err != nil {
		return err
	}
	xs := out.Float32s()
	for i := range xs {
		xs[i] = float32(a.m[i/(a.n+1)][i%(a.n+1)])
	}
	return nil
}

// matrix is the kernel of the operators that make a transform.
type matrix struct {
	input   listArg
	reverse bool
	def     int        // coordinates where nothing says how many there are
	args    [4]listArg // of the transform
	make    func(k *matrix, in []*datum.Tensor, n int) (affine, error)
}

func (k *matrix) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	var before affine
	n := k.def
	if k.input.given() {
		xs, err := k.input.of(in)
		if err == nil {
			err = before.read("Input", xs)
		}
		if err != nil {
			return err
		}
		n = before.n
	}
	a, err := k.make(k, in, n)
	if err != nil {
		return err
	}
	if k.input.given() {
		if a.n != before.n {
			return fmt.Errorf("Input transforms %d coordinates, the new transform %d", before.n, a.n)
		}
		if k.reverse {
			a = before.after(&a)
		} else {
			a = a.after(&before)
		}
	}
	return a.write(out[0])
}

// dims returns the number of coordinates that an argument with one number each has: n where
// it is one number, or where there is none.
func (k *matrix) dims(in []*datum.Tensor, n int, among ...int) (int, error) {
	known := 0
	for _, i := range among {
		xs, err := k.args[i].of(in)
		switch {
		case err != nil:
			return 0, err
		case len(xs) == 1 || len(xs) == 0 && !k.args[i].given():
		case len(xs) == 0 || len(xs) > maxCoordinates || known != 0 && known != len(xs):
			return 0, fmt.Errorf("%s has %d values; one per coordinate is wanted, 1 to %d, as many as others have", k.args[i].name, len(xs), maxCoordinates)
		default:
			known = len(xs)
		}
	}
	if known == 0 {
		known = n
	}
	return known, nil
}

// centered turns the transform around argument i, if it is given.
func (k *matrix) centered(in []*datum.Tensor, a *affine, i int) error {
	if !k.args[i].given() {
		return nil
	}
	xs, err := k.args[i].exactly(in, a.n, true)
	if err == nil {
		a.around(xs)
	}
	return err
}

// addMatrix adds an operator; coords is the number of coordinates as far as it is known.
func addMatrix(a *args, input MatrixInput, coords int, config string, k matrix) pipeline.Value {
	k.input, k.reverse = a.list("Input", input.Input), input.Reverse
	shape := []int{-1, -1}
	if s := input.Input.Spec().Shape; input.Input.Set() && len(s) == 2 && s[0] > 0 {
		coords = s[0]
	}
	if coords > 0 {
		shape = []int{coords, coords + 1}
	}
	return one(a.g, pipeline.Op{
		Name: a.op, Inputs: a.inputs, Outputs: []datum.Spec{{DType: datum.Float32, Shape: shape}},
		New:    func() (datum.Kernel, error) { k := k; return &k, nil },
		Config: fmt.Sprintf("%+v %t %d %+v %s", k.input, k.reverse, k.def, k.args, config),
	})
}

// lengths returns the number of coordinates that values with one number each have, as far
// as it is known; 0 where it is not, n where each is one number.
func lengths(n int, vs ...pipeline.Value) int {
	for _, v := range vs {
		switch s := v.Spec().Shape; {
		case len(s) == 1 && s[0] > 1:
			return s[0]
		case len(s) > 1 || len(s) == 1 && s[0] != 1:
			n = 0
		}
	}
	return n
}

// needed fails where an argument is missing.
func needed(a *args, name string, v pipeline.Value) {
	if !v.Set() {
		a.g.Fail(a.op, fmt.Errorf("%s is missing", name))
	}
}

// The operators that make transforms yield float32 matrices n×(n+1), n being the number of
// coordinates, 1 to 6, which follows from their arguments; numbers that do not go together are
// the sample's error.

// TranslationMatrix makes transforms that move points, in the unit of the points.
func TranslationMatrix(g *pipeline.Graph, o TranslationMatrixOptions) pipeline.Value {
	a := newArgs(g, "transforms.translation")
	needed(a, "Offset", o.Offset)
	k := matrix{def: 1, make: (*matrix).translation}
	k.args[0] = a.list("Offset", o.Offset)
	return addMatrix(a, o.MatrixInput, lengths(1, o.Offset), "", k)
}

func (k *matrix) translation(in []*datum.Tensor, n int) (affine, error) {
	n, err := k.dims(in, n, 0)
	if err != nil {
		return affine{}, err
	}
	xs, err := k.args[0].exactly(in, n, true)
	if err != nil {
		return affine{}, err
	}
	t := identity(n)
	for i := range n {
		t.m[i][n] = at(xs, i)
	}
	return t, nil
}

// ScaleMatrix makes transforms that scale points.
func ScaleMatrix(g *pipeline.Graph, o ScaleMatrixOptions) pipeline.Value {
	a := newArgs(g, "transforms.scale")
	needed(a, "Scale", o.Scale)
	if o.NDim < 0 || o.NDim > maxCoordinates {
		g.Fail(a.op, fmt.Errorf("NDim is %d; 1 to %d are possible", o.NDim, maxCoordinates))
	}
	k := matrix{def: max(1, o.NDim), make: (*matrix).scale}
	k.args[0], k.args[1] = a.list("Scale", o.Scale), a.list("Center", o.Center)
	return addMatrix(a, o.MatrixInput, lengths(k.def, o.Scale, o.Center), "", k)
}

func (k *matrix) scale(in []*datum.Tensor, n int) (affine, error) {
	n, err := k.dims(in, n, 0, 1)
	if err != nil {
		return affine{}, err
	}
	xs, err := k.args[0].exactly(in, n, true)
	if err != nil {
		return affine{}, err
	}
	t := identity(n)
	for i := range n {
		t.m[i][i] = at(xs, i)
	}
	return t, k.centered(in, &t, 1)
}

// RotationMatrix makes transforms that rotate points of two coordinates, or of three
// around an axis.
func RotationMatrix(g *pipeline.Graph, o RotationMatrixOptions) pipeline.Value {
	a := newArgs(g, "transforms.rotation")
	needed(a, "Angle", o.Angle)
	k := matrix{def: 2, make: (*matrix).rotation}
	k.args[0], k.args[1], k.args[2] = a.list("Angle", o.Angle), a.list("Axis", o.Axis), a.list("Center", o.Center)
	n := 2
	if o.Axis.Set() {
		n = 3
	}
	return addMatrix(a, o.MatrixInput, n, "", k)
}

func (k *matrix) rotation(in []*datum.Tensor, _ int) (affine, error) {
	angle, err := k.args[0].exactly(in, 1, false)
	if err != nil {
		return affine{}, err
	}
	s, c := math.Sincos(math.Mod(angle[0], 360) * math.Pi / 180)
	t := identity(2)
	t.m[0][0], t.m[0][1], t.m[1][0], t.m[1][1] = c, -s, s, c
	if k.args[1].given() {
		axis, err := k.args[1].exactly(in, 3, false)
		if err != nil {
			return affine{}, err
		}
		if t, err = rotation3(axis, s, c); err != nil {
			return affine{}, err
		}
	}
	return t, k.centered(in, &t, 2)
}

// rotation3 is the rotation around an axis (Rodrigues).
func rotation3(axis []float64, s, c float64) (affine, error) {
	n := math.Sqrt(float64(axis[0]*axis[0]) + float64(axis[1]*axis[1]) + float64(axis[2]*axis[2]))
	if n == 0 {
		return affine{}, errors.New("Axis is 0, 0, 0; a direction is wanted")
	}
	x, y, z := axis[0]/n, axis[1]/n, axis[2]/n
	t := identity(3)
	for i, a := range [3]float64{x, y, z} {
		for j, b := range [3]float64{x, y, z} {
			t.m[i][j] = a * b * (1 - c)
		}
		t.m[i][i] += c
	}
	t.m[0][1], t.m[1][0] = t.m[0][1]-z*s, t.m[1][0]+z*s
	t.m[0][2], t.m[2][0] = t.m[0][2]+y*s, t.m[2][0]-y*s
	t.m[1][2], t.m[2][1] = t.m[1][2]-x*s, t.m[2][1]+x*s
	return t, nil
}

// ShearMatrix makes transforms that add to a coordinate a share of another.
func ShearMatrix(g *pipeline.Graph, o ShearMatrixOptions) pipeline.Value {
	a := newArgs(g, "transforms.shear")
	if o.Shear.Set() == o.Angles.Set() {
		g.Fail(a.op, errors.New("give one of Shear and Angles"))
	}
	k := matrix{def: 2, make: (*matrix).shear}
	k.args[0], k.args[1], k.args[2] = a.list("Shear", o.Shear), a.list("Angles", o.Angles), a.list("Center", o.Center)
	n := 0
	switch lengths(0, o.Shear, o.Angles) {
	case 2:
		n = 2
	case 6:
		n = 3
	}
	return addMatrix(a, o.MatrixInput, n, "", k)
}

func (k *matrix) shear(in []*datum.Tensor, _ int) (affine, error) {
	list := &k.args[0]
	if !list.given() {
		list = &k.args[1]
	}
	xs, err := list.of(in)
	if err != nil {
		return affine{}, err
	}
	n := 2
	if len(xs) == 6 {
		n = 3
	} else if len(xs) != 2 {
		return affine{}, fmt.Errorf("%s has %d values; 2 are wanted for two coordinates, 6 for three", list.name, len(xs))
	}
	t, next := identity(n), 0
	for i := range n {
		for j := range n {
			if i == j {
				continue
			}
			x := xs[next]
			next++
			if list == &k.args[1] {
				if !(math.Abs(x) <= 90) {
					return affine{}, fmt.Errorf("Angles holds %g; -90 … 90 degrees are possible", x)
				}
				x = math.Tan(x * math.Pi / 180)
			}
			t.m[i][j] = x
		}
	}
	return t, k.centered(in, &t, 2)
}

// CropMatrix makes transforms that move a region to another one, as a crop and a resize
// move the points of a picture.
func CropMatrix(g *pipeline.Graph, o CropMatrixOptions) pipeline.Value {
	a := newArgs(g, "transforms.crop")
	k := matrix{def: 1, make: (*matrix).crop}
	if o.Absolute {
		k.make = (*matrix).absoluteCrop
	}
	k.args = [4]listArg{
		a.list("FromStart", o.FromStart, 0), a.list("FromEnd", o.FromEnd, 1), a.list("ToStart", o.ToStart, 0), a.list("ToEnd", o.ToEnd, 1),
	}
	return addMatrix(a, o.MatrixInput, lengths(1, o.FromStart, o.FromEnd, o.ToStart, o.ToEnd), fmt.Sprint(o.Absolute), k)
}

func (k *matrix) crop(in []*datum.Tensor, n int) (affine, error) { return k.cropped(in, n, false) }

func (k *matrix) absoluteCrop(in []*datum.Tensor, n int) (affine, error) {
	return k.cropped(in, n, true)
}

func (k *matrix) cropped(in []*datum.Tensor, n int, absolute bool) (affine, error) {
	n, err := k.dims(in, n, 0, 1, 2, 3)
	if err != nil {
		return affine{}, err
	}
	var xs [4][]float64
	for i := range xs {
		if xs[i], err = k.args[i].exactly(in, n, true); err != nil {
			return affine{}, err
		}
	}
	t := identity(n)
	for i := range n {
		from, fromEnd, to, toEnd := at(xs[0], i), at(xs[1], i), at(xs[2], i), at(xs[3], i)
		if absolute {
			from, fromEnd, to, toEnd = min(from, fromEnd), max(from, fromEnd), min(to, toEnd), max(to, toEnd)
		}
		if from == fromEnd {
			return affine{}, fmt.Errorf("the region is empty: FromStart and FromEnd of coordinate %d are both %g", i, from)
		}
		t.m[i][i] = (toEnd - to) / (fromEnd - from)
		t.m[i][n] = to - float64(t.m[i][i]*from)
	}
	return t, nil
}

// CombineMatrices makes the transform that applies one transform after the other, the
// first of them first; in the other order where reverse is set.
func CombineMatrices(g *pipeline.Graph, reverse bool, ms ...pipeline.Value) pipeline.Value {
	const name = "transforms.combine"
	if len(ms) < 2 {
		g.Fail(name, fmt.Errorf("%d transforms; two or more are wanted", len(ms)))
		return pipeline.Value{}
	}
	a := newArgs(g, name)
	k := combine{reverse: reverse}
	n := 0
	for i, m := range ms {
		needed(a, fmt.Sprint("transform ", i), m)
		k.list = append(k.list, a.list(fmt.Sprint("transform ", i), m))
		if s := m.Spec().Shape; len(s) == 2 && s[0] > 0 {
			n = s[0]
		}
	}
	shape := []int{-1, -1}
	if n > 0 {
		shape = []int{n, n + 1}
	}
	return one(g, pipeline.Op{
		Name: name, Inputs: a.inputs, Outputs: []datum.Spec{{DType: datum.Float32, Shape: shape}},
		New: func() (datum.Kernel, error) {
			k := k
			k.list = append([]listArg{}, k.list...)
			return &k, nil
		},
		Config: fmt.Sprintf("%+v", k),
	})
}

type combine struct {
	reverse bool
	list    []listArg
}

func (k *combine) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	var all affine
	for i := range k.list {
		xs, err := k.list[i].of(in)
		if err != nil {
			return err
		}
		var next affine
		if err := next.read(k.list[i].name, xs); err != nil {
			return err
		}
		switch {
		case i == 0:
			all = next
		case next.n != all.n:
			return fmt.Errorf("%s is of %d coordinates, those before it of %d", k.list[i].name, next.n, all.n)
		case k.reverse:
			all = all.after(&next)
		default:
			all = next.after(&all)
		}
	}
	return all.write(out[0])
}
