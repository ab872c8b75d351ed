package index

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkOpen looks through ten archives of a thousand samples each with small pictures,
// and opens their index file.
func BenchmarkOpen(b *testing.B) {
	const shards, each = 10, 1000
	dir := b.TempDir()
	var names []string
	for s := range shards {
		var entries []entry
		for i := range each {
			key := fmt.Sprintf("%06d", s*each+i)
			entries = append(entries, entry{name: key + ".jpg", content: string(make([]byte, 20_000))}, entry{name: key + ".cls", content: "3"})
		}
		names = append(names, fmt.Sprintf("%02d.tar", s))
		require.NoError(b, os.WriteFile(filepath.Join(dir, names[s]), archive(b, entries...), 0o666))
	}
	open := func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := Open(b.Context(), os.DirFS(dir), names, Options{})
			require.NoError(b, err)
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*shards*each), "µs/sample")
	}
	b.Run("scan", open)
	x, err := Open(b.Context(), os.DirFS(dir), names, Options{})
	require.NoError(b, err)
	f, err := os.Create(filepath.Join(dir, FileName))
	require.NoError(b, err)
	require.NoError(b, x.Write(f))
	require.NoError(b, f.Close())
	b.Run("file", open)
	b.ReportMetric(float64(x.Bytes())/float64(x.Len()), "bytes/sample")
}
