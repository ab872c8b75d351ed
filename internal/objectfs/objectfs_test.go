package objectfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/transfer"
	"github.com/planktonml/plankton/storage"
)

// memory is a store of objects in memory; a name that ends in a slash marks a folder.
type memory struct {
	objects map[string]string
	etags   map[string]string
	lists   atomic.Int64
	reads   atomic.Int64
}

func (m *memory) Address() string { return "here" }

func (m *memory) Show(name string) string { return "memory://" + name }

func (m *memory) List(_ context.Context, folder string, yield func(Entry) bool) error {
	m.lists.Add(1)
	seen := map[string]bool{}
	for key, data := range m.objects {
		name, ok := strings.CutPrefix(key, folder)
		if !ok || name == "" {
			continue
		}
		first, _, deeper := strings.Cut(name, "/")
		e := Entry{Name: first, Folder: deeper}
		if !deeper {
			e.Version = m.version(key, data)
		} else if seen[first] {
			continue
		}
		seen[first] = deeper
		if !yield(e) {
			return nil
		}
	}
	return nil
}

func (m *memory) version(key, data string) transfer.Version {
	return transfer.Version{Size: int64(len(data)), ETag: m.etags[key]}
}

func (m *memory) Find(_ context.Context, name string) (Entry, error) {
	m.lists.Add(1)
	if data, ok := m.objects[name]; ok {
		return Entry{Name: name, Version: m.version(name, data)}, nil
	}
	for key := range m.objects {
		if strings.HasPrefix(key, name+"/") {
			return Entry{Name: name, Folder: true}, nil
		}
	}
	return Entry{}, fs.ErrNotExist
}

func (m *memory) Read(ctx context.Context, name string, want transfer.Version, off int64, dst []byte) (int, transfer.Version, error) {
	m.reads.Add(1)
	data, ok := m.objects[name]
	if !ok {
		return 0, want, fmt.Errorf("memory://%s: %w", name, fs.ErrNotExist)
	}
	is := m.version(name, data)
	if !want.Same(is) {
		return 0, want, transfer.Changed(m.Show(name), want, is)
	}
	if off > int64(len(data)) {
		return 0, is, io.ErrUnexpectedEOF
	}
	n := copy(dst, data[off:])
	if n < len(dst) {
		return n, is, io.ErrUnexpectedEOF
	}
	return n, is, ctx.Err()
}

func TestFS(t *testing.T) {
	m := &memory{objects: map[string]string{"a/b/c": "abc", "a/d": "d", "e": "", "marked/": "", "both": "", "both/x": "x"}}
	f := New(t.Context(), m, nil)
	require.NoError(t, fstest.TestFS(f, "a/b/c", "a/d", "e", "both/x"))
	sub, err := fs.Sub(f, "a")
	require.NoError(t, err)
	require.NoError(t, fstest.TestFS(sub, "b/c", "d"))
	require.Implements(t, (*storage.RangeReader)(nil), sub)
	require.Implements(t, (*storage.Counted)(nil), sub, "a folder tells the traffic of its store")
	dst := make([]byte, 3)
	require.NoError(t, storage.ReadRange(t.Context(), sub, "b/c", 0, dst))
	require.Equal(t, "abc", string(dst))
	require.Same(t, f, must(fs.Sub(f, ".")))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// What cannot be a tree of files is refused by name.
func TestNamesThatAreNoTree(t *testing.T) {
	for want, objects := range map[string]map[string]string{
		"memory://a is an object and a folder as well": {"a": "data", "a/b": "data"},
		"memory:///a: this name cannot be a path":      nil,
		"memory://..: this name cannot be a path":      {"../a": "x"},
		"memory://.: this name cannot be a path":       {".": "x"},
	} {
		if objects == nil {
			objects = map[string]string{"/a": "x"}
			want = "memory://: this name cannot be a path"
		}
		f := New(t.Context(), &memory{objects: objects}, nil)
		_, err := f.ReadDir(".")
		require.ErrorContains(t, err, want)
	}
}

// A file is read in few requests, more at a time the longer it goes on, whatever the
// pieces are that it is asked for in.
func TestReadingOneAfterTheOther(t *testing.T) {
	data := strings.Repeat("0123456789abcdef", 1<<17) // 2 MiB
	m := &memory{objects: map[string]string{"x": data, "small": "0123456789"}}
	f := New(t.Context(), m, nil)
	for _, listed := range []bool{false, true} {
		if listed {
			must(f.ReadDir("."))
		}
		m.reads.Store(0)
		o := must(f.Open("x"))
		got, err := io.ReadAll(iotest.OneByteReader(io.LimitReader(o, 1000)))
		require.NoError(t, err)
		rest, err := io.ReadAll(o)
		require.NoError(t, err)
		require.Equal(t, data, string(got)+string(rest))
		require.LessOrEqual(t, m.reads.Load(), int64(5), "listed: %v", listed)
		require.NoError(t, o.Close())
		require.ErrorIs(t, o.Close(), fs.ErrClosed)
	}
	m.reads.Store(0)
	require.Equal(t, data, string(must(f.ReadFile("x"))))
	require.EqualValues(t, 1, m.reads.Load())
	require.NoError(t, iotest.TestReader(must(f.Open("small")), []byte("0123456789")))
	require.NoError(t, iotest.TestReader(must(New(t.Context(), m, nil).Open("small")), []byte("0123456789")))
}

func TestRangesAtTheEnd(t *testing.T) {
	m := &memory{objects: map[string]string{"x": "0123456789", "empty": ""}}
	for _, listed := range []bool{false, true} {
		f := New(t.Context(), m, nil)
		if listed {
			must(f.ReadDir("."))
		}
		dst := make([]byte, 4)
		err := storage.ReadRange(t.Context(), f, "x", 8, dst)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.ErrorContains(t, err, "x: 2 of 4 bytes from byte 8")
		require.Equal(t, "89", string(dst[:2]))
		require.ErrorIs(t, storage.ReadRange(t.Context(), f, "x", 11, dst), io.ErrUnexpectedEOF)
		require.ErrorIs(t, storage.ReadRange(t.Context(), f, "empty", 0, dst), io.ErrUnexpectedEOF)
		require.NoError(t, storage.ReadRange(t.Context(), f, "empty", 0, nil))
		require.Empty(t, must(f.ReadFile("empty")))
		require.ErrorIs(t, storage.ReadRange(t.Context(), f, "y", 0, dst), fs.ErrNotExist)
		require.ErrorIs(t, storage.ReadRange(t.Context(), f, "../x", 0, dst), fs.ErrInvalid)
	}
}

// The version that an object was met with first stays, wherever it was met.
func TestFirstVersionStays(t *testing.T) {
	const md5 = "900150983cd24fb0d6963f7d28e17f72"
	for _, tags := range [][2]string{{md5, strings.Repeat("0", 32)}, {md5, md5 + "-2"}, {"W/a", "W/b"}, {strings.ToUpper(md5), md5}, {"", ""}} {
		m := &memory{objects: map[string]string{"a": "one", "b": "one", "c": "one"}, etags: map[string]string{"a": tags[0], "b": tags[0], "c": tags[0]}}
		f := New(t.Context(), m, nil)
		dst := make([]byte, 3)
		must(f.Stat("a"))
		require.NoError(t, storage.ReadRange(t.Context(), f, "b", 0, dst))
		must(f.ReadDir("."))
		for name := range m.etags {
			require.NoError(t, storage.ReadRange(t.Context(), f, name, 0, dst))
			m.etags[name] = tags[1]
			if tags[1] == "" {
				m.objects[name] = "longer"
			}
		}
		must(f.ReadDir("."))
		for name := range m.etags {
			require.ErrorAs(t, storage.ReadRange(t.Context(), f, name, 0, dst), new(*storage.ChangedError), "%s: %q", name, tags)
			info := must(f.Stat(name))
			require.EqualValues(t, 3, info.Size())
		}
	}
}

func TestPackedVersions(t *testing.T) {
	for _, tag := range []string{"", "x", "900150983cd24fb0d6963f7d28e17f72", "900150983cd24fb0d6963f7d28e17f72-12", "900150983CD24FB0D6963F7D28E17F72", strings.Repeat("0", 32), "0x8DA"} {
		v := transfer.Version{ETag: tag, Size: 7}
		require.Equal(t, v, pack(v).version())
	}
}

func TestVersion(t *testing.T) {
	m := &memory{objects: map[string]string{"a/x": "one"}, etags: map[string]string{"a/x": "tag"}}
	f := New(t.Context(), m, nil)
	sub := must(f.Sub("a")).(storage.Versioned)
	version, size, err := sub.Version("x")
	require.NoError(t, err)
	require.EqualValues(t, 3, size)
	require.Contains(t, version, `here "memory://a/x" "tag" `)
	whole, _, err := f.Version("a/x")
	require.NoError(t, err)
	require.Equal(t, whole, version)
	version, _, err = New(t.Context(), &memory{objects: m.objects}, nil).Version("a/x")
	require.NoError(t, err)
	require.Empty(t, version, "a size alone tells nothing")
	_, _, err = f.Version("a")
	require.ErrorContains(t, err, "is a folder")
	_, _, err = f.Version("b")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// Walking and describing what was walked asks for lists alone.
func TestWalkOnlyLists(t *testing.T) {
	m := &memory{objects: map[string]string{"a/1": "x", "a/2": "x", "b/3": "x"}}
	f := New(t.Context(), m, nil)
	require.NoError(t, fs.WalkDir(f, ".", func(path string, d fs.DirEntry, err error) error {
		return errors.Join(err, func() error { _, err := f.Stat(path); return err }())
	}))
	require.EqualValues(t, 3, m.lists.Load())
	require.Zero(t, m.reads.Load())
	_ = must(f.Open("a")).Close()
	_ = must(f.Open("a/1")).Close()
	require.Zero(t, m.reads.Load())
}
