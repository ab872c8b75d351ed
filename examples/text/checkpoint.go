package main

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/solvers"
)

// checkpoint is all that a training needs to go on.
type checkpoint struct {
	Data    iterator.State
	Weights [][]float32
	Solver  solvers.State
}

// save replaces the checkpoint, unless the file has no name.
func (t *trainer) save(file string) error {
	if file == "" {
		return nil
	}
	data, err := t.loader.State()
	if err != nil {
		return err
	}
	c := checkpoint{Data: data, Solver: t.solver.State()}
	for _, n := range t.model {
		c.Weights = append(c.Weights, n.Value().Data().([]float32))
	}
	f, err := os.Create(file + ".new")
	if err != nil {
		return err
	}
	if err := errors.Join(gob.NewEncoder(f).Encode(c), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// restore takes up the checkpoint, if there is one.
func (t *trainer) restore(file string) error {
	if file == "" {
		return nil
	}
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // there is none yet
	}
	if err != nil {
		return err
	}
	defer f.Close()
	var c checkpoint
	if err := gob.NewDecoder(f).Decode(&c); err != nil {
		return fmt.Errorf("%s: %w: move it away to begin anew", file, err)
	}
	if err := t.loader.Restore(c.Data); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := t.solver.Restore(c.Solver); err != nil { // it compares the shapes of the weights
		return fmt.Errorf("%s: %w", file, err)
	}
	for i, n := range t.model {
		if i >= len(c.Weights) || copy(n.Value().Data().([]float32), c.Weights[i]) != n.Value().Shape().TotalSize() {
			return fmt.Errorf("%s: it does not have the weights of this network", file)
		}
	}
	return nil
}
