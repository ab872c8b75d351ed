package shard_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/planktonml/plankton/shard"
)

// The orders of BenchmarkGroups: lengths of a log-normal distribution, as those of texts
// are, of a mean of about 220 and at most 2,048.
const (
	groupSamples = 200_000
	groupRanks   = 8
	groupBatch   = 32
)

func textLengths() []int64 {
	r := rand.New(rand.NewPCG(1, 2))
	lengths := make([]int64, groupSamples)
	for i := range lengths {
		lengths[i] = min(max(int64(math.Exp(5+0.9*r.NormFloat64())), 1), 2048)
	}
	return lengths
}

// epochCost adds up what the batches of an epoch cost.
type epochCost struct {
	lengths                   []int64
	steps, tokens, padded     float64
	ofPadded, ofSums, busiest float64 // of steps: the largest cost by the mean one
}

func (c *epochCost) step(ranks [][]int64) {
	var sums, padded, mostSum, mostPadded float64
	for _, ids := range ranks {
		sum, longest := int64(0), int64(0)
		for _, id := range ids {
			sum, longest = sum+c.lengths[id], max(longest, c.lengths[id])
		}
		cost := float64(longest) * float64(len(ids))
		sums, padded = sums+float64(sum), padded+cost
		mostSum, mostPadded = max(mostSum, float64(sum)), max(mostPadded, cost)
	}
	c.steps++
	c.tokens, c.padded = c.tokens+sums, c.padded+padded
	c.ofSums += mostSum * float64(len(ranks)) / sums
	c.ofPadded += mostPadded * float64(len(ranks)) / padded
	c.busiest += mostPadded
}

func (c *epochCost) report(b *testing.B) {
	b.ReportMetric(100*(1-c.tokens/c.padded), "%padding")
	b.ReportMetric(c.ofPadded/c.steps, "balance-padded")
	b.ReportMetric(c.ofSums/c.steps, "balance-sums")
	b.ReportMetric(c.steps, "steps")
	b.ReportMetric(100*c.tokens/c.busiest/groupRanks, "%busy") // of the ranks' time, if padded rows cost what others do
	b.ReportMetric(0, "ns/op")
}

// BenchmarkGroups shows what groups save: the share of padding, the largest cost of a rank
// by the mean of the ranks, and how busy ranks are that wait for the slowest one.
func BenchmarkGroups(b *testing.B) {
	lengths := textLengths()
	const window = 100 * groupRanks * groupBatch
	for _, c := range []struct {
		name   string
		batch  int
		groups *shard.Groups
	}{
		{"random", groupBatch, nil},
		{"buckets", groupBatch, &shard.Groups{Lengths: lengths, Window: window, Padded: true}},
		{"buckets-summed", groupBatch, &shard.Groups{Lengths: lengths, Window: window}},
		{"balanced", groupBatch, &shard.Groups{Lengths: lengths}},
		{"budget", 512, &shard.Groups{Lengths: lengths, Window: window, Padded: true, Budget: 8192}},
		{"budget-summed", 512, &shard.Groups{Lengths: lengths, Window: window, Budget: 8192}},
	} {
		b.Run(c.name, func(b *testing.B) {
			p, err := shard.New(shard.Config{
				Samples: groupSamples, Batch: c.batch, Shards: groupRanks, Partition: shard.ByStep, Shuffle: true, Groups: c.groups,
			})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				cost := epochCost{lengths: lengths}
				ranks := make([][]int64, groupRanks)
				for step := range p.Steps(0) {
					for r := range ranks {
						ranks[r] = p.AppendBatch(ranks[r][:0], 0, step, r)
					}
					cost.step(ranks)
				}
				cost.report(b)
			}
		})
	}
	b.Run("bucket-sampler-per-rank", func(b *testing.B) {
		for b.Loop() {
			cost := epochCost{lengths: lengths}
			for _, ranks := range perRankBuckets(lengths) {
				cost.step(ranks)
			}
			cost.report(b)
		}
	})
	b.Run("sorted-megabatches", func(b *testing.B) {
		for b.Loop() {
			cost := epochCost{lengths: lengths}
			for _, ranks := range megabatches(lengths) {
				cost.step(ranks)
			}
			cost.report(b)
		}
	})
}

// perRankBuckets is what a bucket sampler behind a DistributedSampler does, as in
// torchnlp's BucketBatchSampler: each rank sorts a hundred batches' worth of its own samples
// at a time, and shuffles the batches.
func perRankBuckets(lengths []int64) (steps [][][]int64) {
	r := rand.New(rand.NewPCG(3, 4))
	order := r.Perm(len(lengths))
	for rank := range groupRanks {
		var own []int64
		for i := rank; i < len(order)/groupRanks*groupRanks; i += groupRanks {
			own = append(own, int64(order[i]))
		}
		step := 0
		for bucket := range slices.Chunk(own, 100*groupBatch) {
			slices.SortFunc(bucket, func(a, b int64) int { return int(lengths[a] - lengths[b]) })
			batches := slices.Collect(slices.Chunk(bucket, groupBatch))
			r.Shuffle(len(batches), func(i, k int) { batches[i], batches[k] = batches[k], batches[i] })
			for _, batch := range batches {
				if rank == 0 {
					steps = append(steps, nil)
				}
				steps[step] = append(steps[step], batch)
				step++
			}
		}
	}
	return steps
}

// megabatches is what Hugging Face's DistributedLengthGroupedSampler does: fifty batches are
// sorted, the longest first, and the ranks take every S-th sample.
func megabatches(lengths []int64) (steps [][][]int64) {
	r := rand.New(rand.NewPCG(5, 6))
	order := make([]int64, len(lengths))
	for i, k := range r.Perm(len(lengths)) {
		order[i] = int64(k)
	}
	for mega := range slices.Chunk(order, 50*groupBatch) {
		slices.SortFunc(mega, func(a, b int64) int { return int(lengths[b] - lengths[a]) })
	}
	for global := range slices.Chunk(order[:len(order)/groupRanks*groupRanks], groupRanks*groupBatch) {
		ranks := make([][]int64, groupRanks)
		for i, id := range global {
			ranks[i%groupRanks] = append(ranks[i%groupRanks], id)
		}
		steps = append(steps, ranks)
	}
	return steps
}

// BenchmarkGroupsCost measures what a plan with groups costs for a sample, its epoch of 10⁶
// samples read once, and the pass that a budget begins with.
func BenchmarkGroupsCost(b *testing.B) {
	const n = 1_000_000
	lengths := make([]int64, n)
	for i := range lengths {
		lengths[i] = int64(i*7919%2000 + 1)
	}
	for _, c := range []struct {
		name   string
		groups *shard.Groups
	}{
		{"none", nil},
		{"window=25600", &shard.Groups{Lengths: lengths, Window: 25600, Padded: true}},
		{"balanced", &shard.Groups{Lengths: lengths}},
		{"budget", &shard.Groups{Lengths: lengths, Window: 25600, Padded: true, Budget: 8192}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			ids := make([]int64, 0, 512)
			for b.Loop() {
				p, err := shard.New(shard.Config{Samples: n, Batch: 256, Shards: 1, Partition: shard.ByStep, Shuffle: true, Groups: c.groups})
				if err != nil {
					b.Fatal(err)
				}
				for step := range p.Steps(0) {
					ids = p.AppendBatch(ids[:0], 0, step, 0)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/sample")
		})
	}
}
