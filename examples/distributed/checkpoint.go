package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/solvers"
)

// checkpoint is all that a run needs to go on.
type checkpoint struct {
	Steps    int            `json:"steps"`
	Loader   iterator.State `json:"loader"`
	Weights  [][]float32    `json:"weights"`
	Solver   solvers.State  `json:"solver"`
	Checksum string         `json:"checksum"` // of all the rest
}

// errDamaged says that a checkpoint is not what was written.
var errDamaged = errors.New("the checkpoint is damaged")

// previous is what the name of the checkpoint before the last one ends with.
const previous = ".old"

// save writes the checkpoint and keeps the one before. The states are the same on every
// rank, and so are the weights: rank 0 writes for all.
func (t *trainer) save() error {
	if t.config.checkpoint == "" || t.rank != 0 {
		return nil
	}
	state, err := t.loader.State()
	if err != nil {
		return err
	}
	c := checkpoint{Steps: t.step, Loader: state, Weights: t.net.weights, Solver: t.solver.State()}
	if c.Checksum, err = c.sum(); err != nil {
		return err
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return replace(t.config.checkpoint, text)
}

func (c checkpoint) sum() (string, error) {
	c.Checksum = ""
	text, err := json.Marshal(c)
	return fmt.Sprintf("%x", sha256.Sum256(text)), err
}

// restore takes up the checkpoint, if there is one, or the one before if the last one is
// damaged or was not put in its place.
func (t *trainer) restore() error {
	name := t.config.checkpoint
	if name == "" {
		return nil
	}
	c, err := load(name)
	if err != nil && (errors.Is(err, errDamaged) || errors.Is(err, fs.ErrNotExist)) {
		before, beforeErr := load(name + previous)
		switch {
		case beforeErr == nil:
			if err := t.setAside(name); err != nil {
				return err
			}
			c, name, err = before, name+previous, nil
		case !errors.Is(beforeErr, fs.ErrNotExist):
			return errors.Join(err, beforeErr)
		case errors.Is(err, fs.ErrNotExist):
			return nil // there is none yet
		default:
			return fmt.Errorf("%w, and there is none before it: move it away to begin anew", err)
		}
	}
	if err != nil {
		return err
	}
	if err := t.goOn(c); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// load reads a checkpoint.
func load(name string) (c checkpoint, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(text, &c); err != nil {
		if errors.Is(err, iterator.ErrVersion) || errors.Is(err, solvers.ErrVersion) {
			return c, fmt.Errorf("%s: %w", name, err)
		}
		return c, fmt.Errorf("%s: %w: %w", name, errDamaged, err)
	}
	sum, err := c.sum()
	if err == nil && sum != c.Checksum {
		err = fmt.Errorf("%s: %w: its checksum is %q, that of its content %q", name, errDamaged, c.Checksum, sum)
	}
	return c, err
}

// setAside moves a damaged checkpoint to where it does not take the place of a good one
// when the next one is saved.
func (t *trainer) setAside(name string) error {
	if t.rank != 0 {
		return nil
	}
	if err := os.Rename(name, name+".damaged"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	fmt.Fprintf(os.Stderr, "distributed: %s is damaged or missing; going on from %s\n", name, name+previous)
	return nil
}

// goOn puts the trainer where a checkpoint says.
func (t *trainer) goOn(c checkpoint) error {
	if len(c.Weights) != len(t.net.weights) {
		return fmt.Errorf("it has %d weight matrices, the network %d", len(c.Weights), len(t.net.weights))
	}
	for i, w := range c.Weights {
		if len(w) != len(t.net.weights[i]) {
			return fmt.Errorf("weight matrix %d has %d numbers, the network's %d", i, len(w), len(t.net.weights[i]))
		}
	}
	if err := t.loader.Restore(c.Loader); err != nil {
		return err
	}
	if err := t.solver.Restore(c.Solver); err != nil {
		return err
	}
	for i, w := range c.Weights {
		copy(t.net.weights[i], w)
	}
	t.step = c.Steps
	return nil
}
