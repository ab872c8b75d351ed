package ops

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// DrawOptions says how many numbers a random operator draws for a sample, and of which type.
type DrawOptions struct {
	Shape []int          // of the array; default one number, a scalar
	Like  pipeline.Value // draws an array of the shape of this value instead
	DType datum.DType    // default Float32, Int32 of CoinFlips; integers are rounded and saturate
}

// NormalOptions configures Normal.
type NormalOptions struct {
	DrawOptions
	Mean   pipeline.Value // default 0
	StdDev pipeline.Value // default 1
}

// Normal draws numbers of a normal distribution: a float32 scalar, or what DrawOptions say. A
// negative StdDev is the sample's error.
func Normal(g *pipeline.Graph, o NormalOptions) pipeline.Value {
	a := newArgs(g, "normal")
	d := normal{two: two{a.number("Mean", o.Mean, 0), a.number("StdDev", o.StdDev, 1), 0, 0}}
	return draws(a, o.DrawOptions, datum.Float32, fmt.Sprintf("%+v", d), func() distribution { d := d; return &d })
}

type normal struct{ two }

func (d *normal) read(in []*datum.Tensor) error {
	err := d.two.read(in)
	if err == nil && !(d.b >= 0) {
		err = fmt.Errorf("StdDev is %g; it must not be negative", d.b)
	}
	return err
}

func (d *normal) draw(r *datum.Rand) float64 { return d.a + float64(d.b*r.Normal()) }

// UniformOptions configures Uniforms.
type UniformOptions struct {
	DrawOptions
	Min, Max pipeline.Value // default −1 and 1
	Values   pipeline.Value // draws one of these numbers, each equally often, instead
}

// Uniforms draws numbers of [Min, Max), or of a list. Under an integer type they are rounded,
// also to Max. The result is a float32 scalar, or what DrawOptions say. A range that is empty or
// not finite, and a list without numbers, are the sample's error.
func Uniforms(g *pipeline.Graph, o UniformOptions) pipeline.Value {
	const name = "uniform"
	a := newArgs(g, name)
	if o.Values.Set() {
		if o.Min.Set() || o.Max.Set() {
			g.Fail(name, errors.New("give Values, or Min and Max, not both"))
		}
		d := oneOf{list: a.list("Values", o.Values)}
		return draws(a, o.DrawOptions, datum.Float32, fmt.Sprintf("%+v", d), func() distribution { d := d; return &d })
	}
	d := uniform{two{a.number("Min", o.Min, -1), a.number("Max", o.Max, 1), 0, 0}}
	return draws(a, o.DrawOptions, datum.Float32, fmt.Sprintf("%+v", d), func() distribution { d := d; return &d })
}

type oneOf struct {
	list   listArg
	values []float64
}

func (d *oneOf) read(in []*datum.Tensor) (err error) {
	if d.values, err = d.list.of(in); err == nil && len(d.values) == 0 {
		err = errors.New("Values is empty; give a number at least")
	}
	return err
}

func (d *oneOf) draw(r *datum.Rand) float64 { return d.values[r.IntN(len(d.values))] }

type uniform struct{ two }

func (d *uniform) read(in []*datum.Tensor) error {
	err := d.two.read(in)
	if err == nil && !(d.a < d.b && d.b-d.a <= math.MaxFloat64) {
		err = fmt.Errorf("the range is [%g, %g); it must be finite and not empty", d.a, d.b)
	}
	return err
}

func (d *uniform) draw(r *datum.Rand) float64 {
	x := r.Range(d.a, d.b)
	if float64(float32(x)) >= d.b { // by rounding
		x = float64(math.Nextafter32(float32(d.b), float32(d.a)))
	}
	return x
}

// CoinFlipOptions configures CoinFlips.
type CoinFlipOptions struct {
	DrawOptions
	Probability pipeline.Value // of 1; default 0.5
}

// CoinFlips draws 1 with a probability, else 0: an int32 scalar, or what DrawOptions say. A
// probability outside 0 … 1 is the sample's error.
func CoinFlips(g *pipeline.Graph, o CoinFlipOptions) pipeline.Value {
	a := newArgs(g, "coin_flip")
	d := coins{two{first: a.number("Probability", o.Probability, 0.5)}}
	return draws(a, o.DrawOptions, datum.Int32, fmt.Sprintf("%+v", d), func() distribution { d := d; return &d })
}

type coins struct{ two }

func (d *coins) read(in []*datum.Tensor) error {
	err := d.two.read(in)
	if err == nil && !(d.a >= 0 && d.a <= 1) {
		err = fmt.Errorf("Probability is %g; it must be 0 … 1", d.a)
	}
	return err
}

func (d *coins) draw(r *datum.Rand) float64 {
	if r.Float64() < d.a {
		return 1
	}
	return 0
}

// BetaOptions configures Beta.
type BetaOptions struct {
	DrawOptions
	Alpha, Beta pipeline.Value // above 0; default 1
}

// Beta draws numbers of 0 … 1 of a beta distribution, whose density is x^(Alpha−1)·(1−x)^(Beta−1)
// up to a factor: a float32 scalar, or what DrawOptions say. Parameters that are not positive are
// the sample's error.
func Beta(g *pipeline.Graph, o BetaOptions) pipeline.Value {
	a := newArgs(g, "beta")
	d := beta{two{a.number("Alpha", o.Alpha, 1), a.number("Beta", o.Beta, 1), 0, 0}}
	return draws(a, o.DrawOptions, datum.Float32, fmt.Sprintf("%+v", d), func() distribution { d := d; return &d })
}

type beta struct{ two }

func (d *beta) read(in []*datum.Tensor) error {
	err := d.two.read(in)
	if err == nil && !(d.a > 0 && d.b > 0 && d.a+d.b <= math.MaxFloat32) {
		err = fmt.Errorf("Alpha is %g and Beta %g; both must be positive and finite", d.a, d.b)
	}
	return err
}

func (d *beta) draw(r *datum.Rand) float64 {
	x, y := logGamma(r, d.a), logGamma(r, d.b)
	return 1 / (1 + math.Exp(y-x))
}

// logGamma draws the logarithm of a number of a gamma distribution (Marsaglia and Tsang: A
// Simple Method for Generating Gamma Variables, 2000), as numbers for small shapes are too
// small for a float64.
func logGamma(r *datum.Rand, shape float64) float64 {
	more := 0.0
	if shape < 1 {
		more = math.Log(1-r.Float64()) / shape
		shape++
	}
	d := shape - 1./3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.Normal()
		v := 1 + float64(c*x)
		if v <= 0 {
			continue
		}
		v *= v * v
		if math.Log(1-r.Float64()) < float64(x*x/2)+d-float64(d*v)+float64(d*math.Log(v)) {
			return math.Log(d*v) + more
		}
	}
}

// distribution is what numbers are drawn from; it belongs to one worker.
type distribution interface {
	read(in []*datum.Tensor) error // the arguments of a sample
	draw(r *datum.Rand) float64
}

// two are the arguments of a distribution, and what they are for a sample.
type two struct {
	first, second arg
	a, b          float64
}

func (t *two) read(in []*datum.Tensor) (err error) {
	if t.a, err = t.first.of(in); err == nil {
		t.b, err = t.second.of(in)
	}
	return err
}

// draws adds an operator that draws numbers.
func draws(a *args, o DrawOptions, def datum.DType, config string, from func() distribution) pipeline.Value {
	if o.DType == 0 {
		o.DType = def
	}
	element(a.g, a.op, o.DType)
	shape, like := o.shape(a)
	random := a.g.NewRandom()
	return one(a.g, pipeline.Op{
		Name: a.op, Inputs: a.inputs, Outputs: []datum.Spec{{DType: o.DType, Shape: shape}},
		Config: fmt.Sprintf("%s %v %v %d %+v", config, o.DType, o.Shape, like, random),
		New: func() (datum.Kernel, error) {
			return &drawer{from: from(), shape: shape, like: like, random: random, to: o.DType}, nil
		},
	})
}

type drawer struct {
	from   distribution
	shape  []int
	like   int // DrawOptions.shape
	random datum.Random
	to     datum.DType

	rand    datum.Rand
	numbers []float64
}

func (k *drawer) Run(c *datum.Sample, in, out []*datum.Tensor) error {
	if err := k.from.read(in); err != nil {
		return err
	}
	shape := k.shape
	if k.like > 0 {
		shape = in[k.like-1].Shape()
	}
	dst, err := out[0].Resize(shape...)
	if err != nil {
		return err
	}
	n := out[0].Len()
	k.numbers = slices.Grow(k.numbers[:0], n)[:n]
	k.rand = k.random.At(c)
	for i := range k.numbers {
		k.numbers[i] = k.from.draw(&k.rand)
	}
	return imaging.Cast(dst, k.to, datum.BytesOf(k.numbers), datum.Float64)
}

// shape returns the shape of what is drawn, as far as it is known, and the number of the input,
// from 1, that it is taken from; 0 for none.
func (o *DrawOptions) shape(a *args) (shape []int, like int) {
	for _, d := range o.Shape {
		if d < 0 {
			a.g.Fail(a.op, fmt.Errorf("Shape is %v; extents must not be negative", o.Shape))
		}
	}
	if !o.Like.Set() {
		return o.Shape, 0
	}
	if o.Shape != nil {
		a.g.Fail(a.op, errors.New("give Shape or Like, not both"))
	}
	a.inputs = append(a.inputs, o.Like)
	return o.Like.Spec().Shape, len(a.inputs)
}
