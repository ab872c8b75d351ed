package solvers

import (
	"fmt"
	"slices"
)

// State returns what the solver keeps, as it is after the last step. Later steps do not
// change it.
func (s *Solver) State() State {
	state := State{head: s.header()}
	state.numbers = make([]byte, 0, state.head.bytes())
	for _, n := range s.nodes {
		state.numbers = n.store(state.numbers)
	}
	return state
}

func (s *Solver) header() stateHeader {
	h := stateHeader{
		Version: stateVersion, Solver: s.rule.name(), Steps: s.steps, LearnRate: s.rate,
		Options: map[string]float64{}, Slots: s.rule.slots(),
	}
	for _, o := range s.rule.settings() {
		h.Options[o.name] = o.value
	}
	for _, n := range s.nodes {
		h.Nodes = append(h.Nodes, n.header())
	}
	return h
}

// Restore puts the solver where the one stood that made the state, its learning rate and
// its number of steps included. With the weights of that moment, the steps that follow
// are those that would have followed then, bit for bit.
//
// The error is a *MismatchError if the state is of another kind of solver, of other options
// or of other nodes, by name, order, type or shape; an *OptionError if its learning rate is
// none; it wraps ErrDamaged for the zero State. The solver is as it was then.
func (s *Solver) Restore(state State) error {
	if state.head.Version == 0 {
		return fmt.Errorf("%w: it is empty", ErrDamaged)
	}
	if err := s.compare(state.head); err != nil {
		return err
	}
	if err := s.SetLearnRate(state.head.LearnRate); err != nil {
		return err
	}
	s.steps = state.head.Steps
	rest := state.numbers
	for _, n := range s.nodes {
		rest = n.load(rest)
	}
	return nil
}

// compare looks for what is another in the header of a state.
func (s *Solver) compare(stored stateHeader) error {
	own := s.header()
	if err := differ("the solver", stored.Solver, own.Solver); err != nil {
		return err
	}
	for _, o := range s.rule.settings() {
		if given, ok := stored.Options[o.name]; !ok || given != o.value {
			return &MismatchError{What: o.name, Stored: fmt.Sprint(given), Solver: fmt.Sprint(o.value)}
		}
	}
	if err := differ("the number of options", len(stored.Options), len(own.Options)); err != nil {
		return err
	}
	if !slices.Equal(stored.Slots, own.Slots) {
		return &MismatchError{What: "what is kept", Stored: fmt.Sprint(stored.Slots), Solver: fmt.Sprint(own.Slots)}
	}
	if err := differ("the number of nodes", len(stored.Nodes), len(own.Nodes)); err != nil {
		return err
	}
	for i, n := range own.Nodes {
		was := stored.Nodes[i]
		if was.Name != n.Name {
			return &MismatchError{What: fmt.Sprintf("the name of node %d", i), Stored: fmt.Sprintf("%q", was.Name), Solver: fmt.Sprintf("%q", n.Name)}
		}
		if err := differ(fmt.Sprintf("the type of node %q", n.Name), was.Type, n.Type); err != nil {
			return err
		}
		if !slices.Equal(was.Shape, n.Shape) {
			return &MismatchError{What: fmt.Sprintf("the shape of node %q", n.Name), Stored: fmt.Sprint(was.Shape), Solver: fmt.Sprint(n.Shape)}
		}
	}
	return nil
}

// differ returns an error if something is another than it was.
func differ[T comparable](what string, stored, own T) error {
	if stored == own {
		return nil
	}
	return &MismatchError{What: what, Stored: fmt.Sprint(stored), Solver: fmt.Sprint(own)}
}
