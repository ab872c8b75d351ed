package benchmarks

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/dataset"
	"github.com/planktonml/plankton/internal/usage"
	"github.com/planktonml/plankton/internal/workload"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

const (
	tableRows    = 1_000_000
	tableColumns = 50
	classes      = 10 // of the labels
)

// BenchmarkTable reads a table in memory, 10⁶ rows of 50 float32 and a label, in a random
// order: as it is, as a mix of its halves, and cast to float64 with labels one-hot. A plain loop makes the same of it
// (besideLoop).
func BenchmarkTable(b *testing.B) {
	table := make([]float32, tableRows*tableColumns)
	for i := range table {
		table[i] = float32(i%1000) / 1000
	}
	labels := make([]int32, tableRows)
	for i := range labels {
		labels[i] = int32(i % classes)
	}
	read := func(g *pipeline.Graph) (x, y pipeline.Value) {
		columns := readers.Slices(g, readers.SlicesOptions{Shuffle: true}, readers.Rows(table, tableColumns), readers.Rows(labels))
		return columns[0], columns[1]
	}
	for _, batch := range []int{256, 4096} {
		b.Run(fmt.Sprint("rows/batch=", batch), func(b *testing.B) {
			x, y := make([]float32, batch*tableColumns), make([]int32, batch)
			besideLoop(b, tableRows, batch, func(samples []int) {
				for i, id := range samples {
					copy(x[i*tableColumns:(i+1)*tableColumns], table[id*tableColumns:(id+1)*tableColumns])
					y[i] = labels[id]
				}
			}, func(g *pipeline.Graph) {
				x, y := read(g)
				g.Output("x", x)
				g.Output("y", y)
			})
		})
		b.Run(fmt.Sprint("mix/batch=", batch), func(b *testing.B) {
			x, y := make([]float32, batch*tableColumns), make([]int32, batch)
			besideLoop(b, tableRows, batch, func(samples []int) {
				for i, id := range samples {
					copy(x[i*tableColumns:(i+1)*tableColumns], table[id*tableColumns:(id+1)*tableColumns])
					y[i] = labels[id]
				}
			}, func(g *pipeline.Graph) {
				var columns []pipeline.Value
				const half = tableRows / 2
				g.Mix(pipeline.ReaderOptions{Shuffle: true}, pipeline.Mix{Weights: []int64{1, 1}}, func() {
					columns = readers.Slices(g, readers.SlicesOptions{}, readers.Rows(table[:half*tableColumns], tableColumns), readers.Rows(labels[:half]))
					readers.Slices(g, readers.SlicesOptions{}, readers.Rows(table[half*tableColumns:], tableColumns), readers.Rows(labels[half:]))
				})
				g.Output("x", columns[0])
				g.Output("y", columns[1])
			})
		})
		b.Run(fmt.Sprint("cast/batch=", batch), func(b *testing.B) {
			x, y := make([]float64, batch*tableColumns), make([]float32, batch*classes)
			besideLoop(b, tableRows, batch, func(samples []int) {
				clear(y)
				for i, id := range samples {
					row := x[i*tableColumns:][:tableColumns]
					for k, v := range table[id*tableColumns:][:tableColumns] {
						row[k] = float64(v)
					}
					y[i*classes+int(labels[id])] = 1
				}
			}, func(g *pipeline.Graph) {
				x, y := read(g)
				g.Output("x", ops.Cast(g, x, datum.Float64))
				g.Output("y", ops.OneHot(g, y, ops.OneHotOptions{Classes: classes}))
			})
		})
	}
}

// BenchmarkTableOperators puts one operator behind the rows of a table in memory, 10⁶ of 50 float32, or behind their
// labels. A plain loop makes the same (besideLoop).
func BenchmarkTableOperators(b *testing.B) {
	const batch = 256
	table := make([]float32, tableRows*tableColumns)
	for i := range table {
		table[i] = float32(i%1000) / 1000
	}
	labels := make([]int32, tableRows)
	for i := range labels {
		labels[i] = int32(i % classes)
	}
	keys, values := make([]int, classes), make([]float64, classes)
	for i := range keys {
		keys[i], values[i] = i, float64(i*i)
	}
	to := make([]float32, batch*2*tableColumns)
	for _, c := range []struct {
		name string
		loop func(to []float32, row int) int // returns how many numbers it has made
		op   func(g *pipeline.Graph, x, label pipeline.Value) pipeline.Value
	}{
		{"mul", func(to []float32, row int) int {
			for k, v := range table[row*tableColumns:][:tableColumns] {
				to[k] = 2 * v
			}
			return tableColumns
		}, func(g *pipeline.Graph, x, _ pipeline.Value) pipeline.Value {
			return ops.Mul(g, x, ops.Constants(g, datum.Float32, 2))
		}},
		{"clamp", func(to []float32, row int) int {
			for k, v := range table[row*tableColumns:][:tableColumns] {
				to[k] = min(max(v, 0.2), 0.8)
			}
			return tableColumns
		}, func(g *pipeline.Graph, x, _ pipeline.Value) pipeline.Value {
			return ops.Clamp(g, x, ops.Constants(g, datum.Float32, 0.2), ops.Constants(g, datum.Float32, 0.8))
		}},
		{"reshape", func(to []float32, row int) int {
			return copy(to, table[row*tableColumns:][:tableColumns])
		}, func(g *pipeline.Graph, x, _ pipeline.Value) pipeline.Value {
			return ops.Reshape(g, x, ops.ReshapeOptions{Shape: ops.Constants(g, datum.Int32, -1, 5)})
		}},
		{"cat", func(to []float32, row int) int {
			from := table[row*tableColumns:][:tableColumns]
			copy(to[tableColumns:], from)
			return copy(to, from) + tableColumns
		}, func(g *pipeline.Graph, x, _ pipeline.Value) pipeline.Value { return ops.Cat(g, 0, x, x) }},
		{"lookup", func(to []float32, row int) int {
			to[0] = float32(values[labels[row]])
			return 1
		}, func(g *pipeline.Graph, _, label pipeline.Value) pipeline.Value {
			return ops.LookupTable(g, label, ops.LookupTableOptions{Keys: keys, Values: values})
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			besideLoop(b, tableRows, batch, func(samples []int) {
				made := 0
				for _, id := range samples {
					made += c.loop(to[made:], id)
				}
			}, func(g *pipeline.Graph) {
				columns := readers.Slices(g, readers.SlicesOptions{Shuffle: true}, readers.Rows(table, tableColumns), readers.Rows(labels))
				g.Output("made", c.op(g, columns[0], columns[1]))
			})
		})
	}
}

// BenchmarkDigits makes batches of MNIST, pixels divided by 255 and labels one-hot, beside a
// plain loop.
func BenchmarkDigits(b *testing.B) {
	dir := data(b, "mnist")
	pixels, labels := idxBytes(b, "train-images-idx3-ubyte.gz"), idxBytes(b, "train-labels-idx1-ubyte.gz")
	size := len(pixels) / len(labels)
	for _, batch := range []int{64, 256} {
		b.Run(fmt.Sprint("batch=", batch), func(b *testing.B) {
			x, y := make([]float32, batch*size), make([]float32, batch*classes)
			besideLoop(b, len(labels), batch, func(samples []int) {
				clear(y)
				for i, id := range samples {
					row := x[i*size:][:size]
					for k, v := range pixels[id*size:][:size] {
						row[k] = float32(v) / 255
					}
					y[i*classes+int(labels[id])] = 1
				}
			}, func(g *pipeline.Graph) {
				data, err := workload.Open(b.Context(), "mnist", dir, dataset.Options{})
				require.NoError(b, err)
				img, label := data.Read(g, pipeline.ReaderOptions{NumShards: 1, Shuffle: true})
				g.Output("image", ops.CropMirrorNormalize(g, img, ops.CropMirrorNormalizeOptions{Std: []float64{255}}))
				g.Output("label", ops.OneHot(g, label, ops.OneHotOptions{}))
			})
		})
	}
}

// besideLoop takes epochs of a loader over n samples in turns with a loop on one goroutine, which
// makes a batch of the samples that it is given. Reported are the medians of the loader's
// time and processor time as multiples of the loop's, and the loop's time for a sample.
func besideLoop(b *testing.B, n, batch int, loop func(samples []int), define func(*pipeline.Graph)) {
	p, err := pipeline.New(pipeline.Options{BatchSize: batch, Seed: 1}, define)
	require.NoError(b, err)
	l := loaderOf(b, p)
	order := rand.New(rand.NewPCG(1, 1)).Perm(n)
	var walls, cpus, rows []float64
	for b.Loop() {
		began, cpu := time.Now(), usage.CPU()
		for samples := range slices.Chunk(order, batch) {
			loop(samples)
		}
		loopWall, loopCPU := time.Since(began), usage.CPU()-cpu
		began, cpu = time.Now(), usage.CPU()
		for _, err := range l.Epoch(b.Context()) {
			if err != nil {
				b.Fatal(err)
			}
		}
		walls = append(walls, time.Since(began).Seconds()/loopWall.Seconds())
		cpus = append(cpus, (usage.CPU()-cpu).Seconds()/loopCPU.Seconds())
		rows = append(rows, loopWall.Seconds()*1e9/float64(n))
	}
	b.ReportMetric(median(walls), "time/loop")
	b.ReportMetric(median(cpus), "cpu/loop")
	b.ReportMetric(median(rows), "loop-ns/row")
	b.ReportMetric(0, "ns/op")
}
