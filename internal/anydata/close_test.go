package anydata

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/planktonml/plankton/dataset"
	"github.com/planktonml/plankton/internal/feedtest"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/storage/cache"
)

// openFiles returns the descriptors of the process, where the system lists them.
func openFiles(t *testing.T) map[string]string {
	files := map[string]string{}
	if runtime.GOOS != "linux" {
		return files
	}
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && filepath.IsAbs(to) {
			files[e.Name()] = to
		}
	}
	return files
}

// pipelineOf returns a pipeline of the data.
func pipelineOf(t *testing.T, d *dataset.Data) *pipeline.Pipeline {
	t.Helper()
	p, err := pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
		encoded, _ := d.Read(g, pipeline.ReaderOptions{})
		g.Output("encoded", encoded)
	})
	require.NoError(t, err)
	return p
}

// first reads the first sample.
func first(t *testing.T, p *pipeline.Pipeline) error {
	t.Helper()
	r, err := p.Engine().NewRunner(feedtest.Once(p.Readers()[0].Len(), 1))
	require.NoError(t, err)
	defer r.Close()
	f, err := r.Next(t.Context())
	if f != nil {
		(*pipeline.Batch)(f).Release()
	}
	return err
}

// Close gives back all that Open and reading took: files of shards and of the cache, and
// connections with their goroutines.
func TestCloseGivesAllBack(t *testing.T) {
	dir := t.TempDir()
	archive := shard(t, 0, 3)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a-0.tar"), archive, 0o600))
	table, err := os.ReadFile("../../pipeline/readers/parquet/testdata/huggingface.parquet")
	require.NoError(t, err)
	tables := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(tables, "a.parquet"), table, 0o600))
	// The server is in this process, so it has no files of its own, which it would close later.
	s := httptest.NewServer(http.FileServerFS(fstest.MapFS{"a-0.tar": {Data: archive, ModTime: time.Unix(1e9, 0)}}))
	defer s.Close()
	kept := t.TempDir()
	for name, o := range map[string]dataset.Options{
		dir: {}, filepath.Join(dir, "a-0.tar"): {}, tables: {}, s.URL + "/a-0.tar": {Keep: cache.Options{Dir: kept, Bytes: 1 << 20}},
	} {
		before, running := openFiles(t), goleak.IgnoreCurrent()
		d, err := Open(t.Context(), name, o)
		require.NoError(t, err, name)
		p := pipelineOf(t, d)
		require.NoError(t, first(t, p), name)
		if runtime.GOOS == "linux" {
			require.NotEqual(t, before, openFiles(t), "files stay open while the data are: else the test shows nothing")
		}
		traffic, remote := d.Traffic()
		require.Equal(t, o.Keep.Dir != "", remote)
		require.Equal(t, remote, traffic.Requests > 0)
		stats, cached := d.CacheStats()
		require.Equal(t, remote, cached)
		require.Equal(t, cached, stats.Stored > 0)
		require.NoError(t, d.Close())
		require.NoError(t, d.Close())
		require.Equal(t, before, openFiles(t), name)
		if remote {
			s.CloseClientConnections() // the server's own goroutines
		} else if d.Format == "tar" { // rows of tables are in memory still
			require.ErrorContains(t, first(t, p), "file already closed", name)
		}
		goleak.VerifyNone(t, running)
	}
	require.NoError(t, (*dataset.Data)(nil).Close())
}
