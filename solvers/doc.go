// Package solvers has solvers for Gorgonia whose state can be stored: Adam, AdamW, RMSProp,
// Momentum and plain gradient descent. A training that was killed goes on from what was
// stored and ends with the same weights, bit for bit.
//
//	solver, err := solvers.NewAdam(model, solvers.AdamOptions{LearnRate: 0.003})
//	…
//	err = solver.Step(gorgonia.NodesToValueGrads(model))
//	…
//	checkpoint := struct {
//		Loader iterator.State
//		Solver solvers.State
//		…      // the weights
//	}{loaderState, solver.State(), …}
//
// A solver is made for the nodes of a model, which need names of their own, and takes steps
// for these alone. It keeps one or two numbers for each number of the model, none for
// NewVanilla, of the same type, float32 or float64. A step allocates nothing. Nodes that
// learn by other options have a solver of their own.
//
// # Exactness
//
// A step computes in float64 and rounds what it stores. Its result is a function of the
// weights, the gradients, the options and the state, the same to the bit on every
// processor. So a training is exact if the gradients are: those of package gorgoniaplugin's
// batches and of a tape machine are, on one kind of processor. Numbers that are not finite
// spread as arithmetic has it; no step hides them.
//
// # Beside Gorgonia's solvers
//
// Those of Gorgonia 0.9.18 keep state, too, but do not export it: only its VanillaSolver
// can go on exactly. With the same options these solvers compute what they compute, but
// for rounding, except:
//
//   - gorgonia.AdamW changes no weight: it computes on a copy, and takes for decays what
//     Adam divides by.
//   - gorgonia.Momentum takes the penalties WithL1Reg and WithL2Reg of its velocity instead
//     of the weights, and has no momentum for scalars.
//   - gorgonia.RMSPropSolver adds ε inside the root (here, as in PyTorch, outside), clips
//     behind the mean of squares and scalars not at all, and takes its penalty from the
//     weights without the learning rate. Its defaults are LearnRate 0.001 and Decay 0.999.
//   - For float32 gorgonia.AdamSolver rounds 1 - β, which changes its first steps by a few
//     parts in 100,000.
//
// WithL1Reg and WithBatchSize have no counterpart: have the penalty and the mean in the
// cost, as Feed.Weights of package gorgoniaplugin does. Gorgonia's options, such as
// gorgonia.WithLearnRate, do nothing to solvers that are not Gorgonia's: use SetLearnRate.
//
// # On a GPU
//
// With Gorgonia's tag cuda, too, weights and gradients are in the memory of the host between
// runs, and the step is taken there. A value in other memory is refused (ErrLayout).
package solvers
