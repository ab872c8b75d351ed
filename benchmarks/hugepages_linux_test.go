package benchmarks

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/planktonml/plankton/internal/usage"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/readers"
)

// BenchmarkHugePages reads a table of 200 MB in a random order, in turns from Go's heap and
// from huge pages, by a loop and by a loader. Reported is the processor time with huge pages
// as a multiple of that without.
func BenchmarkHugePages(b *testing.B) {
	const batch, page = 256, 2 << 20
	n := tableRows * tableColumns
	mem, err := unix.Mmap(-1, 0, 4*n+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(b, err)
	defer func() { require.NoError(b, unix.Munmap(mem)) }()
	aligned := mem[page-int(uintptr(unsafe.Pointer(&mem[0]))%page):][:(4*n+page-1)/page*page]
	require.NoError(b, unix.Madvise(aligned, unix.MADV_HUGEPAGE))
	tables := [2][]float32{make([]float32, n), unsafe.Slice((*float32)(unsafe.Pointer(&aligned[0])), n)}
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
