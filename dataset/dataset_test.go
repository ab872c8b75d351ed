package dataset

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/feedtest"
	"github.com/planktonml/plankton/pipeline"
)

// archive returns a tar archive of n samples, from one on.
func archive(t *testing.T, from, n int) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := from; i < from+n; i++ {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: fmt.Sprintf("%03d.jpg", i), Size: 1, Mode: 0o644}))
		_, err := w.Write([]byte{byte('a' + i)})
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.String()
}

// folder writes files by their names.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o666))
	}
	return dir
}

// read returns what the samples of a data set are, in their order.
func read(t *testing.T, data string, o Options) (all string) {
	t.Helper()
	d, err := Open(t.Context(), data, o)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	p, err := pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
		encoded, label := d.Read(g, pipeline.ReaderOptions{})
		g.Output("encoded", encoded)
		g.Output("label", label)
	})
	require.NoError(t, err)
	r, err := p.Engine().NewRunner(feedtest.Once(p.Readers()[0].Len(), 1))
	require.NoError(t, err)
	defer r.Close()
	for {
		f, err := r.Next(context.Background())
		require.NoError(t, err)
		if f == nil {
			return all
		}
		b := (*pipeline.Batch)(f)
		all += string(b.Sample("encoded", 0).Bytes())
		b.Release()
	}
}

func TestWhatLiesUnderAName(t *testing.T) {
	shards := folder(t, map[string]string{"b.tar": archive(t, 2, 2), "a.tar": archive(t, 0, 2), "note.txt": "", ".x.tar": "", "sub/c.tar": ""})
	for want, data := range map[string]string{
		"xy":   folder(t, map[string]string{"1.jpg": "x", "2.jpg": "y"}),
		"yx":   folder(t, map[string]string{"a/2.jpg": "y", "b/1.jpg": "x"}),
		"abcd": shards,
		"cd":   filepath.Join(shards, "b.tar"),
	} {
		require.Equal(t, want, read(t, data, Options{}))
	}
}

func TestWhatIsRefused(t *testing.T) {
	for want, data := range map[string]string{
		"a.tar and b.tfrecord are shards of two formats; keep them in folders of their own": folder(t, map[string]string{"a.tar": "", "b.tfrecord": ""}),
		"a.tar.gz is compressed as a whole":                                                 folder(t, map[string]string{"a.tar.gz": ""}),
		"a.tar is empty: it has 0 bytes":                                                    folder(t, map[string]string{"a.tar": ""}),
		`there is no scheme "gopher"`:                                                       "gopher://x",
	} {
		_, err := Open(t.Context(), data, Options{})
		require.ErrorContains(t, err, want)
	}
}

// A scheme is a place, in which there may be anything that a folder may hold.
func TestSchemes(t *testing.T) {
	place := fstest.MapFS{"1.jpg": {Data: []byte("x")}, "2.jpg": {Data: []byte("y")}}
	o := Options{Schemes: map[string]Scheme{"test": func(_ context.Context, url string) (fs.FS, error) {
		if url == "test://shards" {
			return fstest.MapFS{"a.tar": {Data: []byte(archive(t, 0, 3))}}, nil
		}
		return place, nil
	}}}
	require.Equal(t, "abc", read(t, "test://shards", o))
	require.Equal(t, "xy", read(t, "test://pictures", o))
	_, err := Open(t.Context(), "gopher://x", o)
	require.ErrorContains(t, err, "test://…")
}
