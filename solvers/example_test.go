//go:build !cuda

package solvers_test

import (
	"encoding/json"
	"fmt"
	"log"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/planktonml/plankton/solvers"
)

// checkpoint is what a training needs to go on, but for its data.
type checkpoint struct {
	Weights []float64
	Solver  solvers.State
}

// train takes steps towards (w - 3)² = 0, from a checkpoint if there is one, and returns
// the next one.
func train(steps int, from []byte) (to []byte, err error) {
	weights := []float64{0, 1, 2}
	g := gorgonia.NewGraph()
	w := gorgonia.NewVector(g, tensor.Float64, gorgonia.WithShape(3), gorgonia.WithName("w"),
		gorgonia.WithValue(tensor.New(tensor.WithShape(3), tensor.WithBacking(weights))))
	cost := gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.Square(gorgonia.Must(gorgonia.Sub(w, gorgonia.NewConstant(3.0)))))))
	if _, err := gorgonia.Grad(cost, w); err != nil {
		return nil, err
	}
	model := gorgonia.Nodes{w}
	solver, err := solvers.NewAdam(model, solvers.AdamOptions{LearnRate: 0.1})
	if err != nil {
		return nil, err
	}
	if from != nil {
		var c checkpoint
		if err := json.Unmarshal(from, &c); err != nil {
			return nil, err
		}
		if err := solver.Restore(c.Solver); err != nil {
			return nil, err
		}
		copy(weights, c.Weights)
	}
	vm := gorgonia.NewTapeMachine(g, gorgonia.BindDualValues(w))
	defer vm.Close()
	for range steps {
		if err := vm.RunAll(); err != nil {
			return nil, err
		}
		if err := solver.Step(gorgonia.NodesToValueGrads(model)); err != nil {
			return nil, err
		}
		vm.Reset()
	}
	fmt.Printf("%.4f after %d steps\n", weights, solver.Steps())
	return json.Marshal(checkpoint{weights, solver.State()})
}

// A training of 100 steps, and one that ends after 40 and goes on, end alike.
func Example() {
	whole, err := train(100, nil)
	if err != nil {
		log.Fatal(err)
	}
	first, err := train(40, nil)
	if err != nil {
		log.Fatal(err)
	}
	both, err := train(60, first)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(whole) == string(both))
	// Output:
	// [2.9807 3.0084 2.9971] after 100 steps
	// [3.0077 3.2338 2.8992] after 40 steps
	// [2.9807 3.0084 2.9971] after 100 steps
	// true
}
