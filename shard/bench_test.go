package shard_test

import (
	"fmt"
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
