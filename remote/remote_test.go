package remote_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/pipeline/stats"
	"github.com/planktonml/plankton/remote"
)

// job is a definition whose rows depend on the sample, its random numbers and the epoch, with
// dense and ragged outputs.
type job struct {
	samples int
	salt    float32       // of the data
	cost    time.Duration // of a row
	bad     int           // one sample in so many fails; 0 none, -1 all
	files   bool          // the samples are pictures, of which one in a hundred is damaged
	options pipeline.Options
	refused func(error)   // is told of workers that are refused; may be nil
	made    *atomic.Int64 // counts the rows that worlds gets from elsewhere; may be nil

	rank, world int
}

func (j job) pipeline(t testing.TB) *pipeline.Pipeline {
	t.Helper()
	if j.refused != nil {
		j.options.Events.WorkerRefused = func(e stats.RemoteEvent) { j.refused(e.Err) }
	}
	p, err := pipeline.New(j.options, j.define)
	require.NoError(t, err)
	return p
}

func (j job) define(g *pipeline.Graph) {
	if j.files {
		j.gallery(g)
		return
	}
	data := make([]float32, 3*j.samples)
	for i := range data {
		data[i] = float32(i) + j.salt
	}
	x := readers.Slices(g, readers.SlicesOptions{Shuffle: true, NumShards: max(1, j.world), ShardID: j.rank}, readers.Rows(data, 3))[0]
	random := datum.NewRandom(7)
	out := g.Add(pipeline.Op{
		Name: "scramble", Inputs: []pipeline.Value{x}, Expensive: true,
		Outputs: []datum.Spec{{DType: datum.Float32, Shape: []int{64}}, {DType: datum.Uint8, Shape: []int{-1, 3}, Layout: "NC"}},
		New: func() (datum.Kernel, error) {
			return datum.KernelFunc(func(s *datum.Sample, in, out []*datum.Tensor) error {
				if j.bad < 0 || j.bad > 0 && s.Index()%int64(j.bad) == 7 {
					return errors.New("a bad sample")
				}
				if j.cost > 0 {
					time.Sleep(j.cost)
				}
				r := random.At(s)
				dense := out[0].Float32s()
				for i := range dense {
					dense[i] = in[0].Float32s()[i%3] + float32(r.Float64())
				}
				n := r.IntN(2000)
				mem, err := out[1].Resize(n, 3)
				for i := range mem {
					mem[i] = byte(i) ^ byte(s.Index())
				}
				return err
			}), nil
		},
	})
	g.Output("dense", out[0])
	g.Output("ragged", out[1])
	g.Output("x", x)
}

// digests returns a sum of every batch of some epochs.
func digests(t testing.TB, p *pipeline.Pipeline, epochs int) (sums []string) {
	t.Helper()
	return digestsAtLeisure(t, p, epochs, 0)
}

// digestsAtLeisure is digests of a consumer that is at work for a while with each batch.
func digestsAtLeisure(t testing.TB, p *pipeline.Pipeline, epochs int, work time.Duration) (sums []string) {
	t.Helper()
	l, err := iterator.New(iterator.Options{}, p)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	for b, err := range l.Epochs(t.Context(), epochs) {
		require.NoError(t, err)
		sums = append(sums, digest(b))
		time.Sleep(work)
	}
	return sums
}

// elsewhere returns how many rows of a run came from workers elsewhere, which may be none: the
// process may have made all of them before a worker began.
func elsewhere(p *pipeline.Pipeline) (rows int64) {
	for _, r := range p.Stats().Remote {
		rows += r.Rows
	}
	return rows
}

// eventually has whole runs made until one of them has seen what it waits for. Workers elsewhere
// may be too late for all rows of a run, so the consumer takes more and more time for its work,
// in which no row is stolen from them.
func eventually(t testing.TB, what string, run func(work time.Duration) bool) {
	t.Helper()
	for i := range 30 {
		if run(time.Duration(i*i) * time.Millisecond / 10) {
			return
		}
	}
	require.Fail(t, "in no run: "+what)
}

func digest(b *iterator.Batch) string {
	h := sha256.New()
	fmt.Fprintln(h, b.Epoch(), b.Step(), b.IDs(), b.Mask())
	for _, name := range b.Names() {
		for i, ok := range b.Mask() {
			if ok {
				x := b.Sample(name, i)
				fmt.Fprintln(h, name, i, x.DType(), x.Layout(), x.Shape())
				binary.Write(h, binary.LittleEndian, x.Bytes())
			}
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// worlds runs all ranks of worlds of 4, 3 and 5, one after the other. Each world goes on from the
// state of the one before, which is the same on all ranks, in new pipelines, and ends in the
// middle of an epoch. Bad samples are skipped or replaced. It returns the SHA-256 of every batch.
func (j job) worlds(t testing.TB, workers *remote.Workers) (sums []string) {
	t.Helper()
	j.options.BatchSize, j.options.Workers, j.options.Seed = 8, 2, 5
	if workers != nil {
		j.options.Remote = workers
	}
	var state []byte
	for i, world := range []int{4, 3, 5} {
		j.world = world
		j.options.OnError = []pipeline.ErrorPolicy{pipeline.Skip, pipeline.Replace, pipeline.Skip}[i]
		var next []byte
		for rank := range world {
			j.rank = rank
			p := j.pipeline(t)
			l, err := iterator.New(iterator.Options{}, p)
			require.NoError(t, err)
			if state != nil {
				var s iterator.State
				require.NoError(t, json.Unmarshal(state, &s))
				require.NoError(t, l.Restore(s))
			}
			steps := 0
			for b, err := range l.Epochs(t.Context(), 2) {
				require.NoError(t, err)
				sums = append(sums, fmt.Sprint(world, rank, digest(b)))
				if steps++; steps == 9 {
					break
				}
			}
			s, err := l.State()
			require.NoError(t, err)
			own, err := json.Marshal(s)
			require.NoError(t, err)
			require.True(t, rank == 0 || string(own) == string(next), "rank %d of %d has the state %s and not %s", rank, world, own, next)
			next = own
			require.NoError(t, l.Close())
			if j.made != nil {
				j.made.Add(elsewhere(p))
			}
		}
		state = next
	}
	return sums
}

// worker serves the rows of a job.
func worker(t testing.TB, j job) (*remote.Server, *httptest.Server) {
	t.Helper()
	j.options.Remote = nil
	s, err := remote.NewServer(j.pipeline(t), remote.ServerOptions{})
	require.NoError(t, err)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, server
}

func TestBatchesAreThoseOfOneProcess(t *testing.T) {
	j := job{samples: 1000, cost: 200 * time.Microsecond, options: pipeline.Options{BatchSize: 16, Workers: 2, Seed: 3}}
	want := digests(t, j.pipeline(t), 2)
	_, a := worker(t, j)
	_, b := worker(t, j)
	for _, only := range []bool{false, true} {
		j.options.Remote = &remote.Workers{Addresses: []string{a.URL, b.URL}, Only: only}
		eventually(t, "workers elsewhere make rows", func(work time.Duration) bool {
			p := j.pipeline(t)
			require.Equal(t, want, digestsAtLeisure(t, p, 2, work))
			require.Len(t, p.Stats().Remote, 2, "workers are known from the beginning")
			for _, r := range p.Stats().Remote {
				t.Log(r)
			}
			return elsewhere(p) > 0
		})
	}
}

// sumOf returns what the wire format says of the text of a fingerprint.
func sumOf(text string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.TrimSuffix(text, "\n"))))
}

// endless is a data set that can only be read from its beginning.
type endless struct{}

func (endless) Outputs() []datum.Spec { return []datum.Spec{{DType: datum.Int32}} }
func (endless) Meta() datum.Meta      { return datum.Meta{} }
func (endless) Describe(int64) string { return "sample" }
func (endless) Samples() iter.Seq2[func([]*datum.Tensor) error, error] {
	return func(func(func([]*datum.Tensor) error, error) bool) {}
}

func sequence(g *pipeline.Graph) {
	g.Output("x", g.ReadSequence(pipeline.ReaderOptions{}, endless{})[0])
}

// TestMain looks for goroutines that are left over.
func TestMain(m *testing.M) {
	if beWorker() {
		return
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"))
}

// Whatever a program does with its loader, at any point, it ends, and the next loop goes on
// with the batches of one process: a context that ends, a break, a state restored.
func TestCancelAnywhere(t *testing.T) {
	j := job{samples: 300, cost: 50 * time.Microsecond, options: pipeline.Options{BatchSize: 8, Workers: 2}}
	want := digests(t, j.pipeline(t), 1)
	_, a := worker(t, j)
	_, b := worker(t, j)
	for _, budget := range []int64{0, 90_000} {
		for seed := range uint64(6) {
			rnd := rand.New(rand.NewPCG(seed, 3))
			j.options.MemoryBudget = budget
			j.options.Remote = &remote.Workers{Addresses: []string{a.URL, b.URL}, Only: seed%2 == 1}
			l, err := iterator.New(iterator.Options{}, j.pipeline(t))
			require.NoError(t, err)
			var got []string
			for len(got) < len(want) {
				ctx, cancel := context.WithCancel(t.Context())
				end := rnd.IntN(3)
				if end == 0 {
					time.AfterFunc(time.Duration(rnd.IntN(20_000))*time.Microsecond, cancel)
				}
				left := rnd.IntN(12)
				for b, err := range l.Epoch(ctx) {
					if err != nil {
						require.ErrorIs(t, err, context.Canceled)
						break
					}
					got = append(got, digest(b))
					if left--; left < 0 {
						break
					}
				}
				cancel()
				if end == 1 && len(got) < len(want) {
					s, err := l.State()
					require.NoError(t, err)
					require.NoError(t, l.Restore(s))
				}
			}
			require.NoError(t, l.Close())
			require.Equal(t, want, got, "seed %d, budget %d", seed, budget)
		}
	}
}
