package metamorphic

import (
	"fmt"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/shard"
)

// definition is what decides the batches of a case.
type definition struct {
	seed      uint64
	batch     int
	chance    uint64 // the seed of the pipeline
	exact     bool
	onError   pipeline.ErrorPolicy
	reader    pipeline.ReaderOptions // of the driver, but for its shard
	shards    []int                  // that the pipelines of the loader begin with
	others    int                    // further readers, which read on
	followers int                    // readers that follow one of those
	operators int
	wholeOps  []executor.Backend // operators for whole batches
	outputs   int
	loader    iterator.Options
	sampled   func(f *definition, o *iterator.Options, n int64) // one of samplers, or nil
	sequence  int                                               // samples of the sequence that is read in place of a data set, or 0
	gathered  bool                                              // data lie in memory, and operators take many rows at once
}

// define draws a definition.
func define(seed uint64) *definition {
	d := drawsOf(seed, 1)
	f := &definition{
		seed: seed, batch: d.between(1, 7), chance: d.Uint64(), exact: d.oneIn(3),
		onError:   pick(d, pipeline.Fail, pipeline.Skip, pipeline.Replace),
		operators: d.between(0, 6), outputs: d.between(1, 4),
	}
	if d.oneIn(2) {
		for range d.between(1, 4) {
			f.wholeOps = append(f.wholeOps, pick(d, executor.Host, executor.Host, executor.Mixed, executor.Device))
		}
	}
	if d.oneIn(4) {
		f.others = d.between(1, 2)
	}
	if d.oneIn(3) {
		f.followers = d.between(1, 2)
	}
	n := pick(d, 1, 1, 2, 3, 4)
	f.reader = pipeline.ReaderOptions{Name: "driver", NumShards: n, StickToShard: d.oneIn(4), PadLastBatch: d.oneIn(4), Shuffle: d.oneIn(2)}
	f.shards = []int{d.IntN(n)}
	if d.oneIn(4) {
		f.shards = d.Perm(n)
	}
	f.loader = iterator.Options{
		ReaderName: "driver",
		LastBatch:  pick(d, shard.Partial, shard.Fill, shard.Drop),
		Partition:  pick(d, shard.ByShard, shard.ByStep),
	}
	if f.loader.Partition == shard.ByStep {
		f.reader.StickToShard = false // a partition by step has no shards
	}
	if f.reader.Shuffle && d.oneIn(3) {
		f.loader.ShuffleBlock = int64(d.between(1, 20))
		if !f.reader.StickToShard && d.oneIn(2) {
			f.loader.ShuffleGroup = int64(d.between(1, 5))
		}
	}
	if !f.reader.Shuffle && f.others == 0 && d.oneIn(8) {
		f.loader.Mode, f.loader.Partition = shard.DALI, shard.ByShard
	}
	if f.loader.Mode == shard.Exact && !f.reader.StickToShard && f.loader.ShuffleBlock == 0 && d.oneIn(3) {
		f.sampled = samplers[d.IntN(len(samplers))]
	}
	return f
}

// samplers put a sampler or groups into the options of a loader over n samples, where they
// can.
var samplers = []func(f *definition, o *iterator.Options, n int64){
	func(f *definition, o *iterator.Options, n int64) {
		o.Sampler = shard.Repeated{Times: 2, Apart: (n + 1) / 2}
	},
	func(f *definition, o *iterator.Options, n int64) {
		o.Sampler = shard.Subset{Samples: []int64{n - 1, 0}[:min(n, 2)]}
	},
	func(f *definition, o *iterator.Options, n int64) {
		labels := make([]int32, n)
		for i := range labels {
			labels[i] = int32(i % 3)
		}
		o.Sampler = shard.ClassBalanced{Labels: labels}
	},
	func(f *definition, o *iterator.Options, n int64) {
		if f.reader.Shuffle {
			o.Sampler = shard.Weighted{Weights: column(n, func(i int) float64 { return float64(1 + i%4) }), Draws: n + 3}
		}
	},
	func(f *definition, o *iterator.Options, n int64) {
		if f.reader.Shuffle {
			o.Sampler = shard.Curriculum{Keys: column(n, func(i int) float64 { return float64(i * 5 % 7) }), Start: 0.4, Epochs: 2}
		}
	},
	func(f *definition, o *iterator.Options, n int64) {
		if f.others > 0 {
			return
		}
		o.Partition = shard.ByStep
		o.Groups = &shard.Groups{Lengths: column(n, func(i int) int64 { return int64(i * 5 % 7) }), Window: n / 2}
		if o.LastBatch == shard.Partial && n > 1 {
			o.Groups.Budget = 12
		}
	},
}

func column[T any](n int64, value func(i int) T) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = value(i)
	}
	return all
}

// defineSequence draws a definition whose reader is a sequence.
func defineSequence(seed uint64) *definition {
	f, d := define(seed), drawsOf(seed, 4)
	f.sequence, f.reader, f.shards, f.others = d.between(1, 40), pipeline.ReaderOptions{Name: "driver"}, []int{0}, 0
	f.followers = 0
	f.loader, f.sampled = iterator.Options{LastBatch: pick(d, shard.Partial, shard.Drop)}, nil
	return f
}

// graph returns what builds the pipeline of a shard: the same whenever it is called.
func (f *definition) graph(shard int) func(*pipeline.Graph) {
	return func(g *pipeline.Graph) {
		b := &builder{g: g, d: drawsOf(f.seed, 2)}
		if f.gathered {
			b.gather(f, shard)
			return
		}
		b.read(f, shard)
		for range f.operators {
			if g.Err() != nil {
				return
			}
			choose(b.d, features).do(b)
		}
		if g.Err() != nil {
			return
		}
		for i := range f.outputs {
			g.Output(fmt.Sprint("out", i), b.any())
		}
		b.showCut()
		if last := b.values[len(b.values)-1]; b.d.oneIn(2) {
			g.Output("last", last)
		}
		for i, v := range b.wholeBatches(f) {
			g.Output(fmt.Sprint("whole", i), v)
		}
	}
}
