package solvers

import (
	"math"

	"gorgonia.org/gorgonia"
)

// RMSPropOptions are the options of NewRMSProp. The defaults are those of PyTorch's
// torch.optim.RMSprop; the lecture has a decay of 0.9. A zero field means its default; a
// number too small to matter, such as 1e-300, stands for none.
type RMSPropOptions struct {
	LearnRate float64 // α; default 0.01
	Decay     float64 // ρ, of the mean of squared gradients, in [0, 1); default 0.99
	Epsilon   float64 // ε, added to the root of that mean; default 1e-8
	L2        float64 // this times the weight is added to its gradient; default 0
	Clip      float64 // gradients, with L2, are cut to ±Clip; default: not at all
}

// NewRMSProp makes a solver that follows Tieleman and Hinton, "rmsprop: Divide the gradient
// by a running average of its recent magnitude" (Neural Networks for Machine Learning,
// lecture 6e, 2012):
//
//	v ← ρv + (1 - ρ)g²
//	w ← w - α · g / (√v + ε)
//
// The error is an *OptionError, or a *NodeError that wraps ErrName or ErrType.
func NewRMSProp(model gorgonia.Nodes, o RMSPropOptions) (*Solver, error) {
	return newSolver(model, orDefault(o.LearnRate, 0.01), &rmsProp{
		decay: orDefault(o.Decay, 0.99), epsilon: orDefault(o.Epsilon, 1e-8), penalty: penalty{o.L2, o.Clip},
	})
}

type rmsProp struct {
	decay, epsilon float64
	penalty
	rate float64 // of the step at hand
}

func (r *rmsProp) name() string { return "RMSProp" }

func (r *rmsProp) settings() []setting {
	return append(r.penalty.settings(), setting{"Decay", r.decay, 1}, setting{"Epsilon", r.epsilon, math.Inf(1)})
}

func (r *rmsProp) slots() []string { return []string{"square"} }

func (r *rmsProp) begin(_ int64, rate float64) { r.rate = rate }

func (r *rmsProp) float32s(w, g []float32, kept [][]float32) { rmsPropStep(r, w, g, kept[0]) }
func (r *rmsProp) float64s(w, g []float64, kept [][]float64) { rmsPropStep(r, w, g, kept[0]) }

func rmsPropStep[T float](r *rmsProp, w, g, square []T) {
	rate, decay, rest, epsilon := r.rate, r.decay, 1-r.decay, r.epsilon
	l2, limit := r.l2, r.limit()
	g, square = g[:len(w)], square[:len(w)]
	for i := range w {
		x := penalised(float64(g[i]), float64(w[i]), l2, limit)
		v := float64(decay*float64(square[i])) + float64(rest*float64(x*x))
		square[i] = T(v)
		w[i] = T(float64(w[i]) - float64(rate*x)/(math.Sqrt(v)+epsilon))
	}
}
