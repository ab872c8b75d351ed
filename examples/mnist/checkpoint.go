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

// checkpoint is all that a training needs to go on. examples/distributed shows how a
// checkpoint outlives a power cut and damage.
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
	data, err := t.trainSet.State()
	if err != nil {
		return err
	}
	c := checkpoint{Data: data, Solver: t.solver.State()}
	for _, p := range t.params {
		c.Weights = append(c.Weights, p.Data().([]float32))
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
	if err := t.goOn(c); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// goOn puts the trainer where a checkpoint says.
func (t *trainer) goOn(c checkpoint) error {
	if err := t.trainSet.Restore(c.Data); err != nil {
		return err
	}
	if err := t.solver.Restore(c.Solver); err != nil { // it compares the shapes of the weights
		return err
	}
	for i, p := range t.params {
		if i >= len(c.Weights) || copy(p.Data().([]float32), c.Weights[i]) != p.DataSize() {
			return errors.New("it does not have the weights of this network")
		}
	}
	return nil
}
