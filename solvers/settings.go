package solvers

import "math"

// setting is an option and the range that it has to be in.
type setting struct {
	name  string
	value float64
	below float64 // it is at least 0, and less than this
}

func learnRate(rate float64) setting { return setting{"LearnRate", rate, math.Inf(1)} }

func (o setting) check(solver string) error {
	if o.value >= 0 && o.value < o.below {
		return nil
	}
	want := "a finite number, 0 or more"
	if o.below == 1 {
		want = "in [0, 1)"
	}
	return &OptionError{Solver: solver, Option: o.name, Given: o.value, Want: want}
}

// orDefault returns a value, or its default where it is 0.
func orDefault(value, standard float64) float64 {
	if value == 0 {
		return standard
	}
	return value
}

// penalty is what happens to gradients before the rules see them: l2 times the weight is
// added, then they are clipped.
type penalty struct {
	l2, clip float64
}

func (p penalty) settings() []setting {
	return []setting{{"L2", p.l2, math.Inf(1)}, {"Clip", p.clip, math.Inf(1)}}
}

// limit returns what gradients are clipped to.
func (p penalty) limit() float64 {
	if p.clip == 0 {
		return math.Inf(1)
	}
	return p.clip
}

// penalised returns the gradient g of a weight w as the rules see it. The conversion keeps
// the compiler from fusing a product and a sum, which processors of one kind do and
// others do not: results are the same on all.
func penalised(g, w, l2, limit float64) float64 {
	g += float64(l2 * w)
	if g > limit {
		return limit
	}
	if g < -limit {
		return -limit
	}
	return g
}
