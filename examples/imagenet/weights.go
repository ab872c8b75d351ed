package main

import (
	"bufio"
	"encoding/gob"
	"fmt"
	"os"

	"gorgonia.org/tensor"
)

// save writes parameters to a file.
func save(path string, params []*tensor.Dense) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	w := bufio.NewWriter(f)
	if err := gob.NewEncoder(w).Encode(params); err != nil {
		return err
	}
	return w.Flush()
}

// load reads what save wrote.
func load(path string) (params []*tensor.Dense, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := gob.NewDecoder(bufio.NewReader(f)).Decode(&params); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return params, nil
}
