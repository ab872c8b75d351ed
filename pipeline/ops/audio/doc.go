// Package audio holds operators on sound, under the names of NVIDIA DALI's: decoding,
// resampling, and what leads from a signal to mel spectrograms and cepstra.
//
// A signal is an array of samples, one after the other in time, of shape N, or N×C with its
// channels interleaved. Signals of floating-point numbers lie in −1 … 1; those of signed integers
// fill the range of their type, and of unsigned integers, too, with silence in its middle.
// Spectrograms are float32, frequency × time (layout ft) or time × frequency (tf).
package audio

import (
	"errors"
	"fmt"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// signal checks that a value is a signal of one channel, N, N×1 or 1×N, where its shape is known.
func signal(g *pipeline.Graph, op string, v pipeline.Value) datum.Spec {
	s := v.Spec()
	wide := 0
	for _, d := range s.Shape {
		if d != 1 {
			wide++
		}
	}
	switch {
	case !v.Set():
		g.Fail(op, errors.New("the signal is missing"))
	case len(s.Shape) < 1 || len(s.Shape) > 2 || wide > 1 && s.Dense():
		g.Fail(op, fmt.Errorf("the input is %s; a signal of one channel is wanted: decode with Mono, or take the mean of the channels", s))
	}
	return s
}

// mono checks a sample's shape: one channel, and something in it.
func mono(t *datum.Tensor) error {
	n := t.Len()
	for _, d := range t.Shape() {
		if d != 1 && d != n {
			return fmt.Errorf("a signal of shape %v; one channel is wanted: decode with Mono, or take the mean of the channels", append([]int{}, t.Shape()...))
		}
	}
	if n == 0 {
		return errors.New("a signal of 0 samples; leave such files out, or set OnError")
	}
	return nil
}

// float32Input checks that a value is float32 of at least one dimension.
func float32Input(g *pipeline.Graph, op string, v pipeline.Value) datum.Spec {
	s := v.Spec()
	switch {
	case !v.Set():
		g.Fail(op, errors.New("the input is missing"))
	case s.DType != datum.Float32 || len(s.Shape) == 0:
		g.Fail(op, fmt.Errorf("the input is %s; a float32 array is wanted", s))
	}
	return s
}

// spectrumAxis returns the dimension of frequencies: the layout's f, else the first of two.
func spectrumAxis(s datum.Spec) int {
	for i, c := range s.Layout {
		if c == 'f' {
			return i
		}
	}
	return max(len(s.Shape)-2, 0)
}

// lines is an array of some dimensions as outer × n × inner elements around one of them.
func lines(shape []int, axis int) (outer, n, inner int) {
	outer, inner = 1, 1
	for _, d := range shape[:axis] {
		outer *= d
	}
	for _, d := range shape[axis+1:] {
		inner *= d
	}
	return outer, shape[axis], inner
}
