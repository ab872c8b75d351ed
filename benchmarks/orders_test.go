package benchmarks

import (
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/datatest"
	"github.com/planktonml/plankton/shard"
)

// digitsPerShard is how MNIST is cut here. It is sorted by class: the data that an order which keeps
// shards together trains worst with.
const digitsPerShard = 100

// digits are pictures of 28×28, as the places and the values of their pixels that are not 0.
type digits struct {
	places [][]uint16
	values [][]float32
	labels []int32
}

// idxBytes reads a file of MNIST without its header.
func idxBytes(tb testing.TB, name string) []byte {
	f, err := os.Open(datatest.Data(tb, "mnist", name))
	require.NoError(tb, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(tb, err)
	all, err := io.ReadAll(z)
	require.NoError(tb, err)
	header := 4 + 4*int(all[3])
	require.Greater(tb, binary.BigEndian.Uint32(all[4:]), uint32(0))
	return all[header:]
}

func readDigits(tb testing.TB, set string) *digits {
	pixels, labels := idxBytes(tb, set+"-images-idx3-ubyte.gz"), idxBytes(tb, set+"-labels-idx1-ubyte.gz")
	const size = 28 * 28
	order := make([]int, len(labels))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(labels[a]) - int(labels[b]) })
	d := &digits{}
	for _, i := range order {
		var places []uint16
		var values []float32
		for p, v := range pixels[i*size : (i+1)*size] {
			if v > 0 {
				places, values = append(places, uint16(p)), append(values, float32(v)/255)
			}
		}
		d.places, d.values, d.labels = append(d.places, places), append(d.values, values), append(d.labels, int32(labels[i]))
	}
	return d
}

// regression is a softmax regression, trained by plain gradient descent.
type regression struct {
	weights [28*28 + 1][10]float32
}

func (r *regression) scores(d *digits, i int64) (s [10]float32) {
	s = r.weights[28*28]
	for k, p := range d.places[i] {
		v := d.values[i][k]
		for c, w := range r.weights[p] {
			s[c] += v * w
		}
	}
	return s
}

func (r *regression) step(d *digits, batch []int64, rate float32) {
	errs := make([][10]float32, len(batch))
	for row, i := range batch {
		s := r.scores(d, i)
		top, sum := slices.Max(s[:]), float32(0)
		for c := range s {
			s[c] = float32(math.Exp(float64(s[c] - top)))
			sum += s[c]
		}
		for c := range s {
			errs[row][c] = s[c] / sum
		}
		errs[row][d.labels[i]]--
	}
	rate /= float32(len(batch))
	for row, i := range batch {
		for c, e := range errs[row] {
			r.weights[28*28][c] -= rate * e
		}
		for k, p := range d.places[i] {
			v := rate * d.values[i][k]
			for c, e := range errs[row] {
				r.weights[p][c] -= v * e
			}
		}
	}
}

func (r *regression) accuracy(d *digits) float64 {
	right := 0
	for i := range d.labels {
		s := r.scores(d, int64(i))
		best := 0
		for c := range s {
			if s[c] > s[best] {
				best = c
			}
		}
		if int32(best) == d.labels[i] {
			right++
		}
	}
	return float64(right) / float64(len(d.labels))
}

// An order returns the list of an epoch, and how many samples a reader that fetches in whole
// pieces takes up at a time: 0 for one that fetches sample by sample, -1 for one that streams
// shards from their beginning.
type order struct {
	name   string
	list   func(n int64, seed uint64, epoch int64) []int64
	window int
}

// planned is an order of plankton.
func planned(name string, window int, block, group int64) order {
	return order{name, func(n int64, seed uint64, epoch int64) []int64 {
		p, err := shard.New(shard.Config{Samples: n, Batch: int(n), Shards: 1, Shuffle: true, Seed: seed, Block: block, BlockGroup: group})
		if err != nil {
			panic(err)
		}
		return p.AppendBatch(nil, epoch, 0, 0)
	}, window}
}

// buffered simulates a shuffle buffer over permuted shards, as WebDataset has it: what is
// given out is a random element of the buffer, and the next of the stream takes its place.
func buffered(size int) order {
	return order{fmt.Sprintf("buffer of %d (simulated)", size), func(n int64, seed uint64, epoch int64) (list []int64) {
		r := rand.New(rand.NewPCG(seed, uint64(epoch)))
		var stream, buffer []int64
		for _, s := range r.Perm(int(n / digitsPerShard)) {
			for i := range digitsPerShard {
				stream = append(stream, int64(s*digitsPerShard+i))
			}
		}
		for _, id := range stream {
			if len(buffer) < size {
				buffer = append(buffer, id)
				continue
			}
			k := r.IntN(size)
			list, buffer[k] = append(list, buffer[k]), id
		}
		r.Shuffle(len(buffer), func(a, b int) { buffer[a], buffer[b] = buffer[b], buffer[a] })
		return append(list, buffer...)
	}, -1}
}

// twoLayers simulates a second layer of windows over groups of shards, shifted by half of one.
func twoLayers(group int64) order {
	one := planned("", 0, digitsPerShard, group)
	return order{fmt.Sprintf("group %d, second layer shifted by half (simulated)", group), func(n int64, seed uint64, epoch int64) []int64 {
		list := one.list(n, seed, epoch)
		r := rand.New(rand.NewPCG(seed, uint64(epoch)))
		size := int(group) * digitsPerShard
		for from := -size / 2; from < int(n); from += size {
			part := list[max(0, from):min(int(n), from+size)]
			r.Shuffle(len(part), func(a, b int) { part[a], part[b] = part[b], part[a] })
		}
		return list
	}, int(group) * digitsPerShard}
}

// jittered simulates py1e of MosaicML's streaming from its description: samples of permuted
// shards move by a random distance, so that those of a shard lie within a stretch of so many.
func jittered(block int) order {
	return order{fmt.Sprintf("py1e, block %d (simulated)", block), func(n int64, seed uint64, epoch int64) (list []int64) {
		r := rand.New(rand.NewPCG(seed, uint64(epoch)))
		type moved struct {
			to float64
			id int64
		}
		var all []moved
		reach := float64(block-digitsPerShard) / 2
		for place, s := range r.Perm(int(n / digitsPerShard)) {
			for i := range digitsPerShard {
				at := place*digitsPerShard + r.IntN(digitsPerShard)
				all = append(all, moved{float64(at) + reach*(2*r.Float64()-1), int64(s*digitsPerShard + i)})
			}
		}
		slices.SortFunc(all, func(a, b moved) int { return cmp.Compare(a.to, b.to) })
		for _, m := range all {
			list = append(list, m.id)
		}
		return list
	}, -1}
}

// shuffled returns the same pictures in a random order, as one should write shards.
func (d *digits) shuffled() *digits {
	s := &digits{}
	for _, i := range rand.New(rand.NewPCG(7, 7)).Perm(len(d.labels)) {
		s.places, s.values, s.labels = append(s.places, d.places[i]), append(s.values, d.values[i]), append(s.labels, d.labels[i])
	}
	return s
}

// mixing says how varied the batches of a list are: the classes that a batch has, and the
// mean total variation between the classes of a batch and those of the data.
func mixing(d *digits, list []int64, batch int) (classes, distance float64) {
	var all [10]float64
	for _, l := range d.labels {
		all[l] += 1 / float64(len(d.labels))
	}
	steps := 0
	for ids := range slices.Chunk(list, batch) {
		var own [10]float64
		for _, id := range ids {
			own[d.labels[id]] += 1 / float64(len(ids))
		}
		for c := range own {
			if own[c] > 0 {
				classes++
			}
			distance += math.Abs(own[c]-all[c]) / 2
		}
		steps++
	}
	return classes / float64(steps), distance / float64(steps)
}

// spread says how many shards are open at a time at most: begun and not yet read to the end.
func spread(list []int64) (most int) {
	left := map[int64]int{}
	for _, id := range list {
		s := id / digitsPerShard
		if _, open := left[s]; !open {
			left[s] = digitsPerShard
			most = max(most, len(left))
		}
		if left[s]--; left[s] == 0 {
			delete(left, s)
		}
	}
	return most
}

// requests counts the ranges that are fetched in an epoch, if each window of the list is
// fetched together and neighbours in a shard are one range.
func requests(list []int64, window int) (ranges int) {
	switch {
	case window < 0:
		return len(list) / digitsPerShard
	case window == 0:
		return len(list)
	}
	for ids := range slices.Chunk(list, window) {
		ids = slices.Sorted(slices.Values(ids))
		for i, id := range ids {
			if i == 0 || id != ids[i-1]+1 || id%digitsPerShard == 0 {
				ranges++
			}
		}
	}
	return ranges
}

// BenchmarkOrders compares orders on the data that they differ most on: MNIST sorted by
// class, in 600 shards of 100; and some on the same shards written in a random order. For each it reports the test accuracy of a softmax regression
// after an epoch (batches of 64, rate 0.5, mean and deviation of ten seeds), how varied
// batches are, how many shards are open at a time, and the ranges that an epoch fetches.
//
//	PLANKTON_DATA=... go test -run '^$' -bench Orders -benchtime 1x ./benchmarks
func BenchmarkOrders(b *testing.B) {
	train, test := readDigits(b, "train"), readDigits(b, "t10k")
	const batch, seeds = 64, 10
	orders := []order{
		planned("full shuffle", 0, 0, 0),
		planned("block 100", digitsPerShard, digitsPerShard, 0),
		planned("block 1000", 10*digitsPerShard, 10*digitsPerShard, 0),
	}
	for _, g := range []int64{2, 5, 10, 20, 50, 100} {
		orders = append(orders, planned(fmt.Sprintf("group %d", g), int(g)*digitsPerShard, digitsPerShard, g))
	}
	orders = append(orders, twoLayers(10), twoLayers(25), buffered(1000), buffered(5000), jittered(1000), jittered(5000))
	mixed := len(orders)
	orders = append(orders, orders[0], orders[1], planned("group 5", 5*digitsPerShard, digitsPerShard, 5))
	for i, o := range orders {
		kind, train := "sorted", train
		if i >= mixed {
			kind, train = "mixed", train.shuffled()
		}
		b.Run(kind+"/"+o.name, func(b *testing.B) {
			for b.Loop() {
				var accuracies []float64
				var classes, distance float64
				var list []int64
				for seed := range uint64(seeds) {
					list = o.list(int64(len(train.labels)), seed, 0)
					var r regression
					for ids := range slices.Chunk(list, batch) {
						r.step(train, ids, 0.5)
					}
					accuracies = append(accuracies, 100*r.accuracy(test))
					c, d := mixing(train, list, batch)
					classes, distance = classes+c/seeds, distance+d/seeds
				}
				mean, deviation := moments(accuracies)
				b.ReportMetric(mean, "accuracy-%")
				b.ReportMetric(deviation, "deviation-%")
				b.ReportMetric(classes, "classes/batch")
				b.ReportMetric(distance, "distance")
				b.ReportMetric(float64(spread(list)), "shards-open")
				b.ReportMetric(float64(requests(list, o.window)), "ranges/epoch")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// moments returns the mean and the deviation of a sample.
func moments(x []float64) (mean, deviation float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		deviation += (v - mean) * (v - mean) / float64(len(x)-1)
	}
	return mean, math.Sqrt(deviation)
}
