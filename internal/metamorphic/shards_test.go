package metamorphic

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/storage/index"
)

// far is a place that is asked for ranges, of which some fail that are longer than a sample's.
type far struct {
	fstest.MapFS
	seed uint64
}

func (f far) ReadRange(_ context.Context, name string, off int64, dst []byte) (int, error) {
	if n := len(dst); n > 3100 && hash(f.seed+uint64(off+int64(n)))%4 == 0 {
		return 0, errors.New("the store fails")
	}
	return copy(dst, f.MapFS[name].Data[off:]), nil
}

// homes are the forms that one data set is written in, with a reader of each.
type homes map[string]func(g *pipeline.Graph, o pipeline.ReaderOptions) []pipeline.Value

// housed draws a data set with class folders and writes it as files, tar archives and
// TFRecords, the shards of any length.
func housed(t *testing.T, d draws) homes {
	n, classes, seed := d.between(1, 40), d.between(1, 3), d.Uint64()
	folder, tars, records := fstest.MapFS{}, fstest.MapFS{}, fstest.MapFS{}
	var archive bytes.Buffer
	var record []byte
	w := tar.NewWriter(&archive)
	end := func(i int) {
		require.NoError(t, w.Close())
		tars[fmt.Sprintf("%03d.tar", i)] = &fstest.MapFile{Data: bytes.Clone(archive.Bytes())}
		records[fmt.Sprintf("%03d.tfrecord", i)] = &fstest.MapFile{Data: record}
		archive.Reset()
		w, record = tar.NewWriter(&archive), nil
	}
	for i := range n {
		label := i * classes / n
		h := hash(seed + uint64(i))
		mem := make([]byte, 1+h%3000)
		scatter(mem, datum.Uint8, h)
		folder[fmt.Sprintf("%d/%03d.jpg", label, i)] = &fstest.MapFile{Data: mem}
		for _, m := range []struct {
			ending string
			data   []byte
		}{{"jpg", mem}, {"cls", fmt.Append(nil, label)}} {
			require.NoError(t, w.WriteHeader(&tar.Header{Name: fmt.Sprintf("%03d.%s", i, m.ending), Size: int64(len(m.data)), Mode: 0o644}))
			_, err := w.Write(m.data)
			require.NoError(t, err)
		}
		record = index.AppendRecord(record, index.ExamplePieces(
			index.Feature{Key: "image/encoded", Bytes: mem}, index.Feature{Key: "image/class/label", Int64s: []int64{int64(label)}})...)
		if i == n-1 || d.oneIn(5) {
			end(i)
		}
	}
	shards := func(place fs.FS, x *index.Index, lookAhead int64) func(*pipeline.Graph, pipeline.ReaderOptions) []pipeline.Value {
		return func(g *pipeline.Graph, o pipeline.ReaderOptions) []pipeline.Value {
			v, label := readers.Shards(g, readers.ShardsOptions{
				Name: o.Name, FS: place, NumShards: o.NumShards, ShardID: o.ShardID, StickToShard: o.StickToShard,
				PadLastBatch: o.PadLastBatch, Shuffle: o.Shuffle, Split: o.Split, Index: x, LookAhead: lookAhead,
			})
			return []pipeline.Value{v[0], label}
		}
	}
	distant := func(place fstest.MapFS) func(*pipeline.Graph, pipeline.ReaderOptions) []pipeline.Value {
		files, err := index.Shards(place, ".")
		require.NoError(t, err)
		x, err := index.Open(t.Context(), place, files, index.Options{}) // which the far place has no faults for
		require.NoError(t, err)
		return shards(far{place, seed}, x, []int64{-1, 0, 64 << 10}[hash(seed)%3])
	}
	return homes{
		"tar": shards(tars, nil, 0), "tfrecord": shards(records, nil, 0),
		"far tar": distant(tars), "far tfrecord": distant(records),
		"folder": func(g *pipeline.Graph, o pipeline.ReaderOptions) []pipeline.Value {
			v, label := readers.File(g, readers.FileOptions{
				Name: o.Name, FS: folder, NumShards: o.NumShards, ShardID: o.ShardID, StickToShard: o.StickToShard,
				PadLastBatch: o.PadLastBatch, Shuffle: o.Shuffle, Split: o.Split,
			})
			return []pipeline.Value{v, label}
		},
	}
}

// place is the file or shard in a written error.
var place = regexp.MustCompile(`\[[^|\]]*\|`)

// written runs a random pipeline over a data set and writes down what it delivers.
func written(t *testing.T, f *definition, read func(*pipeline.Graph, pipeline.ReaderOptions) []pipeline.Value) string {
	p, err := pipeline.New(pipeline.Options{BatchSize: f.batch, Seed: f.chance, ExactRGB: f.exact, OnError: f.onError, Workers: 2}, func(g *pipeline.Graph) {
		b := &builder{g: g, d: drawsOf(f.seed, 2)}
		o := f.reader
		o.ShardID, o.Split = f.shards[0], pipeline.Split{}
		b.values = read(g, o)
		for range f.operators {
			if g.Err() == nil {
				choose(b.d, features).do(b)
			}
		}
		if g.Err() != nil {
			return
		}
		b.showCut()
		g.Output("encoded", b.values[0])
		g.Output("label", b.values[1])
		for i := range f.outputs {
			g.Output(fmt.Sprint("out", i), b.any())
		}
	})
	if err != nil {
		return "refused: " + err.Error()
	}
	o := f.loader
	l, err := iterator.New(o, p)
	if err != nil {
		return "refused: " + err.Error()
	}
	defer func() { require.NoError(t, l.Close()) }()
	text := ""
	steps := 0
	for b, err := range l.Epochs(t.Context(), 2) {
		if err != nil {
			told, _ := explain(err)
			return place.ReplaceAllString(text+told, "[|")
		}
		text += snapshot(b)
		if steps++; steps == maxSteps {
			break
		}
	}
	return place.ReplaceAllString(text, "[|")
}

// The same samples give the same batches, errors and orders from a folder, from archives
// and from records.
func TestRandomShards(t *testing.T) {
	delivered := 0
	seeds(t, 40, func(t *testing.T, seed uint64) {
		f := define(seed)
		data := housed(t, drawsOf(seed, 9))
		want := written(t, f, data["folder"])
		if len(want) > 200 {
			delivered++
		}
		for _, form := range []string{"tar", "tfrecord", "far tar", "far tfrecord"} {
			if got := written(t, f, data[form]); got != want {
				t.Fatalf("%s differs from the folder%s", form, difference(want, got))
			}
		}
	})
	t.Logf("%d cases delivered batches", delivered)
}
