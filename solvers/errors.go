package solvers

import (
	"errors"
	"fmt"
)

var (
	// ErrDamaged says that a stored state was cut short or edited.
	ErrDamaged = errors.New("solvers: damaged state")
	// ErrVersion says that a stored state is of a version that this one cannot read.
	ErrVersion = errors.New("solvers: state of another version")

	// ErrName is a node without a name of its own: states tell nodes apart by their names.
	ErrName = errors.New("states tell nodes apart by their names: give each one of its own with gorgonia.WithName")
	// ErrType is a node of numbers that are neither float32 nor float64.
	ErrType = errors.New("its numbers are neither float32 nor float64")
	// ErrOtherModel is a Step with other nodes than those that the solver was made for.
	ErrOtherModel = errors.New("the model is not the one that the solver was made for")
	// ErrNoValue is a node that holds nothing.
	ErrNoValue = errors.New("it has no value: give it one with gorgonia.WithValue or WithInit")
	// ErrNoGradient is a node whose gradient was not computed.
	ErrNoGradient = errors.New("it has no gradient: call gorgonia.Grad, make the machine with gorgonia.BindDualValues and call RunAll before Step")
	// ErrLayout is a value or a gradient that is not in the memory of the host, or that is
	// no dense array.
	ErrLayout = errors.New("its numbers cannot be read: they have to be a *tensor.Dense in the memory of the host, or a scalar")
)

// OptionError is an option that a solver cannot have.
type OptionError struct {
	Solver string // such as "Adam"
	Option string // name of the field
	Given  float64
	Want   string // what the option has to be
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("solvers: %s: %s is %v; it must be %s", e.Solver, e.Option, e.Given, e.Want)
}

// NodeError is a node that a solver cannot take a step for. No node has changed then.
type NodeError struct {
	Solver string // such as "Adam"
	Node   string // its name
	Err    error
}

func (e *NodeError) Error() string {
	return fmt.Sprintf("solvers: %s: node %q: %v", e.Solver, e.Node, e.Err)
}

func (e *NodeError) Unwrap() error { return e.Err }

// MismatchError names the first thing in which the solver that made a state differs from
// the one that is to go on from it.
type MismatchError struct {
	What   string // such as "Beta1" or `the shape of node "w"`
	Stored string
	Solver string
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("solvers: the state belongs to another solver: %s was %s, now it is %s; go on with the same model and options, or start anew", e.What, e.Stored, e.Solver)
}
