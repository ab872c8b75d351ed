package index

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"os"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/storage"
)

// entry is a file of an archive that a test writes.
type entry struct {
	name, content string
	kind          byte
}

// archive returns a tar archive, and its end apart.
func archive(tb testing.TB, entries ...entry) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Size: int64(len(e.content)), Mode: 0o644, Typeflag: e.kind}
		if e.kind == tar.TypeLink || e.kind == tar.TypeSymlink {
			h.Size, h.Linkname = 0, e.content
		}
		require.NoError(tb, w.WriteHeader(h))
		if h.Size > 0 {
			_, err := w.Write([]byte(e.content))
			require.NoError(tb, err)
		}
	}
	require.NoError(tb, w.Close())
	return b.Bytes()
}

// pairs are samples of a picture and a label.
func pairs(from, to int) (entries []entry) {
	for i := from; i < to; i++ {
		key := string(rune('a' + i))
		entries = append(entries, entry{name: key + ".jpg", content: "picture " + key}, entry{name: key + ".cls", content: string(rune('0' + i%7))})
	}
	return entries
}

// hour is a time of files, in hours.
func hour(n int) time.Time { return time.Date(2026, 1, 1, n, 0, 0, 0, time.UTC) }

// placeOf is a place of files that were written at hour 1.
func placeOf(files map[string][]byte) fstest.MapFS {
	place := fstest.MapFS{}
	for name, data := range files {
		place[name] = &fstest.MapFile{Data: data, ModTime: hour(1)}
	}
	return place
}

// open makes the index of shards that must be sound.
func open(tb testing.TB, place fs.FS, o Options, shards ...string) *Index {
	tb.Helper()
	x, err := Open(tb.Context(), place, shards, o)
	require.NoError(tb, err)
	return x
}

// refused returns why shards are refused.
func refused(tb testing.TB, place fs.FS, shards ...string) string {
	tb.Helper()
	_, err := Open(tb.Context(), place, shards, Options{})
	require.Error(tb, err)
	return err.Error()
}

// content reads a member of a sample.
func content(tb testing.TB, place fs.FS, x *Index, sample int64, member string) string {
	tb.Helper()
	p := x.Part(sample, x.Field(member))
	if p.Length < 0 {
		return ""
	}
	mem := make([]byte, p.Length)
	require.NoError(tb, storage.ReadRange(tb.Context(), place, x.Objects()[x.Object(sample)].Name, p.Offset, mem))
	return string(mem)
}

var testdata = os.DirFS("testdata")
