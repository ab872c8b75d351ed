package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/shard"
)

const (
	samples  = 500
	features = 8
	classes  = 4
	spread   = 0.1 // of the noise that a sample gets anew in every epoch
)

// points returns a made-up data set: points around one centre per class.
func points() (x []float32, label []int32) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var centres [classes][features]float32
	for c := range centres {
		for i := range centres[c] {
			centres[c][i] = 2*rnd.Float32() - 1
		}
	}
	for n := range samples {
		c := n % classes
		for i := range features {
			x = append(x, centres[c][i]+float32(0.5*rnd.NormFloat64()))
		}
		label = append(label, int32(c))
	}
	return x, label
}

// open makes the loader of one rank, with the outputs "x" and "label".
func open(c config, w shard.World) (*iterator.Loader, error) {
	if c.batch%w.Size != 0 {
		return nil, fmt.Errorf("%d ranks cannot share batches of %d rows: -batch must be a multiple of their number", w.Size, c.batch)
	}
	x, label := points()
	p, err := pipeline.New(pipeline.Options{BatchSize: c.batch / w.Size, Seed: 1}, func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{
			Shuffle: true, NumShards: w.Size, ShardID: w.Rank,
		}, readers.Rows(x, features), readers.Rows(label).WithClasses(classes))
		g.Output("x", jitter(g, v[0]))
		g.Output("label", ops.OneHot(g, v[1], ops.OneHotOptions{}))
	})
	if err != nil {
		return nil, err
	}
	return iterator.New(iterator.Options{Partition: c.partition}, p)
}

// jitter adds noise, which depends on the sample and the epoch but not on the
// rank that reads it.
func jitter(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
	random := g.NewRandom()
	return ops.Func(g, ops.FuncOptions{
		Name: "jitter", Outputs: []datum.Spec{v.Spec()}, Config: fmt.Sprintf("spread=%g %+v", spread, random),
	}, func(s *datum.Sample, in, out []*datum.Tensor) error {
		if _, err := out[0].Resize(in[0].Shape()...); err != nil {
			return err
		}
		rnd := random.At(s)
		dst := out[0].Float32s()
		for i, x := range in[0].Float32s() {
			dst[i] = x + float32(spread*rnd.Normal())
		}
		return nil
	}, v)[0]
}
