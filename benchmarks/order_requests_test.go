package benchmarks

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/s3test"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/storage"
	"github.com/planktonml/plankton/storage/index"
	"github.com/planktonml/plankton/storage/s3"
)

// sparse writes a file and leaves holes where it is zero.
type sparse struct {
	f   *os.File
	end int64
}

func (s *sparse) Write(p []byte) (int, error) {
	if len(bytes.Trim(p, "\x00")) > 0 {
		if _, err := s.f.WriteAt(p, s.end); err != nil {
			return 0, err
		}
	}
	s.end += int64(len(p))
	return len(p), nil
}

// writeZeroShards makes tar archives of samples that are zero, in a bucket.
func writeZeroShards(tb testing.TB, g *s3test.Gateway, shards, samples, size int) {
	dir := filepath.Join(g.Folder, "data")
	require.NoError(tb, os.MkdirAll(dir, 0o755))
	zero := make([]byte, size)
	for s := range shards {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%04d.tar", s)))
		require.NoError(tb, err)
		to := &sparse{f: f}
		w := tar.NewWriter(to)
		for i := range samples {
			require.NoError(tb, w.WriteHeader(&tar.Header{Name: fmt.Sprintf("%04d-%04d.bin", s, i), Size: int64(size), Mode: 0o644}))
			_, err := w.Write(zero)
			require.NoError(tb, err)
		}
		require.NoError(tb, w.Close())
		require.NoError(tb, f.Truncate(to.end))
		require.NoError(tb, f.Close())
	}
}

// settled waits until nothing more is asked for, and returns what was.
func settled(c storage.Counted) storage.Traffic {
	for last := c.Traffic(); ; {
		time.Sleep(500 * time.Millisecond)
		now := c.Traffic()
		if now.BytesFetched == last.BytesFetched && now.Requests == last.Requests {
			return now
		}
		last = now
	}
}

// BenchmarkOrderRequests counts what a bucket is asked for in an epoch by the orders of
// BenchmarkOrders: 600 shards of 100 samples of 32 KiB, on an S3 server. The look-ahead has room for
// the largest group and a half, at least 64 MiB.
//
//	go test -run '^$' -bench OrderRequests -benchtime 1x -timeout 20m ./benchmarks
func BenchmarkOrderRequests(b *testing.B) {
	const shards, samples, size = 600, 100, 32 << 10
	g := s3test.Start(b)
	writeZeroShards(b, g, shards, samples, size)
	for _, group := range []int64{0, 1, 2, 5, 10, 20, 50, 100} {
		name := fmt.Sprintf("group %d", group)
		if group == 0 {
			name = "full shuffle"
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				bucket, err := s3.Open(b.Context(), s3.Options{
					Bucket: "data", Endpoint: g.URL, Region: s3test.Region, Network: storage.Network{Hedge: -1},
					Credentials: func(context.Context) (s3.Credentials, error) {
						return s3.Credentials{AccessKeyID: s3test.AccessKey, SecretAccessKey: s3test.SecretKey}, nil
					},
				})
				require.NoError(b, err)
				p, err := pipeline.New(pipeline.Options{BatchSize: 64, Workers: 2}, func(graph *pipeline.Graph) {
					members, _ := readers.Shards(graph, readers.ShardsOptions{
						FS: bucket, Members: []string{"bin"}, Shuffle: true, LookAhead: max(64<<20, group*samples*size*3/2),
						IndexOptions: index.Options{Cache: g.Folder + "-index"},
					})
					graph.Output("x", members[0])
				})
				require.NoError(b, err)
				loader, err := iterator.New(iterator.Options{ShuffleGroup: group}, p)
				require.NoError(b, err)
				// A look-ahead is at the same place of the epoch to come at the end of each.
				var at [2]storage.Traffic
				for i := range at {
					n := int64(0)
					for batch, err := range loader.Epoch(b.Context()) {
						require.NoError(b, err)
						n += int64(batch.NumValid())
					}
					require.EqualValues(b, shards*samples, n)
					at[i] = settled(bucket)
				}
				require.NoError(b, loader.Close())
				require.NoError(b, bucket.Close())
				b.ReportMetric(float64(at[1].Requests-at[0].Requests), "GETs/epoch")
				b.ReportMetric(float64(at[1].BytesFetched-at[0].BytesFetched)/(shards*samples*size), "fetched/needed")
				b.ReportMetric(float64(at[1].LookAhead.Misses-at[0].LookAhead.Misses), "misses")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}
