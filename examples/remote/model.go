package main

import (
	"crypto/sha256"
	"encoding/binary"
	"math"

	"github.com/planktonml/plankton/iterator"
)

// model is a softmax regression: a weight for every pixel and class.
type model struct {
	classes int
	weights []float64 // by class, pixels × channels and a bias each
	loss    float64   // of the epoch so far, summed up
	rows    int
}

const (
	features = 3*side*side + 1
	rate     = 0.001
)

func newModel(classes int) *model {
	return &model{classes: classes, weights: make([]float64, classes*features)}
}

// step learns from the valid rows of a batch, one after the other.
func (m *model) step(b *iterator.Batch) {
	images, labels := b.Float32s("image"), b.Float32s("label")
	for row, ok := range b.Mask() {
		if ok {
			m.learn(images[row*(features-1):][:features-1], labels[row*m.classes:][:m.classes])
		}
	}
}

func (m *model) learn(x, want []float32) {
	scores, sum := make([]float64, m.classes), 0.0
	for c := range scores {
		w := m.weights[c*features:][:features]
		scores[c] = w[features-1]
		for i, v := range x {
			scores[c] += float64(w[i] * float64(v))
		}
	}
	for c, s := range scores {
		scores[c] = math.Exp(min(s, 500))
		sum += scores[c]
	}
	for c, s := range scores {
		p := s / sum
		if want[c] != 0 {
			m.loss -= math.Log(max(p, 1e-300))
		}
		w, g := m.weights[c*features:][:features], rate*(p-float64(want[c]))
		for i, v := range x {
			w[i] -= float64(g * float64(v))
		}
		w[features-1] -= g
	}
	m.rows++
}

// meanLoss returns the loss of the epoch and begins another one.
func (m *model) meanLoss() float64 {
	mean := m.loss / float64(m.rows)
	m.loss, m.rows = 0, 0
	return mean
}

// sum returns what weights that are equal to the bit have in common.
func (m *model) sum() []byte {
	h := sha256.New()
	_ = binary.Write(h, binary.LittleEndian, m.weights) // a hash takes all
	return h.Sum(nil)[:8]
}
