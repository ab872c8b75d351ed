package solvers

import "gorgonia.org/gorgonia"

// MomentumOptions are the options of NewMomentum. A zero field means its default; NewVanilla
// makes a solver without momentum.
type MomentumOptions struct {
	LearnRate float64 // ε; default 0.001, as of PyTorch's torch.optim.SGD
	Momentum  float64 // μ, in [0, 1); default 0.9, as of Gorgonia
	L2        float64 // this times the weight is added to its gradient; default 0
	Clip      float64 // gradients, with L2, are cut to ±Clip; default: not at all
}

// NewMomentum makes a solver that follows Sutskever, Martens, Dahl and Hinton, "On the
// importance of initialization and momentum in deep learning" (ICML 2013), equations 1
// and 2:
//
//	v ← μv - εg
//	w ← w + v
//
// PyTorch multiplies by the learning rate behind v, which is the same until the learning
// rate changes.
//
// The error is an *OptionError, or a *NodeError that wraps ErrName or ErrType.
func NewMomentum(model gorgonia.Nodes, o MomentumOptions) (*Solver, error) {
	return newSolver(model, orDefault(o.LearnRate, 0.001), &momentum{
		momentum: orDefault(o.Momentum, 0.9), penalty: penalty{o.L2, o.Clip},
	})
}

type momentum struct {
	momentum float64
	penalty
	rate float64 // of the step at hand
}

func (m *momentum) name() string { return "Momentum" }

func (m *momentum) settings() []setting {
	return append(m.penalty.settings(), setting{"Momentum", m.momentum, 1})
}

func (m *momentum) slots() []string { return []string{"velocity"} }

func (m *momentum) begin(_ int64, rate float64) { m.rate = rate }

func (m *momentum) float32s(w, g []float32, kept [][]float32) { momentumStep(m, w, g, kept[0]) }
func (m *momentum) float64s(w, g []float64, kept [][]float64) { momentumStep(m, w, g, kept[0]) }

func momentumStep[T float](m *momentum, w, g, velocity []T) {
	mu, rate, l2, limit := m.momentum, m.rate, m.l2, m.limit()
	g, velocity = g[:len(w)], velocity[:len(w)]
	for i := range w {
		x := penalised(float64(g[i]), float64(w[i]), l2, limit)
		v := float64(mu*float64(velocity[i])) - float64(rate*x)
		velocity[i] = T(v)
		w[i] = T(float64(w[i]) + v)
	}
}
