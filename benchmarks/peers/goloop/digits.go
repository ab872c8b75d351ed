//go:build linux

package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const (
	pixels  = 28 * 28
	classes = 10
)

// digits are the MNIST training pictures, pixels bytes each, and labels.
type digits struct{ pictures, labels []byte }

func readDigits(dir string) (digits, error) {
	pictures, err := readIDX(filepath.Join(dir, "train-images-idx3-ubyte.gz"), 16)
	if err != nil {
		return digits{}, err
	}
	labels, err := readIDX(filepath.Join(dir, "train-labels-idx1-ubyte.gz"), 8)
	if err == nil && len(pictures) != pixels*len(labels) {
		err = fmt.Errorf("%s: %d bytes of pictures for %d labels", dir, len(pictures), len(labels))
	}
	return digits{pictures, labels}, err
}

// readIDX returns what follows the header of a compressed IDX file.
func readIDX(name string, header int) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	b, err := io.ReadAll(z)
	if err == nil && len(b) < header {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b[header:], nil
}

// sample writes the pixels as 0 … 1 and the label as one-hot.
func (d digits) sample(row []float32, i int) {
	for k, v := range d.pictures[i*pixels:][:pixels] {
		row[k] = float32(v) / 255
	}
	clear(row[pixels:])
	row[pixels+int(d.labels[i])] = 1
}
