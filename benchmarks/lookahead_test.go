package benchmarks

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/datatest"
	"github.com/planktonml/plankton/internal/s3test"
	"github.com/planktonml/plankton/internal/usage"
	"github.com/planktonml/plankton/internal/workload"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/storage"
	"github.com/planktonml/plankton/storage/index"
)

// Figures of what is fetched: 10,000 pictures of 110 kB in 100 shards that were shuffled when
// they were written, read in groups of ten shards.
const (
	farPictures = 10_000
	farShards   = 100
	farGroup    = 10
	farLatency  = 30 * time.Millisecond
	farAhead    = 256 << 20
)

// training is what the process that trains is asked for, and trained what it answers.
type training struct {
	Data   string
	Train  bool    // the pipeline of the workload train; else encoded pictures
	Rate   float64 // pictures a second that the loop's body takes; 0 for as many as it gets
	Epochs int
}

type trained struct {
	Rate    float64         // pictures a second from the second batch on
	First   float64         // seconds to the first batch
	Waited  float64         // share of the time from the second batch on
	CPU     float64         // microseconds a picture, of all epochs but the first
	Peak    int64           // bytes of memory
	Traffic storage.Traffic // of all epochs but the first; that of the look-ahead of all
}

const trainingVariable = "PLANKTON_BENCHMARK_TRAINING"

// TestTrainingProcess is a process of BenchmarkLookAhead.
func TestTrainingProcess(t *testing.T) {
	text := os.Getenv(trainingVariable)
	if text == "" {
		t.Skip("it is a part of BenchmarkLookAhead")
	}
	var ask training
	require.NoError(t, json.Unmarshal([]byte(text), &ask))
	answer, err := json.Marshal(ask.do(t))
	require.NoError(t, err)
	fmt.Printf("\ntrained %s\n", answer)
}

func (ask *training) do(t *testing.T) (done trained) {
	p, data, err := ask.pipeline(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, data.Close()) }()
	l, err := iterator.New(iterator.Options{ShuffleGroup: farGroup}, p)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	began := time.Now()
	var second time.Time
	var cpu time.Duration
	var before storage.Traffic
	pictures, later := 0, 0
	for batch, err := range l.Epochs(t.Context(), ask.Epochs) {
		require.NoError(t, err)
		got := time.Now()
		switch {
		case second.IsZero():
			done.First, second = got.Sub(began).Seconds(), got
			if ask.Rate > 0 {
				second = got.Add(time.Duration(float64(batch.NumValid()) / ask.Rate * float64(time.Second)))
			}
		default:
			pictures += batch.NumValid()
		}
		if batch.Epoch() > 0 {
			if later == 0 {
				cpu = usage.CPU()
				before, _ = data.Traffic()
			}
			later += batch.NumValid()
		}
		if ask.Rate > 0 {
			time.Sleep(time.Until(got.Add(time.Duration(float64(batch.NumValid()) / ask.Rate * float64(time.Second)))))
		}
	}
	done.Rate = float64(pictures) / time.Since(second).Seconds()
	s := l.Stats()
	done.Waited = float64(s.Waited-s.FirstBatch) / float64(time.Since(second))
	done.CPU = (usage.CPU() - cpu).Seconds() * 1e6 / float64(later)
	done.Peak = usage.PeakMemory()
	done.Traffic, _ = data.Traffic()
	done.Traffic.Requests -= before.Requests
	done.Traffic.BytesFetched -= before.BytesFetched
	return done
}

func (ask *training) pipeline(ctx context.Context) (*pipeline.Pipeline, *workload.Data, error) {
	c := workload.Config{Name: "train", Data: ask.Data, Size: 224, World: 1, Shuffle: true, Options: pipeline.Options{BatchSize: batchSize, Seed: 1}}
	if ask.Train {
		return workload.New(ctx, c)
	}
	data, err := workload.Open(ctx, c.Name, c.Data, c.Open)
	if err != nil {
		return nil, nil, err
	}
	p, err := pipeline.New(c.Options, func(g *pipeline.Graph) {
		encoded, _ := data.Read(g, pipeline.ReaderOptions{Shuffle: true})
		g.Output("encoded", encoded)
	})
	return p, data, err
}

// start runs a process that trains, on one processor if it is pinned.
func (ask training) start(b *testing.B, pinned bool, env []string) (done trained) {
	text, err := json.Marshal(ask)
	require.NoError(b, err)
	name, args := os.Args[0], []string{"-test.run", "^TestTrainingProcess$", "-test.timeout", "10m"}
	if pinned {
		name, args = "taskset", append([]string{"-c", "1", os.Args[0]}, args...)
	}
	cmd := exec.CommandContext(b.Context(), name, args...)
	cmd.Env = append(append(os.Environ(), env...), trainingVariable+"="+string(text))
	out, err := cmd.CombinedOutput()
	require.NoError(b, err, "%s", out)
	_, answer, found := strings.Cut(string(out), "trained ")
	require.True(b, found, "%s", out)
	answer, _, _ = strings.Cut(answer, "\n")
	require.NoError(b, json.Unmarshal([]byte(answer), &done))
	return done
}

// writeShards writes the shards and their index.
func writeShards(b *testing.B, dir string) {
	files, err := filepath.Glob(filepath.Join(datatest.Data(b, "imagenet-sample"), "*.JPEG"))
	require.NoError(b, err)
	order := rand.New(rand.NewPCG(1, 1)).Perm(farPictures)
	for s := range farShards {
		var archive bytes.Buffer
		w := tar.NewWriter(&archive)
		for i := range farPictures / farShards {
			id := order[s*farPictures/farShards+i]
			data, err := os.ReadFile(files[id%len(files)])
			require.NoError(b, err)
			require.NoError(b, w.WriteHeader(&tar.Header{Name: fmt.Sprintf("%05d.jpg", id), Size: int64(len(data)), Mode: 0o644}))
			_, err = w.Write(data)
			require.NoError(b, err)
		}
		require.NoError(b, w.Close())
		require.NoError(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%03d.tar", s)), archive.Bytes(), 0o666))
	}
	place := os.DirFS(dir)
	shards, err := index.Shards(place, ".")
	require.NoError(b, err)
	x, err := index.Open(b.Context(), place, shards, index.Options{Repeats: true})
	require.NoError(b, err)
	var text bytes.Buffer
	require.NoError(b, x.Write(&text))
	require.NoError(b, os.WriteFile(filepath.Join(dir, index.FileName), text.Bytes(), 0o666))
}

// BenchmarkLookAhead reads shards over S3, from versitygw behind a proxy that answers 30 ms late, and
// from the folder of this machine that the server serves. Rounds of both alternate; each is a
// process of its own, so that neither the server nor the proxy counts.
//
//   - paced: a loop of encoded pictures whose body takes 3,000 a second, over three epochs.
//   - train: the workload train, on one processor, over two epochs.
//
// Requests and bytes are those of an epoch, without the first one.
//
//	PLANKTON_DATA=... go test -run '^$' -bench LookAhead -benchtime 5x ./benchmarks
func BenchmarkLookAhead(b *testing.B) {
	gateway := s3test.Start(b)
	bucket := filepath.Join(gateway.Folder, "pictures")
	require.NoError(b, os.Mkdir(bucket, 0o777))
	writeShards(b, bucket)
	proxy := s3test.NewProxy(b, gateway.URL)
	proxy.Set(func(int64, *http.Request) s3test.Fault { return s3test.Fault{Delay: farLatency} })
	env := []string{
		"AWS_ENDPOINT_URL=" + proxy.URL, "AWS_REGION=" + s3test.Region,
		"AWS_ACCESS_KEY_ID=" + s3test.AccessKey, "AWS_SECRET_ACCESS_KEY=" + s3test.SecretKey,
	}
	for _, c := range []struct {
		name   string
		pinned bool
		ask    training
	}{
		{"paced", false, training{Rate: 3000, Epochs: 3}},
		{"train", true, training{Train: true, Epochs: 2}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var rates, cpus, waits, firsts, local, rss, requests, excess []float64
			for b.Loop() {
				near, far := c.ask, c.ask
				near.Data, far.Data = bucket, "s3://pictures"
				n, f := near.start(b, c.pinned, nil), far.start(b, c.pinned, env)
				rates = append(rates, f.Rate/n.Rate)
				cpus = append(cpus, f.CPU/n.CPU)
				local = append(local, n.CPU)
				waits = append(waits, 100*f.Waited)
				firsts = append(firsts, f.First)
				rss = append(rss, float64(f.Peak-n.Peak)/farAhead)
				ahead := f.Traffic.LookAhead
				requests = append(requests, float64(f.Traffic.Requests)/float64(c.ask.Epochs-1))
				excess = append(excess, 100*(float64(ahead.BytesFetched)/float64(ahead.BytesNeeded)-1))
				b.Logf("near %+v\nfar %+v", n, f)
			}
			b.ReportMetric(median(rates), "rate/local")
			b.ReportMetric(median(cpus), "CPU/local")
			b.ReportMetric(median(local), "local-CPU-µs/picture")
			b.ReportMetric(median(waits), "waited-%")
			b.ReportMetric(median(firsts), "first-batch-s")
			b.ReportMetric(median(rss), "RSS-above-local/look-ahead")
			b.ReportMetric(median(requests), "GETs/epoch")
			b.ReportMetric(median(excess), "bytes-too-many-%")
			b.ReportMetric(0, "ns/op")
		})
	}
}
