package benchmarks

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/internal/usage"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/readers"
)

// hugeMemory returns n bytes in huge pages.
func hugeMemory(b *testing.B, n int) []byte {
	const page = 2 << 20
	mem, err := unix.Mmap(-1, 0, n+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, unix.Munmap(mem)) })
	aligned := mem[page-int(uintptr(unsafe.Pointer(&mem[0]))%page):][:(n+page-1)/page*page]
	require.NoError(b, unix.Madvise(aligned, unix.MADV_HUGEPAGE))
	return aligned[:n]
}

// BenchmarkHugePagesBatch writes the rows of a batch of 64 float32 pictures, 3×224×224, in turns in Go's heap and in huge
// pages: normalised from bytes that are in memory, and resized from the planes of a JPEG file, which are in the caches.
// Reported is the time with huge pages as a multiple of that without.
func BenchmarkHugePagesBatch(b *testing.B) {
	const rows, size = 64, 3 * 224 * 224
	pix := make([]byte, rows*size)
	for i := range pix {
		pix[i] = byte(i * 7)
	}
	batches := [2][]byte{make([]byte, 4*rows*size), hugeMemory(b, 4*rows*size)}
	var n imaging.CropMirrorNormalizer
	s := imaging.CMNSpec{H: 224, W: 224, Std: []float32{58}, Scale: 1, DstCHW: true, DstC: 3}
	var r imaging.Resampler
	planes := &imaging.YCbCr{Y: pix[:512*376], Cb: pix[:256*188], Cr: pix[256*188:][:256*188], YStride: 512, CStride: 256, H: 375, W: 500, SubH: 2, SubV: 2}
	plan := imaging.Plan{Y: imaging.Axis{Out: 224, Hi: 240, End: 240, Antialias: true}, X: imaging.Axis{Out: 224, Hi: 320, End: 320, Antialias: true}}
	out := imaging.Output{Type: datum.Float32, CHW: true, Channels: 3, Scale: [3]float32{1, 1, 1}}
	for _, c := range []struct {
		name string
		row  func(dst []byte, row int) error
	}{
		{"normalize", func(dst []byte, row int) error {
			src := imaging.Image{Pix: pix[row*size:][:size], Type: datum.Uint8, H: 224, W: 224, C: 3}
			return n.Apply(dst, datum.Float32, &src, &s)
		}},
		{"resize", func(dst []byte, _ int) error { return r.ResizeYCbCr(dst, planes, plan, &out) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			var ratios, times []float64
			for b.Loop() {
				var took [2]time.Duration
				for k, batch := range batches {
					began := time.Now()
					for row := range rows {
						require.NoError(b, c.row(batch[4*row*size:][:4*size], row))
					}
					took[k] = time.Since(began)
				}
				ratios = append(ratios, took[1].Seconds()/took[0].Seconds())
				times = append(times, took[0].Seconds()*1e6/rows)
			}
			b.ReportMetric(median(ratios), "time/heap")
			b.ReportMetric(median(times), "heap-µs/row")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkHugePages reads a table of 200 MB in a random order, in turns from Go's heap and
// from huge pages, by a loop and by a loader. Reported is the processor time with huge pages
// as a multiple of that without.
func BenchmarkHugePages(b *testing.B) {
	const batch = 256
	n := tableRows * tableColumns
	tables := [2][]float32{make([]float32, n), datum.View[float32](hugeMemory(b, 4*n))}
	var loaders [2]*iterator.Loader
	for k, table := range tables {
		for i := range table {
			table[i] = float32(i % 1000)
		}
		p, err := pipeline.New(pipeline.Options{BatchSize: batch, Seed: 1}, func(g *pipeline.Graph) {
			g.Output("x", readers.Slices(g, readers.SlicesOptions{Shuffle: true}, readers.Rows(table, tableColumns))[0])
		})
		require.NoError(b, err)
		loaders[k], err = iterator.New(iterator.Options{}, p)
		require.NoError(b, err)
		defer func() { require.NoError(b, loaders[k].Close()) }() // before the memory goes
	}
	order := rand.New(rand.NewPCG(1, 1)).Perm(tableRows)
	x := make([]float32, batch*tableColumns)
	var loops, loads []float64
	for b.Loop() {
		var loop, load [2]float64
		for k, table := range tables {
			cpu := usage.CPU()
			for samples := range slices.Chunk(order, batch) {
				for i, id := range samples {
					copy(x[i*tableColumns:(i+1)*tableColumns], table[id*tableColumns:(id+1)*tableColumns])
				}
			}
			loop[k] = (usage.CPU() - cpu).Seconds()
			cpu = usage.CPU()
			for _, err := range loaders[k].Epoch(b.Context()) {
				require.NoError(b, err)
			}
			load[k] = (usage.CPU() - cpu).Seconds()
		}
		loops, loads = append(loops, loop[1]/loop[0]), append(loads, load[1]/load[0])
	}
	b.ReportMetric(median(loops), "loop-cpu/heap")
	b.ReportMetric(median(loads), "loader-cpu/heap")
	b.ReportMetric(0, "ns/op")
}
