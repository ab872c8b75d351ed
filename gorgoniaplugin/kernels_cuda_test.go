//go:build cuda

package gorgoniaplugin_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/streams/cuda/fakedriver"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// unary is an operator of Gorgonia's and what it computes.
type unary struct {
	op   func(*gorgonia.Node) (*gorgonia.Node, error)
	want func(float64) float64
}

var unaries = map[string]unary{
	"abs": {gorgonia.Abs, math.Abs}, "ceil": {gorgonia.Ceil, math.Ceil}, "floor": {gorgonia.Floor, math.Floor},
	"sin": {gorgonia.Sin, math.Sin}, "cos": {gorgonia.Cos, math.Cos}, "exp": {gorgonia.Exp, math.Exp},
	"ln": {gorgonia.Log, math.Log}, "log2": {gorgonia.Log2, math.Log2}, "sqrt": {gorgonia.Sqrt, math.Sqrt},
	"tanh": {gorgonia.Tanh, math.Tanh}, "log1p": {gorgonia.Log1p, math.Log1p}, "expm1": {gorgonia.Expm1, math.Expm1},
	"neg":     {gorgonia.Neg, func(x float64) float64 { return -x }},
	"square":  {gorgonia.Square, func(x float64) float64 { return x * x }},
	"cube":    {gorgonia.Cube, func(x float64) float64 { return x * x * x }},
	"inv":     {gorgonia.Inverse, func(x float64) float64 { return 1 / x }},
	"invSqrt": {gorgonia.InverseSqrt, func(x float64) float64 { return 1 / math.Sqrt(x) }},
	"sigmoid": {gorgonia.Sigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }},
	"softplus": {gorgonia.Softplus, func(x float64) float64 {
		if x > 700 {
			return x
		}
		return math.Log1p(math.Exp(x))
	}},
	"sign": {gorgonia.Sign, func(x float64) float64 {
		switch {
		case x > 0:
			return 1
		case x < 0:
			return -1
		}
		return x
	}},
}

type binary struct {
	op   func(a, b *gorgonia.Node) (*gorgonia.Node, error)
	want func(a, b float64) float64
}

// comparison yields 1 or 0 in the type of what it compares.
func comparison(op func(a, b *gorgonia.Node, retSame bool) (*gorgonia.Node, error), holds func(a, b float64) bool) binary {
	return binary{
		func(a, b *gorgonia.Node) (*gorgonia.Node, error) { return op(a, b, true) },
		func(a, b float64) float64 {
			if holds(a, b) {
				return 1
			}
			return 0
		},
	}
}

var binaries = map[string]binary{
	"add": {gorgonia.Add, func(a, b float64) float64 { return a + b }},
	"sub": {gorgonia.Sub, func(a, b float64) float64 { return a - b }},
	"mul": {gorgonia.HadamardProd, func(a, b float64) float64 { return a * b }},
	"div": {gorgonia.HadamardDiv, func(a, b float64) float64 { return a / b }},
	"pow": {gorgonia.Pow, math.Pow},
	"lt":  comparison(gorgonia.Lt, func(a, b float64) bool { return a < b }),
	"gt":  comparison(gorgonia.Gt, func(a, b float64) bool { return a > b }),
	"lte": comparison(gorgonia.Lte, func(a, b float64) bool { return a <= b }),
	"gte": comparison(gorgonia.Gte, func(a, b float64) bool { return a >= b }),
	"eq":  comparison(gorgonia.Eq, func(a, b float64) bool { return a == b }),
	"ne":  comparison(gorgonia.Ne, func(a, b float64) bool { return a != b }),
}

// numbers are special values and some of either sign and of every size.
func numbers() (xs []float64) {
	xs = []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 0.5, -0.5, 2.5, -2.5, 1e-45, 1e-30, -1e-30, 1e30, -1e30}
	for x := 1e-6; x < 120; x *= 1.7 {
		xs = append(xs, x, -x)
	}
	return xs
}

// values returns a vector of numbers in a type.
func values(of tensor.Dtype, xs ...float64) *tensor.Dense {
	if of == tensor.Float64 {
		return tensor.New(tensor.WithShape(len(xs)), tensor.WithBacking(append([]float64(nil), xs...)))
	}
	y := make([]float32, len(xs))
	for i, x := range xs {
		y[i] = float32(x)
	}
	return tensor.New(tensor.WithShape(len(xs)), tensor.WithBacking(y))
}

func floats(v gorgonia.Value) (xs []float64) {
	switch y := v.Data().(type) {
	case []float64:
		return y
	case []float32:
		for _, x := range y {
			xs = append(xs, float64(x))
		}
	case float64:
		return []float64{y}
	case float32:
		return []float64{float64(y)}
	}
	return xs
}

// onGPU runs a machine of a graph once, with a feed attached to it for its kernels. A graph
// has few operators: with many, Gorgonia's allocator of the device's memory may crash.
func onGPU(t *testing.T, build func(g *gorgonia.ExprGraph)) {
	t.Helper()
	fakedriver.Open(t)
	g := gorgonia.NewGraph()
	f, err := gorgoniaplugin.New(g, gpuLoader(t, 1, uploaded(8, 1)))
	require.NoError(t, err)
	layer(f.Node("x"))
	build(g)
	vm := machine(t, g)
	require.NoError(t, f.Attach(vm))
	for _, err := range f.Epoch(t.Context()) {
		require.NoError(t, err)
		require.NoError(t, vm.RunAll())
		vm.Reset()
		break
	}
	require.NoError(t, f.Close())
}

// rounded returns a number as a type holds it.
func rounded(of tensor.Dtype, x float64) float64 {
	if of == tensor.Float32 {
		return float64(float32(x))
	}
	return x
}

// near reports whether two results are the same but for the rounding of the functions.
func near(of tensor.Dtype, want, got float64) bool {
	if want = rounded(of, want); want == got || math.IsNaN(want) && math.IsNaN(got) {
		return true
	}
	part, least := 1e-14, 5e-324
	if of == tensor.Float32 {
		part, least = 5e-7, 1.5e-45
	}
	return math.Abs(want-got) <= max(part*math.Abs(want), least)
}

// The kernels compute the functions, special values included, which some of Gorgonia's
// operators on the host do not: Exp(1e30) of float32 is 0 there.
func TestKernelsOfOneInput(t *testing.T) {
	require.Len(t, unaries, 20)
	for _, of := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		xs := values(of, numbers()...)
		for name, u := range unaries {
			var got gorgonia.Value
			onGPU(t, func(g *gorgonia.ExprGraph) {
				x := gorgonia.NewVector(g, of, gorgonia.WithName("numbers"), gorgonia.WithValue(xs.Clone().(*tensor.Dense)))
				gorgonia.Read(gorgonia.Must(u.op(x)), &got)
			})
			for i, x := range floats(xs) {
				if want, y := u.want(x), floats(got)[i]; !near(of, want, y) {
					t.Errorf("%s(%v) of %v is %v, want %v", name, x, of, y, want)
				}
			}
		}
	}
}

// On the host Gorgonia computes the same where it computes well.
func TestKernelsOfOneInputAndTheHost(t *testing.T) {
	for _, of := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		xs := values(of, 0.125, 0.25, 0.375, 0.5, 0.75, 1, 1.25, 1.5, 2, 3.5, 5, 7)
		for name, u := range unaries {
			y := gorgonia.Must(u.op(gorgonia.NewVector(gorgonia.NewGraph(), of, gorgonia.WithName("x"), gorgonia.WithShape(12))))
			v, err := y.Op().Do(xs.Clone().(*tensor.Dense))
			require.NoError(t, err)
			for i, x := range floats(xs) {
				require.InDelta(t, u.want(x), floats(v)[i], 3e-6*max(1, math.Abs(u.want(x))), "%s(%v) of %v", name, x, of)
			}
		}
	}
}

func TestKernelsOfTwoInputs(t *testing.T) {
	for _, of := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		var as, bs []float64
		for _, a := range numbers() {
			for _, b := range []float64{0, 1, -1, 2, 0.5, -3, math.Inf(1), math.NaN(), 1e30, 3.25} {
				as, bs = append(as, a), append(bs, b)
			}
		}
		inputs := map[string][2]*tensor.Dense{
			"vv": {values(of, as...), values(of, bs...)},
			"vs": {values(of, as...), values(of, 2)},
			"sv": {values(of, 3), values(of, bs...)},
			"ss": {values(of, 3), values(of, 2)},
		}
		for kind, in := range inputs {
			for name, o := range binaries {
				var got gorgonia.Value
				onGPU(t, func(g *gorgonia.ExprGraph) {
					node := func(name string, v *tensor.Dense) *gorgonia.Node {
						if v.Shape().TotalSize() == 1 {
							return gorgonia.NewScalar(g, of, gorgonia.WithName(name), gorgonia.WithValue(v.Get(0)))
						}
						return gorgonia.NewVector(g, of, gorgonia.WithName(name), gorgonia.WithValue(v.Clone().(*tensor.Dense)))
					}
					gorgonia.Read(gorgonia.Must(o.op(node("a", in[0]), node("b", in[1]))), &got)
				})
				a, b, have := floats(in[0]), floats(in[1]), floats(got)
				require.Len(t, have, max(len(a), len(b)), name+" "+kind)
				for i, y := range have {
					x, z := a[min(i, len(a)-1)], b[min(i, len(b)-1)]
					if want := o.want(x, z); !near(of, want, y) {
						t.Errorf("%s %s of %v: %v and %v make %v, want %v", name, kind, of, x, z, y, want)
					}
				}
			}
		}
	}
}

// Gorgonia would look for the kernel of a float.
func TestKernelsRefuseIntegers(t *testing.T) {
	fakedriver.Open(t)
	g := gorgonia.NewGraph()
	f, err := gorgoniaplugin.New(g, gpuLoader(t, 1, uploaded(8, 1)))
	require.NoError(t, err)
	layer(f.Node("x"))
	a := gorgonia.NewVector(g, tensor.Int32, gorgonia.WithName("counts"), gorgonia.WithShape(2))
	gorgonia.Must(gorgonia.Add(a, a))
	vm := machine(t, g)
	require.ErrorContains(t, f.Attach(vm), "+ false of counts is of int32, which Gorgonia computes on the GPU as if it were a float: make it float32 or float64")
}

// What a driver refuses is an error of Attach, and an engine keeps the kernels it has.
func TestKernelsAreLoadedOnce(t *testing.T) {
	drv := fakedriver.Open(t)
	graph := func() (*gorgoniaplugin.Feed, gorgonia.VM) {
		g := gorgonia.NewGraph()
		f, err := gorgoniaplugin.New(g, gpuLoader(t, 1, uploaded(8, 1)))
		require.NoError(t, err)
		y, _ := layer(f.Node("x"))
		gorgonia.Must(gorgonia.Sqrt(y))
		return f, machine(t, g)
	}
	f, vm := graph()
	require.NoError(t, f.Attach(vm))
	engine := &vm.(gorgonia.CUDAMachine).Engines()[0]
	require.Len(t, engine.Functions(), 40, "the graph has no operator of two inputs")
	before := fmt.Sprint(engine.Functions())
	drv.Fail("cuModuleLoadDataEx", 222, 0)
	require.NoError(t, f.Attach(vm), "nothing is loaded again")
	require.Equal(t, before, fmt.Sprint(engine.Functions()))
	require.NoError(t, f.Close())

	f, vm = graph()
	require.ErrorContains(t, f.Attach(vm), "need a driver of CUDA 11.8 or later")
	require.NoError(t, f.Attach(vm), "the driver was made anew")
	require.NoError(t, f.Close())
}

// A whole step of training, products, bias, activation, loss and gradient, reads the batch
// in place; its results are those of plain Go. Without the wait for the upload the driver
// must find a race, whatever the values were.
func TestTrainingStep(t *testing.T) {
	for _, waits := range []bool{true, false} {
		drv := fakedriver.Open(t)
		drv.Set(fakedriver.DelayUS, 300)
		define := uploaded(40, 1)
		if !waits {
			x, _ := dataset(40, 1)
			define = func(g *pipeline.Graph) {
				g.Output("x", aside(g, readers.Slices(g, readers.SlicesOptions{}, readers.Rows(x, features))[0]))
			}
		}
		n := newNetwork(t, gpuLoader(t, 1, define), firstWeights())
		require.Equal(t, "[x: in place]", fmt.Sprint(n.feed.Placements()))
		for batch, err := range n.feed.Epoch(t.Context()) {
			require.NoError(t, err)
			launches := drv.Count(fakedriver.Launches)
			require.NoError(t, n.vm.RunAll())
			require.Greater(t, drv.Count(fakedriver.Launches)-launches, 5)
			if waits {
				want := firstWeights()
				wantCost, wantW, wantB := trainingStep(rowsOf(batch, 1), want.w, want.b)
				require.InEpsilon(t, wantCost, floats(n.cost)[0], 1e-5)
				require.InDeltaSlice(t, wantW, floats(n.dw), 1e-3)
				require.InDeltaSlice(t, wantB, floats(n.db), 1e-5)
			}
			n.vm.Reset()
		}
		require.NoError(t, n.feed.Close())
		if report := drv.Report(); waits {
			require.Empty(t, report)
		} else {
			require.Contains(t, report, "race: ")
		}
	}
}

// weights are those of a layer.
type weights struct{ w, b []float32 }

func firstWeights() weights {
	n := weights{make([]float32, features*classes), make([]float32, 4*classes)}
	for i := range n.w {
		n.w[i] = float32(i%7-3) / 400
	}
	for i := range n.b {
		n.b[i] = float32(i%5-2) / 10
	}
	return n
}

// descend takes a step down a gradient.
func (n weights) descend(dw, db []float64) {
	const rate = 1e-7
	for i, d := range dw {
		n.w[i] -= float32(rate * d)
	}
	for i, d := range db {
		n.b[i] -= float32(rate * d)
	}
}

// network is a graph on the GPU that computes the sum of tanh(xw + b)² and its gradient. Its
// weights are on the host.
type network struct {
	weights
	feed         *gorgoniaplugin.Feed
	vm           gorgonia.VM
	cost, dw, db gorgonia.Value
}

func newNetwork(t *testing.T, l *iterator.Loader, from weights) *network {
	t.Helper()
	g := gorgonia.NewGraph()
	n := &network{weights: weights{slices.Clone(from.w), slices.Clone(from.b)}}
	var err error
	n.feed, err = gorgoniaplugin.New(g, l)
	require.NoError(t, err)
	matrix := func(name string, rows int, v []float32) *gorgonia.Node {
		return gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithName(name), gorgonia.WithShape(rows, classes),
			gorgonia.WithValue(tensor.New(tensor.WithShape(rows, classes), tensor.WithBacking(v))))
	}
	w, b := matrix("w", features, n.w), matrix("b", 4, n.b)
	must := gorgonia.Must
	p := must(gorgonia.Tanh(must(gorgonia.Add(must(gorgonia.Mul(n.feed.Node("x"), w)), b))))
	loss := must(gorgonia.Sum(must(gorgonia.Square(p))))
	grads, err := gorgonia.Grad(loss, w, b)
	require.NoError(t, err)
	gorgonia.Read(loss, &n.cost)
	gorgonia.Read(grads[0], &n.dw)
	gorgonia.Read(grads[1], &n.db)
	n.vm = machine(t, g)
	require.NoError(t, n.feed.Attach(n.vm))
	return n
}

// train takes steps and returns their costs.
func (n *network) train(t *testing.T, steps int) (costs []float64) {
	t.Helper()
	for _, err := range n.feed.Epochs(t.Context(), steps) {
		require.NoError(t, err)
		require.NoError(t, n.vm.RunAll())
		costs = append(costs, floats(n.cost)[0])
		n.descend(floats(n.dw), floats(n.db))
		n.vm.Reset()
		if len(costs) == steps {
			break
		}
	}
	return costs
}

// trainAndResume trains for some steps and compares the costs with the host's; then it breaks
// off in the middle of an epoch and goes on with another loader, feed and machine.
func trainAndResume(t *testing.T, steps int) {
	whole := newNetwork(t, gpuLoader(t, 2, uploaded(40, 1)), firstWeights())
	costs := whole.train(t, steps)
	require.Len(t, costs, steps)
	require.Less(t, costs[steps-1], costs[(steps-1)%10], "it learns, of the same batch")
	require.NoError(t, whole.feed.Close())

	host, want := firstWeights(), []float64(nil)
	x, _ := dataset(40, 1)
	for step := range costs {
		cost, dw, db := trainingStep(x[step%10*4*features:][:4*features], host.w, host.b)
		want = append(want, cost)
		host.descend(dw, db)
	}
	far := apart(costs, want)
	on.Judge(t, "train-layer", far <= 1e-3, "%d steps, losses at most %.1e apart", steps, far)

	l := gpuLoader(t, 2, uploaded(40, 1))
	part := newNetwork(t, l, firstWeights())
	first := steps/20*10 + 3
	require.Equal(t, costs[:first], part.train(t, first))
	state, err := l.State()
	require.NoError(t, err)
	require.NoError(t, part.feed.Close())
	l = gpuLoader(t, 2, uploaded(40, 1))
	require.NoError(t, l.Restore(state))
	rest := newNetwork(t, l, part.weights)
	again := rest.train(t, steps-first)
	on.Judge(t, "resume-training", slices.Equal(costs[first:], again), "broken off behind step %d of %d, in an epoch", first, steps)
	require.NoError(t, rest.feed.Close())
}

func TestTrainingFollowsTheHostAndResumes(t *testing.T) {
	drv := fakedriver.Open(t)
	drv.Set(fakedriver.DelayUS, 20)
	trainAndResume(t, 50)
}

// trainingStep returns the sum of tanh(xw + b)² and its gradient.
func trainingStep(x, w, b []float32) (cost float64, dw, db []float64) {
	dw, db = make([]float64, len(w)), make([]float64, len(b))
	for i := range b {
		row, class := i/classes, i%classes
		z := float64(b[i])
		for k := range features {
			z += float64(x[row*features+k]) * float64(w[k*classes+class])
		}
		p := math.Tanh(z)
		cost += p * p
		db[i] = 2 * p * (1 - p*p)
		for k := range features {
			dw[k*classes+class] += db[i] * float64(x[row*features+k])
		}
	}
	return cost, dw, db
}
