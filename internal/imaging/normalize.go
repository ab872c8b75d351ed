package imaging

import (
	"math"

	"github.com/planktonml/plankton/pipeline/datum"
)

// NormalizeSpec holds the arguments of [Normalizer.Apply], under DALI's rules.
type NormalizeSpec struct {
	Axes    []int    // dimensions over which mean and deviation are taken; nil means all
	Mean    *float32 // instead of the mean of the data
	StdDev  *float32 // instead of the deviation of the data, which is taken about Mean where that is given
	DDoF    int      // subtracted from the count in the variance
	Epsilon float32  // added to the variance, also to that of StdDev
	Scale   float32  // the deviation of the result; 1 changes nothing
	Shift   float32  // the mean of the result
}

// Normalizer standardises arrays. It holds scratch memory between calls; each goroutine needs its own. The zero value
// is ready.
type Normalizer struct {
	x         []float32
	mean, inv []float64 // per group: the mean and 1/√(variance + Epsilon)
}

// Apply subtracts the mean of src and divides by its standard deviation: (x - mean)/√(variance + Epsilon)·Scale +
// Shift, for an array of the given shape. Data without deviation become Shift. Elements are computed in float32 and
// saturate where to is an integer type.
func (n *Normalizer) Apply(dst []byte, to datum.DType, src []byte, from datum.DType, shape []int, s *NormalizeSpec) error {
	count := elements(shape)
	if to.Size() == 0 || from.Size() == 0 || len(src) != count*from.Size() || len(dst) != count*to.Size() {
		return badArgument("normalize", "%d bytes of %v and %d of %v for shape %v", len(src), from, len(dst), to, shape)
	}
	if s.Axes != nil && s.Mean != nil && s.StdDev != nil {
		return badArgument("normalize", "axes %v beside a given mean and deviation: leave the axes out, nothing is reduced", s.Axes)
	}
	g := groupIndex{shape: shape}
	groups, err := g.reduce(s.Axes)
	if err != nil {
		return err
	}
	if count == 0 {
		return nil
	}
	n.x, n.mean, n.inv = grow(n.x, count), grow(n.mean, groups), grow(n.inv, groups)
	convert(datum.BytesOf(n.x), datum.Float32, src, from)
	n.center(s, &g)
	n.deviate(s, &g)
	g.restart()
	for i, v := range n.x {
		k := g.next()
		n.x[i] = float32((float64(v)-n.mean[k])*n.inv[k]*float64(s.Scale) + float64(s.Shift))
	}
	castFrom(dst, to, n.x)
	return nil
}

// center computes the means.
func (n *Normalizer) center(s *NormalizeSpec, g *groupIndex) {
	if s.Mean != nil {
		for k := range n.mean {
			n.mean[k] = float64(*s.Mean)
		}
		return
	}
	clear(n.mean)
	g.restart()
	for _, v := range n.x {
		n.mean[g.next()] += float64(v)
	}
	for k := range n.mean {
		n.mean[k] *= float64(len(n.mean)) / float64(len(n.x))
	}
}

// deviate computes the inverse deviations.
func (n *Normalizer) deviate(s *NormalizeSpec, g *groupIndex) {
	if s.StdDev != nil {
		inv := 1 / float64(*s.StdDev) // which keeps the sign of a negative one
		if s.Epsilon != 0 {
			inv = 1 / math.Sqrt(float64(*s.StdDev)*float64(*s.StdDev)+float64(s.Epsilon))
		}
		for k := range n.inv {
			n.inv[k] = inv
		}
		return
	}
	clear(n.inv)
	g.restart()
	for _, v := range n.x {
		k := g.next()
		d := float64(v) - n.mean[k]
		n.inv[k] += d * d
	}
	free := float64(len(n.x)/len(n.inv) - s.DDoF)
	for k, sum := range n.inv {
		n.inv[k] = 0
		if variance := sum/free + float64(s.Epsilon); free > 0 && variance > 0 {
			n.inv[k] = 1 / math.Sqrt(variance)
		}
	}
}

// groupIndex walks over an array in row-major order and says which group each element belongs to: elements that differ
// only in reduced dimensions are one group.
type groupIndex struct {
	shape []int
	steps [MaxDims]int // how the group changes along each dimension
	at    [MaxDims]int
	group int
}

// reduce sets the dimensions that are reduced, all where axes is nil, and returns the number of groups.
func (g *groupIndex) reduce(axes []int) (groups int, err error) {
	if len(g.shape) > MaxDims {
		return 0, badArgument("normalize", "%d dimensions, at most %d are possible", len(g.shape), MaxDims)
	}
	var reduced [MaxDims]bool
	for _, a := range axes {
		if a < 0 || a >= len(g.shape) || reduced[a] {
			return 0, badArgument("normalize", "axes %v of an array with %d dimensions: each must name a dimension, once", axes, len(g.shape))
		}
		reduced[a] = true
	}
	groups = 1
	for i := len(g.shape) - 1; i >= 0; i-- {
		if axes != nil && !reduced[i] {
			g.steps[i] = groups
			groups *= g.shape[i]
		}
	}
	return groups, nil
}

func (g *groupIndex) restart() { g.at, g.group = [MaxDims]int{}, 0 }

// next returns the group of the element at hand and moves on to the next element.
func (g *groupIndex) next() int {
	k := g.group
	for i := len(g.shape) - 1; i >= 0; i-- {
		g.at[i]++
		g.group += g.steps[i]
		if g.at[i] < g.shape[i] {
			break
		}
		g.group -= g.at[i] * g.steps[i]
		g.at[i] = 0
	}
	return k
}
