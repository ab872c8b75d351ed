package solvers

import (
	"fmt"
	"unicode/utf8"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Solver is a gorgonia.Solver whose state can be stored. NewAdam, NewAdamW, NewRMSProp,
// NewMomentum and NewVanilla make one for the nodes of a model. It is for one goroutine
// at a time.
type Solver struct {
	rule  rule
	rate  float64
	steps int64
	nodes []node
}

// rule is the arithmetic of a solver.
type rule interface {
	name() string
	// settings lists the options that decide what a step does, but the learning rate.
	settings() []setting
	// slots names what is kept for every number of the model.
	slots() []string
	// begin is told before a step which one it is, from 1 on, and its learning rate.
	begin(step int64, rate float64)
	// float32s and float64s change the weights w with their gradients g and what is kept,
	// slot by slot. All have the same length.
	float32s(w, g []float32, kept [][]float32)
	float64s(w, g []float64, kept [][]float64)
}

// newSolver makes a solver that has taken no step.
func newSolver(model gorgonia.Nodes, rate float64, r rule) (*Solver, error) {
	s := &Solver{rule: r, rate: rate}
	for _, o := range append(r.settings(), learnRate(rate)) {
		if err := o.check(r.name()); err != nil {
			return nil, err
		}
	}
	if len(model) == 0 {
		return nil, fmt.Errorf("solvers: %s: the model has no node", r.name())
	}
	names := map[string]bool{}
	for i, n := range model {
		if n == nil {
			return nil, fmt.Errorf("solvers: %s: node %d of the model is nil", r.name(), i)
		}
		name := n.Name()
		if name == unnamed || names[name] || !utf8.ValidString(name) {
			return nil, &NodeError{Solver: r.name(), Node: name, Err: ErrName}
		}
		names[name] = true
		var made node
		switch numbersOf(n.Type()) {
		case tensor.Float32:
			made = newNode(name, n.Shape(), float32s, r.float32s, r.slots())
		case tensor.Float64:
			made = newNode(name, n.Shape(), float64s, r.float64s, r.slots())
		default:
			return nil, &NodeError{Solver: r.name(), Node: name, Err: ErrType}
		}
		s.nodes = append(s.nodes, made)
	}
	return s, nil
}

// unnamed is what Gorgonia calls every input without a name.
const unnamed = "%!s(<nil>)()"

// numbersOf returns what the values of a node consist of.
func numbersOf(t hm.Type) tensor.Dtype {
	if array, ok := t.(gorgonia.TensorType); ok {
		t = array.Of
	}
	d, _ := t.(tensor.Dtype)
	return d
}

// Step changes the weights by the gradients, and sets the gradients to zero, to which the
// next run of a machine adds. The model is the one that the solver was made for: nodes of
// the same names, types and shapes in the same order, of the same graph or another.
//
// The error is a *NodeError that wraps ErrOtherModel, ErrNoValue, ErrNoGradient or
// ErrLayout. No weight, no gradient and no state has changed then.
func (s *Solver) Step(model []gorgonia.ValueGrad) error {
	if len(model) != len(s.nodes) {
		return fmt.Errorf("solvers: %s: %w: it has %d nodes, those were %d", s.rule.name(), ErrOtherModel, len(model), len(s.nodes))
	}
	for i, n := range s.nodes {
		if err := n.find(model[i]); err != nil {
			s.forget()
			return &NodeError{Solver: s.rule.name(), Node: n.title(), Err: err}
		}
	}
	s.rule.begin(s.steps+1, s.rate)
	for _, n := range s.nodes {
		n.step()
	}
	s.steps++
	s.forget()
	return nil
}

// forget lets go of the arrays of a step.
func (s *Solver) forget() {
	for _, n := range s.nodes {
		n.forget()
	}
}

// LearnRate returns the learning rate of the steps to come.
func (s *Solver) LearnRate() float64 { return s.rate }

// SetLearnRate sets the learning rate of the steps to come, 0 or more. It is part of the
// state. (gorgonia.WithLearnRate changes Gorgonia's own solvers only, and nothing here.)
func (s *Solver) SetLearnRate(rate float64) error {
	if err := learnRate(rate).check(s.rule.name()); err != nil {
		return err
	}
	s.rate = rate
	return nil
}

// Steps returns how many steps were taken, those before a Restore included.
func (s *Solver) Steps() int64 { return s.steps }
