package shard_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/planktonml/plankton/shard"
)

// BenchmarkPlanBatch256 plans batches of 256 of 10⁹ samples.
func BenchmarkPlanBatch256(b *testing.B) {
	for _, c := range []struct {
		name string
		cfg  shard.Config
	}{
		{"unshuffled", shard.Config{}},
		{"unshuffled-by-step", shard.Config{Partition: shard.ByStep}},
		{"shuffled", shard.Config{Shuffle: true}},
		{"shuffled-by-step", shard.Config{Shuffle: true, Partition: shard.ByStep}},
		{"shuffled-sticking", shard.Config{Shuffle: true, StickToShard: true}},
		{"shuffled-blocks", shard.Config{Shuffle: true, Block: 4096}},
		{"shuffled-groups", shard.Config{Shuffle: true, Block: 4096, BlockGroup: 50}},
		{"mixed", shard.Config{Sources: []int64{6e8, 4e8}, Weights: []int64{1, 3}}},
		{"mixed-shuffled", shard.Config{Sources: []int64{6e8, 4e8}, Weights: []int64{1, 3}, Shuffle: true}},
		{"dali", shard.Config{Mode: shard.DALI}},
	} {
		b.Run(c.name, func(b *testing.B) {
			c.cfg.Samples, c.cfg.Batch, c.cfg.Shards = 1e9, 256, 8
			p, err := shard.New(c.cfg)
			if err != nil {
				b.Fatal(err)
			}
			benchmarkBatches(b, p, 3, 256)
		})
	}
}

// BenchmarkPlanResumed plans what four worlds have left.
func BenchmarkPlanResumed(b *testing.B) {
	for _, shuffle := range []bool{false, true} {
		b.Run(fmt.Sprintf("shuffle=%t", shuffle), func(b *testing.B) {
			p, err := shard.New(shard.Config{Samples: 1e9, Batch: 256, Shards: 8, Shuffle: shuffle})
			if err != nil {
				b.Fatal(err)
			}
			p, err = p.Resume(shard.Position{Phases: []shard.Phase{{8, 256, 1000}, {7, 256, 1000}, {6, 256, 1000}, {5, 256, 1000}}})
			if err != nil {
				b.Fatal(err)
			}
			benchmarkBatches(b, p, 0, 256)
		})
	}
}

func benchmarkBatches(b *testing.B, p *shard.Plan, epoch int64, rows int) {
	ids := make([]int64, 0, rows)
	steps := p.Len(epoch)
	b.ReportAllocs()
	for step := int64(0); b.Loop(); step++ {
		ids = p.AppendBatch(ids[:0], epoch, step%steps, 3)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/sample")
}

// BenchmarkResume resumes at both ends of an epoch of 10⁹ samples and plans the
// first batch.
func BenchmarkResume(b *testing.B) {
	for _, step := range []int64{0, 1_000_000} {
		b.Run(fmt.Sprintf("step=%d", step), func(b *testing.B) {
			p, err := shard.New(shard.Config{Samples: 1e9, Batch: 256, Shards: 3, Shuffle: true})
			if err != nil {
				b.Fatal(err)
			}
			pos := p.Position(0, step)
			ids := make([]int64, 0, 256)
			b.ReportAllocs()
			for b.Loop() {
				q, err := p.Resume(pos)
				if err != nil {
					b.Fatal(err)
				}
				epoch, step := q.Start()
				ids = q.AppendBatch(ids[:0], epoch, step, 1)
			}
		})
	}
}

func BenchmarkPermutation(b *testing.B) {
	for _, n := range []int64{100, 1e6, 1<<20 + 1, 1e9, 1e12} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			p := shard.NewPermutation(n, 1)
			for i := int64(0); b.Loop(); i++ {
				p.At(i % n)
			}
		})
	}
}

// BenchmarkSamplers plans batches of 256 of 10⁶ samples, the pass over an epoch not counted.
func BenchmarkSamplers(b *testing.B) {
	const n = 1_000_000
	keys, labels, list := make([]float64, n), make([]int32, n), make([]int64, n)
	for i := range keys {
		keys[i], labels[i], list[i] = float64(1+i*7919%1000), int32(i%1000), int64(n-1-i)
	}
	for _, c := range []struct {
		name    string
		sampler shard.Sampler
	}{
		{"none", nil},
		{"weighted", shard.Weighted{Weights: keys}},
		{"weighted-once", shard.Weighted{Weights: keys, Once: true}},
		{"class-balanced", shard.ClassBalanced{Labels: labels}},
		{"subset", shard.Subset{Samples: list}},
		{"repeated", shard.Repeated{Times: 3}},
		{"curriculum-paced", shard.Curriculum{Keys: keys, Start: 0.3, Epochs: 10}},
		{"curriculum-sorted", shard.Curriculum{Keys: keys, Window: 1000}},
	} {
		cfg := shard.Config{Samples: n, Batch: 256, Shards: 8, Shuffle: true, Partition: shard.ByStep, Sampler: c.sampler}
		b.Run(c.name, func(b *testing.B) {
			p, err := shard.New(cfg)
			if err != nil {
				b.Fatal(err)
			}
			benchmarkBatches(b, p, 3, 256)
		})
		b.Run(c.name+"/start", func(b *testing.B) {
			ids := make([]int64, 0, 256)
			for b.Loop() {
				p, err := shard.New(cfg)
				if err != nil {
					b.Fatal(err)
				}
				ids = p.AppendBatch(ids[:0], 3, 100, 3)
			}
		})
	}
}

// BenchmarkMixOfManySources plans batches of a mix of 600 sources: its start, with what it
// holds, and a batch.
func BenchmarkMixOfManySources(b *testing.B) {
	const n = 600
	for _, c := range []struct {
		name   string
		weight func(i int) int64
		stages int
	}{
		{"table", func(i int) int64 { return int64(1 + i%100) }, 0},
		{"fine", func(i int) int64 { return 1_000_003*int64(i+1) + 7 }, 0},
		{"fine, 4 stages", func(i int) int64 { return 1_000_003*int64(i+1) + 7 }, 4},
	} {
		cfg := shard.Config{Samples: 1e9, Batch: 256, Shards: 8, Shuffle: true, Partition: shard.ByStep, Shares: &shard.Shares{}}
		for i := range n {
			cfg.Sources = append(cfg.Sources, 1e6+int64(i))
			cfg.Shares.Weights = append(cfg.Shares.Weights, c.weight(i))
		}
		for k := range c.stages {
			next := slices.Clone(cfg.Shares.Weights)
			slices.Reverse(next)
			next[k]++
			cfg.Shares.Stages = append(cfg.Shares.Stages, shard.Stage{Epoch: int64(k), Draw: 1e6, Weights: next})
		}
		b.Run(c.name, func(b *testing.B) {
			p, err := shard.New(cfg)
			if err != nil {
				b.Fatal(err)
			}
			benchmarkBatches(b, p, 3, 256)
		})
		b.Run(c.name+"/start", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := shard.New(cfg); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
