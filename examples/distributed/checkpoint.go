package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/planktonml/plankton/iterator"
)

// checkpoint is all that a run needs to go on.
type checkpoint struct {
	Steps   int            `json:"steps"`
	Loader  iterator.State `json:"loader"`
	Weights [][]float32    `json:"weights"`
}

// save writes the checkpoint. The state is the same on every rank, and so are
// the weights: rank 0 writes for all. The file is whole at any moment.
func (t *trainer) save() error {
	if t.config.checkpoint == "" || t.rank != 0 {
		return nil
	}
	state, err := t.loader.State()
	if err != nil {
		return err
	}
	text, err := json.Marshal(checkpoint{t.step, state, t.net.weights})
	if err != nil {
		return err
	}
	temp := t.config.checkpoint + ".new"
	if err := os.WriteFile(temp, text, 0o644); err != nil {
		return err
	}
	return os.Rename(temp, t.config.checkpoint)
}

// restore takes up the checkpoint, if there is one.
func (t *trainer) restore() error {
	if t.config.checkpoint == "" {
		return nil
	}
	text, err := os.ReadFile(t.config.checkpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var c checkpoint
	if err := json.Unmarshal(text, &c); err != nil {
		return fmt.Errorf("%s: %w", t.config.checkpoint, err)
	}
	if err := t.loader.Restore(c.Loader); err != nil {
		return fmt.Errorf("%s: %w", t.config.checkpoint, err)
	}
	if len(c.Weights) != len(t.net.weights) {
		return fmt.Errorf("%s: it has %d weight matrices, the network %d", t.config.checkpoint, len(c.Weights), len(t.net.weights))
	}
	for i, w := range c.Weights {
		if len(w) != len(t.net.weights[i]) {
			return fmt.Errorf("%s: weight matrix %d has %d numbers, the network's %d", t.config.checkpoint, i, len(w), len(t.net.weights[i]))
		}
		copy(t.net.weights[i], w)
	}
	t.step = c.Steps
	return nil
}
