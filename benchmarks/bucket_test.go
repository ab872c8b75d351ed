package benchmarks

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/s3test"
	"github.com/planktonml/plankton/internal/usage"
	"github.com/planktonml/plankton/storage"
	"github.com/planktonml/plankton/storage/s3"
)

// BenchmarkBucket reads ranges of a shard from an S3 server in another process, 32 at a
// time, and compares the processor time of this process with that of a loop of net/http
// which does nothing else: no signatures of its own, no retries, no statistics. Rounds of
// both alternate.
func BenchmarkBucket(b *testing.B) {
	g := s3test.Start(b)
	const shard = 64 << 20
	g.Put(b, "data", "shard", make([]byte, shard))
	for _, size := range []int{112 << 10, 4 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			var signed signature
			bucket, err := s3.Open(b.Context(), s3.Options{
				Bucket: "data", Endpoint: g.URL, Region: s3test.Region, Transport: &signed,
				Credentials: func(context.Context) (s3.Credentials, error) {
					return s3.Credentials{AccessKeyID: s3test.AccessKey, SecretAccessKey: s3test.SecretKey}, nil
				},
			})
			require.NoError(b, err)
			_, err = bucket.Stat("shard")
			require.NoError(b, err)
			ours := func(off int64, dst []byte) error { return storage.ReadRange(b.Context(), bucket, "shard", off, dst) }
			require.NoError(b, ours(0, make([]byte, 1)))

			transport := &http.Transport{MaxIdleConnsPerHost: 128, DisableCompression: true}
			defer transport.CloseIdleConnections()
			header := signed.last
			plain := func(off int64, dst []byte) error {
				r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, g.URL+"/data/shard", nil)
				if err != nil {
					return err
				}
				for name, values := range header {
					r.Header[name] = values
				}
				r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", off, off+int64(len(dst))-1))
				answer, err := (&http.Client{Transport: transport}).Do(r)
				if err != nil {
					return err
				}
				defer answer.Body.Close()
				_, err = io.ReadFull(answer.Body, dst)
				return err
			}
			signed.plain.MaxIdleConnsPerHost, signed.plain.DisableCompression = 128, true
			defer signed.plain.CloseIdleConnections()

			var cpu [2]time.Duration
			for b.Loop() {
				for i, read := range []func(int64, []byte) error{ours, plain} {
					began := usage.CPU()
					each(b, shard, size, read)
					cpu[i] += usage.CPU() - began
				}
			}
			gb := float64(b.N) * shard / 1e9
			b.ReportMetric(cpu[0].Seconds()/gb, "cpu-s/GB")
			b.ReportMetric(cpu[1].Seconds()/gb, "net/http-cpu-s/GB")
			b.ReportMetric(float64(cpu[0])/float64(cpu[1]), "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// each reads a shard once, in parts, by 32 goroutines.
func each(b *testing.B, shard, size int, read func(off int64, dst []byte) error) {
	b.Helper()
	offsets := make(chan int64)
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			dst := make([]byte, size)
			for off := range offsets {
				if err := read(off, dst); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for off := 0; off+size <= shard; off += size {
		offsets <- int64(off)
	}
	close(offsets)
	all.Wait()
}

// signature is a transport that keeps the headers of the first request with a range; the
// signature in them holds for other ranges.
type signature struct {
	plain http.Transport
	last  http.Header
}

func (s *signature) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.last == nil && r.Header.Get("Range") != "" {
		s.last = r.Header.Clone()
	}
	return s.plain.RoundTrip(r)
}
