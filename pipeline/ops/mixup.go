package ops

import (
	"fmt"
	"math"
	"slices"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/streams"
)

// MixOptions configures Mixup and CutMix.
type MixOptions struct {
	Alpha       float64  // both parameters of the beta distribution that shares are drawn of; default 1
	Probability *float64 // of batches that are mixed at all; default 1
	Classes     int      // of labels that are integers; default what the reader knows of its labels
}

// Mixup mixes every picture of a batch, and its label, with another one of the batch: the share
// of the first is one number per batch of a beta distribution (Zhang and others: mixup, 2018).
// Pictures are float32 or uint8 arrays of one shape; uint8 is rounded to the nearest level.
// Labels are integers, which become vectors as of OneHot, or such vectors, float32.
//
// What a batch draws follows from the seed, the epoch and the step. As partners are of the same
// batch, bits hold for one number of ranks and size of batches: a loader refuses a state of
// another world (pipeline.BatchOp.Mixes).
func Mixup(g *pipeline.Graph, pictures, labels pipeline.Value, o MixOptions) (mixed, mixedLabels pipeline.Value) {
	return addMix(g, "mixup", pictures, labels, o, func(*mix) error { return nil })
}

// addMix adds Mixup or CutMix; more checks what an operator asks for besides.
func addMix(g *pipeline.Graph, name string, pictures, labels pipeline.Value, o MixOptions, more func(m *mix) error) (mixed, mixedLabels pipeline.Value) {
	given(g, name, pictures)
	given(g, name, labels)
	m := mix{alpha: o.Alpha, probability: 1, random: g.NewRandom()}
	if o.Alpha == 0 {
		m.alpha = 1
	}
	if o.Probability != nil {
		m.probability = *o.Probability
	}
	if g.Err() != nil {
		return
	}
	if s := labels.Spec(); !s.DType.IsFloat() {
		labels = OneHot(g, labels, OneHotOptions{Classes: o.Classes})
	}
	m.picture = pictures.Spec()
	ls := labels.Spec()
	switch p := m.picture; {
	case g.Err() != nil:
	case p.DType != datum.Float32 && p.DType != datum.Uint8:
		g.Fail(name, fmt.Errorf("the pictures are %s; float32 or uint8 is wanted: cast them first", p))
	case ls.DType != datum.Float32 || len(ls.Shape) == 0:
		g.Fail(name, fmt.Errorf("the labels are %s; integers, or float32 vectors of OneHot, are wanted", ls))
	case !(m.alpha > 0 && m.alpha <= math.MaxFloat32):
		g.Fail(name, fmt.Errorf("Alpha is %g; it must be positive and finite", m.alpha))
	case !(m.probability >= 0 && m.probability <= 1):
		g.Fail(name, fmt.Errorf("Probability is %g; it must be 0 … 1", m.probability))
	default:
		g.Fail(name, more(&m))
	}
	if g.Err() != nil {
		return
	}
	p := m.picture
	p.Classes = 0
	vs := g.AddBatch(pipeline.BatchOp{
		Name: name, Inputs: []pipeline.Value{pictures, labels}, Outputs: []datum.Spec{p, ls}, Backend: executor.Host,
		Config: fmt.Sprintf("alpha=%g probability=%g %+v", m.alpha, m.probability, m.random), Mixes: true,
		New: func() (batchop.Kernel, error) { m := m; return &m, nil },
	})
	return vs[0], vs[1]
}

// mix is the kernel of Mixup and CutMix.
type mix struct {
	alpha, probability float64
	random             datum.Random
	picture            datum.Spec
	cut                bool // a region of the partner is put in, for CutMix
	h, w, pixel        int  // for CutMix: extents, and the bytes of an element that is moved
	planes             int  // that such elements are in

	place batchop.Place
	rows  []int // that are valid
}

func (k *mix) Place(p batchop.Place) { k.place = p }

// Run pairs each valid row with the one that stands a drawn number of valid rows before it.
func (k *mix) Run(_ *streams.Context, in, out []batchop.Tensor) error {
	k.rows = slices.Grow(k.rows[:0], len(k.place.IDs))
	for r, ok := range in[0].Mask {
		if ok {
			k.rows = append(k.rows, r)
		}
	}
	if len(k.rows) == 0 {
		return nil
	}
	r := k.place.Rand(k.random)
	share, by := 1.0, 0
	if r.Float64() < k.probability && len(k.rows) > 1 {
		x, y := logGamma(&r, k.alpha), logGamma(&r, k.alpha)
		share, by = 1/(1+math.Exp(y-x)), 1+r.IntN(len(k.rows)-1)
	}
	var region rectangle
	if k.cut {
		region, share = k.region(&r, share)
	}
	for i, row := range k.rows {
		partner := k.rows[(i+len(k.rows)-by)%len(k.rows)]
		dst, a, b := out[0].Row(row), in[0].Row(row), in[0].Row(partner)
		switch {
		case k.cut:
			k.paste(dst, a, b, region)
		case k.picture.DType == datum.Uint8:
			blendBytes(dst, a, b, share)
		default:
			blend(datum.View[float32](dst), datum.View[float32](a), datum.View[float32](b), share)
		}
		blend(datum.View[float32](out[1].Row(row)), datum.View[float32](in[1].Row(row)), datum.View[float32](in[1].Row(partner)), share)
	}
	return nil
}

// blend writes share of a and the rest of b.
func blend(dst, a, b []float32, share float64) {
	if share == 1 { // b may hold what is not finite
		copy(dst, a)
		return
	}
	p, q := float32(share), float32(1-share)
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = float32(p*a[i]) + float32(q*b[i])
	}
}

// blendBytes is blend for levels, in 16-bit fixed point.
func blendBytes(dst, a, b []byte, share float64) {
	p := uint32(math.Round(share * (1 << 16)))
	q := 1<<16 - p
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = byte((p*uint32(a[i]) + q*uint32(b[i]) + 1<<15) >> 16)
	}
}
