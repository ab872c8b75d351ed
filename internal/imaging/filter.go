package imaging

import (
	"fmt"
	"math"
)

// Filter is an interpolation filter. The zero value is Linear.
type Filter uint8

// The filters of DALI. With antialiasing, all but Nearest widen with the scale when they minify.
const (
	Linear     Filter = iota // triangle; antialiased minification makes it the same as Triangular
	Triangular               // triangle of radius max(1, scale)
	Nearest                  // the sample whose cell holds the centre of the output sample
	Cubic                    // Keys' cubic convolution with a = -0.5, radius 2
	Lanczos3                 // sinc(x)·sinc(x/3), radius 3
	Gaussian                 // exp(-x²) cut at x = ±2
	numFilters
)

// String returns the name of f in lower case.
func (f Filter) String() string {
	names := [numFilters]string{"linear", "triangular", "nearest", "cubic", "lanczos3", "gaussian"}
	if f >= numFilters {
		return fmt.Sprintf("Filter(%d)", uint8(f))
	}
	return names[f]
}

// window is a filter scaled to the source: a table that is interpolated linearly. DALI tabulates its filters, and the
// difference to the closed forms is larger than the agreement that is asked for.
type window struct {
	table   []float32
	step    float32 // table entries per source sample
	radius  float32 // source samples from the left end of the table to its centre
	support int     // source samples under the filter
}

// newWindow stretches a table over length source samples. The roundings are those of DALI: where a sample lies
// exactly on the edge of the filter, they decide whether it counts.
func newWindow(table []float32, length float32) window {
	n := float32(len(table) - 1)
	w := window{table: table, step: n / length}
	w.radius = n / 2 / w.step
	w.support = int(math.Ceil(float64(n / w.step)))
	return w
}

var triangleTable = []float32{0, 1, 0}

var cubicTable = tabulate(129, 2, func(x float64) float64 {
	x = math.Abs(x)
	if x > 1 {
		return ((-0.5*x+2.5)*x-4)*x + 2
	}
	return (1.5*x-2.5)*x*x + 1
})

var lanczosTable = tabulate(193, 3, func(x float64) float64 { return sinc(x) * sinc(x/3) })

var gaussianTable = tabulate(65, 2, func(x float64) float64 { return math.Exp(-x * x) })

func tabulate(n int, radius float64, f func(float64) float64) []float32 {
	t := make([]float32, n)
	for i := range t {
		t[i] = float32(f(radius * float64(2*i-(n-1)) / float64(n-1)))
	}
	return t
}

func sinc(x float64) float64 {
	switch {
	case x == 0:
		return 1
	case x == math.Trunc(x):
		return 0 // where math.Sin leaves a rounding error, which would count as a tap
	}
	return math.Sin(math.Pi*x) / (math.Pi * x)
}

// window returns the window of f for a step of scale source samples per output sample. It is not defined for
// Nearest.
func (f Filter) window(scale float32, antialias bool) window {
	widen := float32(1)
	if antialias && scale > 1 {
		widen = scale
	}
	switch f {
	case Cubic:
		return newWindow(cubicTable, 4*widen)
	case Lanczos3:
		return newWindow(lanczosTable, 6*widen)
	case Gaussian:
		sigma := float32(float64(widen) / 2 / math.Sqrt2)
		return newWindow(gaussianTable, float32(4*math.Sqrt2)*sigma)
	default:
		return newWindow(triangleTable, 2*widen)
	}
}
