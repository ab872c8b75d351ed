package solvers

import "gorgonia.org/gorgonia"

// VanillaOptions are the options of NewVanilla. A zero field means its default.
type VanillaOptions struct {
	LearnRate float64 // default 0.001, as of PyTorch's torch.optim.SGD
	L2        float64 // this times the weight is added to its gradient; default 0
	Clip      float64 // gradients, with L2, are cut to ±Clip; default: not at all
}

// NewVanilla makes a solver of plain gradient descent: w ← w - LearnRate · g. Its state is
// the number of steps and the learning rate.
//
// The error is an *OptionError, or a *NodeError that wraps ErrName or ErrType.
func NewVanilla(model gorgonia.Nodes, o VanillaOptions) (*Solver, error) {
	return newSolver(model, orDefault(o.LearnRate, 0.001), &vanilla{penalty: penalty{o.L2, o.Clip}})
}

type vanilla struct {
	penalty
	rate float64 // of the step at hand
}

func (v *vanilla) name() string { return "Vanilla" }

func (v *vanilla) slots() []string { return nil }

func (v *vanilla) begin(_ int64, rate float64) { v.rate = rate }

func (v *vanilla) float32s(w, g []float32, _ [][]float32) { vanillaStep(v, w, g) }
func (v *vanilla) float64s(w, g []float64, _ [][]float64) { vanillaStep(v, w, g) }

func vanillaStep[T float](v *vanilla, w, g []T) {
	rate, l2, limit := v.rate, v.l2, v.limit()
	g = g[:len(w)]
	for i := range w {
		w[i] = T(float64(w[i]) - float64(rate*penalised(float64(g[i]), float64(w[i]), l2, limit)))
	}
}
