package readers

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/s3test"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/shard"
	"github.com/planktonml/plankton/storage"
	"github.com/planktonml/plankton/storage/cache"
	"github.com/planktonml/plankton/storage/index"
	"github.com/planktonml/plankton/storage/web"
)

const (
	farShards = 6
	farEach   = 20
)

// farAway is a folder of shards that is also on a web server behind a proxy.
type farAway struct {
	dir   string
	proxy *s3test.Proxy
	index *index.Index
	names []string
}

func newFarAway(t *testing.T) *farAway {
	t.Helper()
	f := &farAway{dir: t.TempDir()}
	r := rand.New(rand.NewPCG(3, 3))
	for s := range farShards {
		var archive bytes.Buffer
		w := tar.NewWriter(&archive)
		for i := range farEach {
			data := make([]byte, 500+r.IntN(5000))
			for k := range data {
				data[k] = byte(r.Uint32())
			}
			for _, m := range []struct {
				ending string
				data   []byte
			}{{"jpg", data}, {"cls", fmt.Append(nil, i%7)}} {
				require.NoError(t, w.WriteHeader(&tar.Header{Name: fmt.Sprintf("%d-%03d.%s", s, i, m.ending), Size: int64(len(m.data)), Mode: 0o644}))
				_, err := w.Write(m.data)
				require.NoError(t, err)
			}
		}
		require.NoError(t, w.Close())
		f.names = append(f.names, fmt.Sprintf("%d.tar", s))
		require.NoError(t, os.WriteFile(filepath.Join(f.dir, f.names[s]), archive.Bytes(), 0o666))
	}
	server := httptest.NewServer(http.FileServer(http.Dir(f.dir)))
	t.Cleanup(server.Close)
	f.proxy = s3test.NewProxy(t, server.URL)
	var err error
	f.index, err = index.Open(t.Context(), os.DirFS(f.dir), f.names, index.Options{})
	require.NoError(t, err)
	return f
}

// site opens the server's files.
func (f *farAway) site(t *testing.T) *web.Site {
	t.Helper()
	var urls []string
	for _, name := range f.names {
		urls = append(urls, f.proxy.URL+"/"+name)
	}
	s, err := web.Open(t.Context(), web.Options{URLs: urls, Network: storage.Network{RetryFor: 20 * time.Second}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// reading is a way to read the shards.
type reading struct {
	place     fs.FS
	lookAhead int64
	options   pipeline.Options
	loader    iterator.Options
	ranks     int
	mixed     bool
}

// loader returns a loader of one rank.
func (f *farAway) loader(t *testing.T, r reading, rank int) *iterator.Loader {
	t.Helper()
	r.options.BatchSize, r.options.Seed = 7, 5
	p, err := pipeline.New(r.options, func(g *pipeline.Graph) {
		o := ShardsOptions{FS: r.place, Index: f.index, LookAhead: r.lookAhead}
		var members []pipeline.Value
		var label pipeline.Value
		if r.mixed {
			g.Mix(pipeline.ReaderOptions{Shuffle: true, NumShards: r.ranks, ShardID: rank}, pipeline.Mix{Weights: []int64{3, 1}}, func() {
				members, label = Shards(g, o)
				o.Split = pipeline.Split{Folds: 3, Holdout: true}
				members, label = Shards(g, o)
			})
		} else {
			o.Shuffle, o.NumShards, o.ShardID = true, r.ranks, rank
			members, label = Shards(g, o)
		}
		g.Output("jpg", members[0])
		g.Output("label", label)
	})
	require.NoError(t, err)
	l, err := iterator.New(r.loader, p)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

// sum is the hash of a batch.
func sum(b *iterator.Batch) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, b.Epoch(), b.Step(), b.IDs(), b.Mask(), b.Bytes("label"))
	for i, ok := range b.Mask() {
		if ok {
			h.Write(b.Sample("jpg", i).Bytes())
		}
	}
	return h.Sum64()
}

// take returns the hashes of up to n batches, over the ends of epochs.
func take(t *testing.T, l *iterator.Loader, n int) (all []uint64) {
	t.Helper()
	for b, err := range l.Steps(t.Context(), n) {
		require.NoError(t, err)
		all = append(all, sum(b))
	}
	return all
}

// faulty is what the proxy does: late answers, errors, and bodies that are cut.
func faulty(latency time.Duration) func(n int64, r *http.Request) s3test.Fault {
	return func(n int64, _ *http.Request) s3test.Fault {
		f := s3test.Fault{Delay: latency}
		switch n % 67 {
		case 5:
			f.Status = http.StatusServiceUnavailable
		case 23:
			f.Cut = 700
		case 41:
			f.Delay = 10 * latency
		}
		return f
	}
}

// Looking ahead changes no bit, whatever the server does: in every order, on every rank, in a
// mix, under a memory budget, with a cache in front, with any number of workers, and after a loop
// was left, moved or ended.
func TestLookAheadChangesNoBit(t *testing.T) {
	f := newFarAway(t)
	f.proxy.Set(faulty(time.Millisecond))
	orders := map[string]iterator.Options{
		"shuffle": {}, "groups": {ShuffleGroup: 2}, "blocks": {ShuffleBlock: 10}, "by step": {ShuffleGroup: 3, Partition: shard.ByStep}, "filled": {LastBatch: shard.Fill},
	}
	kept, err := cache.Open(t.Context(), f.site(t), cache.Options{Dir: t.TempDir(), Bytes: 300 << 10, Chunk: 64 << 10})
	require.NoError(t, err)
	for name, o := range orders {
		t.Run(name, func(t *testing.T) {
			for _, r := range []reading{
				{ranks: 1, place: f.site(t)},
				{ranks: 3, place: f.site(t), lookAhead: 256 << 10, options: pipeline.Options{Workers: 5}},
				{ranks: 1, place: kept, lookAhead: 512 << 10},
				{ranks: 1, place: f.site(t), lookAhead: 256 << 10, options: pipeline.Options{Workers: 3, MemoryBudget: 256<<10 + 70_000}},
				{ranks: 2, place: f.site(t), lookAhead: 256 << 10, mixed: true},
			} {
				if r.mixed && o.ShuffleGroup > 0 {
					o.ShuffleBlock = farEach // a mix does not know of shards
				}
				r.loader = o
				near := r
				near.place, near.lookAhead, near.options = os.DirFS(f.dir), 0, pipeline.Options{Workers: 1}
				rank := r.ranks - 1
				want := f.loader(t, near, rank)
				got := f.loader(t, r, rank)
				start, err := got.State()
				require.NoError(t, err)
				all := take(t, want, 22)
				require.Equal(t, all[:5], take(t, got, 5)) // left, and gone on with
				require.Equal(t, all[5:19], take(t, got, 14))
				middle, err := got.State()
				require.NoError(t, err)
				require.NoError(t, got.Restore(start))
				require.Equal(t, all[:3], take(t, got, 3))
				cancelled, cancel := context.WithCancel(t.Context())
				for _, err := range got.Steps(cancelled, 5) {
					if err != nil {
						break
					}
					cancel()
				}
				cancel()
				require.NoError(t, got.Restore(middle))
				require.Equal(t, all[19:], take(t, got, 3))
			}
		})
	}
	require.NoError(t, kept.Close())
	ahead := kept.Traffic().LookAhead
	require.Positive(t, ahead.Hits)
	require.Less(t, ahead.Requests, ahead.Hits)
}

// Bad objects fail the samples that they fail without looking ahead, and no others: one that was
// cut off, and one that is not there.
func TestLookAheadOverBadObjects(t *testing.T) {
	f := newFarAway(t)
	f.proxy.Set(faulty(time.Millisecond))
	require.NoError(t, os.Truncate(filepath.Join(f.dir, "2.tar"), 30_000))
	require.NoError(t, os.Remove(filepath.Join(f.dir, "4.tar")))
	bad := func(lookAhead int64) (batches []uint64, names []string) {
		r := reading{ranks: 1, place: f.site(t), lookAhead: lookAhead, loader: iterator.Options{ShuffleGroup: 2}}
		r.options = pipeline.Options{OnError: pipeline.Skip, RetryFor: -1, OnSampleError: func(e *pipeline.SampleError) { names = append(names, e.Source) }}
		l := f.loader(t, r, 0)
		return take(t, l, 40), names
	}
	want, wrong := bad(-1)
	require.Greater(t, len(wrong), 2*farEach)
	got, gone := bad(256 << 10)
	require.Equal(t, want, got)
	require.Equal(t, wrong, gone)
}

// An object that is written over while it is read ends the run by its name, and every batch
// before that is of the old one.
func TestLookAheadOverAnObjectThatChanges(t *testing.T) {
	f := newFarAway(t)
	near := f.loader(t, reading{ranks: 1, place: os.DirFS(f.dir)}, 0)
	want := take(t, near, 60)
	l := f.loader(t, reading{ranks: 1, place: f.site(t), lookAhead: 256 << 10}, 0)
	steps := 0
	for b, err := range l.Steps(t.Context(), 60) {
		if err != nil {
			var changed *storage.ChangedError
			require.ErrorAs(t, err, &changed)
			require.Contains(t, changed.Name, "3.tar")
			return
		}
		require.Equal(t, want[steps], sum(b))
		if steps++; steps == 3 {
			archive, err := os.ReadFile(filepath.Join(f.dir, "3.tar"))
			require.NoError(t, err)
			for i := range archive {
				archive[i]++
			}
			written := filepath.Join(t.TempDir(), "3.tar")
			require.NoError(t, os.WriteFile(written, archive, 0o666))
			require.NoError(t, os.Chtimes(written, time.Time{}, time.Now().Add(time.Hour)))
			require.NoError(t, os.Rename(written, filepath.Join(f.dir, "3.tar")))
		}
	}
	t.Fatal("the object was not missed")
}

// Options of looking ahead that make no sense are refused.
func TestLookAheadRefused(t *testing.T) {
	f := newFarAway(t)
	far := f.site(t)
	budget := func(bytes int64) pipeline.Options { return pipeline.Options{BatchSize: 4, MemoryBudget: bytes} }
	for want, c := range map[string]struct {
		o       ShardsOptions
		options pipeline.Options
	}{
		"LookAhead is 65536, but files of this place stay open":                                            {ShardsOptions{FS: os.DirFS(f.dir), LookAhead: 64 << 10}, budget(0)},
		"Requests is 3, but no server is asked for these files; leave it out":                              {ShardsOptions{Root: f.dir, Requests: 3}, budget(0)},
		"LookAhead is 7 bytes; it must be at least 65536, 0 for 268435456, or negative for none":           {ShardsOptions{FS: far, LookAhead: 7}, budget(0)},
		"Requests is 257; it must be 1 to 256, or 0 for 64":                                                {ShardsOptions{FS: far, Requests: 257}, budget(0)},
		"Requests are those of looking ahead, which LookAhead has turned off":                              {ShardsOptions{FS: far, LookAhead: -1, Requests: 3}, budget(0)},
		"LookAhead of the reader counts against MemoryBudget; lower it, or turn it off with -1: 268435456": {ShardsOptions{FS: far}, budget(1 << 20)},
		"looking 4611686018427387904 bytes ahead: ":                                                        {ShardsOptions{FS: far, LookAhead: 1 << 62}, budget(0)},
	} {
		c.o.Index = f.index
		if c.o.FS == nil {
			c.o.Index = nil
		}
		_, err := pipeline.New(c.options, func(g *pipeline.Graph) {
			members, _ := Shards(g, c.o)
			g.Output("x", members[0])
		})
		require.ErrorContains(t, err, want)
	}
	_, err := pipeline.New(budget(0), func(g *pipeline.Graph) {
		v, _ := File(g, FileOptions{FS: far, Files: []string{"0.tar"}, LookAhead: 1 << 20})
		g.Output("x", v)
	})
	require.ErrorContains(t, err, "LookAhead and Requests need the sizes of the files, which are in the lists of folders; read a folder, or leave them out")
}

// Groups that do not fit into what is looked ahead are refused, with the group that fits.
func TestLookAheadAndGroups(t *testing.T) {
	f := newFarAway(t)
	for want, c := range map[string]struct {
		o     iterator.Options
		ranks int
	}{
		"iterator: ShuffleGroup: it is 6 shards, of which the largest have ": {iterator.Options{ShuffleGroup: 6}, 1},
		"bytes ahead; make it at most 2, or raise LookAhead of the reader":   {iterator.Options{ShuffleGroup: 4}, 1},
		"ShuffleGroup: it is 4 blocks of 20 samples":                         {iterator.Options{ShuffleGroup: 4, ShuffleBlock: 20}, 1},
		"ShuffleBlock: it is 120 samples":                                    {iterator.Options{ShuffleBlock: 120}, 1},
		"":                                                                   {iterator.Options{ShuffleGroup: 4, Partition: shard.ByStep}, 2},
	} {
		p, err := pipeline.New(pipeline.Options{BatchSize: 4}, func(g *pipeline.Graph) {
			members, _ := Shards(g, ShardsOptions{FS: f.site(t), Index: f.index, Shuffle: true, LookAhead: 150 << 10, NumShards: c.ranks})
			g.Output("x", members[0])
		})
		require.NoError(t, err)
		l, err := iterator.New(c.o, p)
		if want == "" {
			require.NoError(t, err)
			require.NoError(t, l.Close())
			continue
		}
		require.ErrorContains(t, err, want)
		var option *iterator.OptionError
		require.True(t, errors.As(err, &option))
	}
}

// Files one by one are fetched ahead where their sizes are known.
func TestLookAheadOverFiles(t *testing.T) {
	files := fstest.MapFS{}
	for i := range 50 {
		files[fmt.Sprintf("%d/%03d.jpg", i%3, i)] = &fstest.MapFile{Data: bytes.Repeat([]byte{byte(i)}, 100+i)}
	}
	far := &rangedMap{MapFS: files}
	read := func(place fs.FS) []uint64 {
		p, err := pipeline.New(pipeline.Options{BatchSize: 7}, func(g *pipeline.Graph) {
			v, label := File(g, FileOptions{FS: place, Shuffle: true})
			g.Output("jpg", v)
			g.Output("label", label)
		})
		require.NoError(t, err)
		l, err := iterator.New(iterator.Options{}, p)
		require.NoError(t, err)
		defer func() { require.NoError(t, l.Close()) }()
		return take(t, l, 20)
	}
	require.Equal(t, read(files), read(far))
	counts := far.Traffic().LookAhead
	require.Positive(t, counts.Hits)
	require.Zero(t, counts.Misses)
}

// rangedMap is a place that is asked for ranges.
type rangedMap struct {
	fstest.MapFS

	mu     sync.Mutex
	counts storage.LookAhead
}

func (m *rangedMap) ReadRange(_ context.Context, name string, off int64, dst []byte) (int, error) {
	return copy(dst, m.MapFS[name].Data[off:]), nil
}

func (m *rangedMap) Traffic() storage.Traffic {
	m.mu.Lock()
	defer m.mu.Unlock()
	return storage.Traffic{LookAhead: m.counts}
}

// CountAhead is called by whoever ends a batch.
func (m *rangedMap) CountAhead(c storage.LookAhead) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts = m.counts.Add(c)
}
