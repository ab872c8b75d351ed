package solvers

import (
	"math"

	"gorgonia.org/gorgonia"
)

// AdamOptions are the options of NewAdam. The defaults are those of the paper and of
// PyTorch's torch.optim.Adam. A zero field means its default; a number too small to matter,
// such as 1e-300, stands for none.
type AdamOptions struct {
	LearnRate float64 // α; default 0.001
	Beta1     float64 // decay of the mean of gradients, in [0, 1); default 0.9
	Beta2     float64 // decay of the mean of their squares, in [0, 1); default 0.999
	Epsilon   float64 // ε, added to the root of that mean; default 1e-8
	L2        float64 // this times the weight is added to its gradient; default 0. PyTorch's weight_decay
	Clip      float64 // gradients, with L2, are cut to ±Clip; default: not at all
}

// NewAdam makes a solver that follows Kingma and Ba, "Adam: A Method for Stochastic
// Optimization" (arXiv 1412.6980), algorithm 1:
//
//	m ← β₁m + (1 - β₁)g
//	v ← β₂v + (1 - β₂)g²
//	w ← w - α · m/(1 - β₁ᵗ) / (√(v/(1 - β₂ᵗ)) + ε)
//
// The error is an *OptionError, or a *NodeError that wraps ErrName or ErrType.
func NewAdam(model gorgonia.Nodes, o AdamOptions) (*Solver, error) {
	return newSolver(model, orDefault(o.LearnRate, 0.001), &adam{
		beta1: orDefault(o.Beta1, 0.9), beta2: orDefault(o.Beta2, 0.999), epsilon: orDefault(o.Epsilon, 1e-8),
		penalty: penalty{o.L2, o.Clip},
	})
}

// AdamWOptions are the options of NewAdamW. The defaults are those of PyTorch's
// torch.optim.AdamW. A zero field means its default; without a decay of the weights AdamW
// is Adam.
type AdamWOptions struct {
	LearnRate   float64 // α; default 0.001
	Beta1       float64 // decay of the mean of gradients, in [0, 1); default 0.9
	Beta2       float64 // decay of the mean of their squares, in [0, 1); default 0.999
	Epsilon     float64 // ε, added to the root of that mean; default 1e-8
	WeightDecay float64 // λ; default 0.01
	Clip        float64 // gradients are cut to ±Clip; default: not at all
}

// NewAdamW makes a solver that follows Loshchilov and Hutter, "Decoupled Weight Decay
// Regularization" (arXiv 1711.05101), algorithm 2, with the decay times the learning rate,
// as PyTorch has it: w is multiplied by 1 - αλ before the step of Adam.
//
// The error is an *OptionError, or a *NodeError that wraps ErrName or ErrType.
func NewAdamW(model gorgonia.Nodes, o AdamWOptions) (*Solver, error) {
	return newSolver(model, orDefault(o.LearnRate, 0.001), &adam{
		beta1: orDefault(o.Beta1, 0.9), beta2: orDefault(o.Beta2, 0.999), epsilon: orDefault(o.Epsilon, 1e-8),
		penalty: penalty{0, o.Clip}, decoupled: true, decay: orDefault(o.WeightDecay, 0.01),
	})
}

// adam is the rule of Adam and AdamW.
type adam struct {
	beta1, beta2, epsilon float64
	penalty
	decoupled bool // it is AdamW
	decay     float64

	// of the step at hand
	keep float64 // what is left of the weights
	size float64 // α/(1 - β₁ᵗ)
	root float64 // 1/√(1 - β₂ᵗ)
}

func (a *adam) name() string {
	if a.decoupled {
		return "AdamW"
	}
	return "Adam"
}

func (a *adam) settings() []setting {
	s := append(a.penalty.settings(), setting{"Beta1", a.beta1, 1}, setting{"Beta2", a.beta2, 1}, setting{"Epsilon", a.epsilon, math.Inf(1)})
	if a.decoupled {
		s = append(s, setting{"WeightDecay", a.decay, math.Inf(1)})
	}
	return s
}

func (a *adam) slots() []string { return []string{"mean", "square"} }

func (a *adam) begin(step int64, rate float64) {
	a.keep = 1 - float64(rate*a.decay)
	a.size = rate / (1 - power(a.beta1, step))
	a.root = 1 / math.Sqrt(1-power(a.beta2, step))
}

// power returns x to the power of n ≥ 0, the same on every processor: math.Pow is not.
func power(x float64, n int64) float64 {
	p := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			p *= x
		}
		x *= x
	}
	return p
}

func (a *adam) float32s(w, g []float32, kept [][]float32) { adamStep(a, w, g, kept[0], kept[1]) }
func (a *adam) float64s(w, g []float64, kept [][]float64) { adamStep(a, w, g, kept[0], kept[1]) }

func adamStep[T float](a *adam, w, g, mean, square []T) {
	beta1, beta2, epsilon := a.beta1, a.beta2, a.epsilon
	rest1, rest2 := 1-beta1, 1-beta2
	l2, limit := a.l2, a.limit()
	keep, size, root := a.keep, a.size, a.root
	g, mean, square = g[:len(w)], mean[:len(w)], square[:len(w)]
	for i := range w {
		x := penalised(float64(g[i]), float64(w[i]), l2, limit)
		m := float64(beta1*float64(mean[i])) + float64(rest1*x)
		v := float64(beta2*float64(square[i])) + float64(rest2*float64(x*x))
		mean[i], square[i] = T(m), T(v)
		w[i] = T(float64(keep*float64(w[i])) - float64(size*m)/(float64(math.Sqrt(v)*root)+epsilon))
	}
}
