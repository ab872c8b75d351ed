package parquet

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	pq "github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/datatest"
	"github.com/planktonml/plankton/internal/usage"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/shard"
)

// picture is a row of the table that is measured.
type picture struct {
	Image []byte `parquet:"image,snappy"`
	Label int64  `parquet:"label,snappy"`
}

// pictures writes the sample pictures over and over into files of 500 rows, in row groups
// of 100, and returns them beside.
func pictures(b *testing.B, files, pageBytes int) (dir string, rows [][]byte) {
	b.Helper()
	_, rows = datatest.Photographs(b)
	dir = b.TempDir()
	n := 0
	for i := range files {
		f, err := os.Create(filepath.Join(dir, string(rune('a'+i))+".parquet"))
		require.NoError(b, err)
		w := pq.NewGenericWriter[picture](f, pq.DataPageStatistics(false), pq.SkipPageBounds("image"), pq.MaxRowsPerRowGroup(100), pq.PageBufferSize(pageBytes))
		for range 500 {
			_, err := w.Write([]picture{{rows[n%len(rows)], int64(n % 7)}})
			require.NoError(b, err)
			n++
		}
		require.NoError(b, w.Close())
		require.NoError(b, f.Close())
	}
	return dir, rows
}

// BenchmarkOrder reads raw pictures from the page cache: from row groups in order, from row groups in
// a shuffled order of groups with rows shuffled within, from single rows of a full shuffle,
// and from files of their own. The data do not fit into the cache, as in a large data set.
// Pages of a megabyte have some ten pictures; pyarrow writes pages of up to 1,024 rows,
// which are as large as the row group.
//
//	go test -run '^$' -bench Order ./pipeline/readers/parquet
func BenchmarkOrder(b *testing.B) {
	n := int64(3000)
	in := func(block int64, shuffle bool) []int64 {
		plan, err := shard.New(shard.Config{Samples: n, Batch: int(n), Shards: 1, Shuffle: shuffle, Block: block, Seed: 1})
		require.NoError(b, err)
		return plan.AppendBatch(nil, 0, 0, 0)
	}
	orders := []struct {
		name string
		rows []int64
	}{{"groups", in(0, false)}, {"blocks", in(100, true)}, {"single", in(0, true)}}
	var pics [][]byte
	for _, pages := range []struct {
		name  string
		bytes int
	}{{"pages of 1 MB", 1 << 20}, {"pages of a group", 64 << 20}} {
		var dir string
		dir, pics = pictures(b, 6, pages.bytes)
		for _, o := range orders {
			b.Run(pages.name+"/"+o.name, func(b *testing.B) { readInOrder(b, dir, o.rows, pics) })
		}
	}
	b.Run("files", func(b *testing.B) {
		files := b.TempDir()
		var names []string
		for i, text := range pics {
			name := filepath.Join(files, string(rune('a'+i/26/26))+string(rune('a'+i/26%26))+string(rune('a'+i%26)))
			require.NoError(b, os.WriteFile(name, text, 0o644))
			names = append(names, name)
		}
		mem := make([]byte, 0, 1<<20)
		at, cpu := 0, usage.CPU()
		for b.Loop() {
			f, err := os.Open(names[at%len(names)])
			require.NoError(b, err)
			info, err := f.Stat()
			require.NoError(b, err)
			mem = slices.Grow(mem[:0], int(info.Size()))[:info.Size()]
			_, err = f.ReadAt(mem, 0)
			require.NoError(b, err)
			require.NoError(b, f.Close())
			at++
		}
		b.ReportMetric((usage.CPU()-cpu).Seconds()*1000/float64(at)*1000, "cpu-ms/1000rows")
	})
}

// readInOrder reads rows of a table over and over.
func readInOrder(b *testing.B, dir string, rows []int64, pics [][]byte) {
	src, err := Open(b.Context(), Options{Root: dir, CacheBytes: 48 << 20})
	require.NoError(b, err)
	out := []*datum.Tensor{new(datum.Tensor), new(datum.Tensor)}
	for i := range out {
		out[i].Declare(&src.Outputs()[i])
	}
	b.ReportAllocs()
	at, cpu := 0, usage.CPU()
	for b.Loop() {
		row := rows[at%len(rows)]
		at++
		datum.Begin(out)
		if err := src.Read(context.Background(), row, out); err != nil {
			b.Fatal(err)
		}
		if len(out[0].Bytes()) != len(pics[row%int64(len(pics))]) {
			b.Fatal("another picture")
		}
	}
	b.ReportMetric((usage.CPU()-cpu).Seconds()*1000/float64(at)*1000, "cpu-ms/1000rows")
}
