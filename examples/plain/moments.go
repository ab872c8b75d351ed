package main

import (
	"context"
	"math"

	"github.com/planktonml/plankton/iterator"
)

// moments are sums over pixels, from which mean and deviation follow.
type moments struct {
	Pixels  int64           `json:"pixels"`
	Sum     [channels]int64 `json:"sum"`
	Squares [channels]int64 `json:"squares"`
}

// measure adds the pictures left in the epoch's first steps.
func (m *moments) measure(ctx context.Context, loader *iterator.Loader, progress *iterator.Progress, steps int) error {
	if steps == 0 {
		return nil
	}
	defer progress.Close()
	for b, err := range loader.Epoch(ctx) {
		if err != nil {
			return err
		}
		images := b.Uint8s("image")
		size := len(images) / b.Size()
		for row, valid := range b.Mask() {
			if valid {
				m.add(images[row*size:][:size])
			}
		}
		progress.Step("")
		if int(b.Step())+1 == steps {
			break // the workers rest, and the loader's state is the place behind this batch
		}
	}
	return nil
}

// add adds the pixels of one picture.
func (m *moments) add(image []uint8) {
	for i := 0; i < len(image); i += channels {
		for c := range channels {
			v := int64(image[i+c])
			m.Sum[c] += v
			m.Squares[c] += v * v
		}
	}
	m.Pixels += int64(len(image) / channels)
}

// channels returns mean and deviation of every channel, for pixels from 0 to 1.
func (m *moments) channels() (mean, deviation [channels]float64) {
	n := float64(m.Pixels)
	for c := range channels {
		mean[c] = float64(m.Sum[c]) / n / 255
		variance := float64(m.Squares[c])/n/255/255 - mean[c]*mean[c]
		deviation[c] = math.Sqrt(max(0, variance)) // rounding can leave less than 0
	}
	return mean, deviation
}
