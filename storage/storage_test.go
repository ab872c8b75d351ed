package storage

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// places are file systems of every kind that ReadRange knows, each with the file a/b.
func places(t *testing.T) map[string]fs.FS {
	const text = "0123456789"
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "a"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a", "b"), []byte(text), 0o666))
	var mem bytes.Buffer
	z := zip.NewWriter(&mem)
	w, err := z.Create("a/b")
	require.NoError(t, err)
	_, err = io.WriteString(w, text)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	archive, err := zip.NewReader(bytes.NewReader(mem.Bytes()), int64(mem.Len()))
	require.NoError(t, err)
	m := fstest.MapFS{"a/b": {Data: []byte(text)}}
	return map[string]fs.FS{
		"folder": os.DirFS(dir), "zip": archive, "memory": m,
		"ranges": ranges{m}, "seeker": reader{m, true}, "reader": reader{m, false},
	}
}

// ranges reads a part of a file by itself, and cannot open one.
type ranges struct{ fs fstest.MapFS }

func (r ranges) Open(string) (fs.File, error) { panic("opened") }

func (r ranges) ReadRange(_ context.Context, name string, off int64, dst []byte) (int, error) {
	f, err := r.fs.Open(name)
	if err != nil {
		return 0, err
	}
	return f.(io.ReaderAt).ReadAt(dst, off)
}

// reader hides all methods of files but those of fs.File, and Seek where it is kept.
type reader struct {
	fs   fstest.MapFS
	seek bool
}

func (r reader) Open(name string) (fs.File, error) {
	f, err := r.fs.Open(name)
	if err != nil {
		return nil, err
	}
	plain := struct{ fs.File }{f}
	if r.seek {
		return struct {
			fs.File
			io.Seeker
		}{plain, f.(io.Seeker)}, nil
	}
	return plain, nil
}

func TestReadRange(t *testing.T) {
	for kind, place := range places(t) {
		t.Run(kind, func(t *testing.T) {
			dst := make([]byte, 4)
			require.NoError(t, ReadRange(t.Context(), place, "a/b", 3, dst))
			require.Equal(t, "3456", string(dst))
			require.NoError(t, ReadRange(t.Context(), place, "a/b", 6, dst), "the last bytes")
			require.Equal(t, "6789", string(dst))

			err := ReadRange(t.Context(), place, "a/b", 8, dst)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			require.ErrorContains(t, err, "a/b: 2 of 4 bytes from byte 8")
			require.ErrorContains(t, ReadRange(t.Context(), place, "a/b", 40, dst), "0 of 4 bytes from byte 40")
			require.ErrorIs(t, ReadRange(t.Context(), place, "a/c", 0, dst), fs.ErrNotExist)

			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			require.ErrorIs(t, ReadRange(ctx, place, "a/b", 0, dst), context.Canceled)
		})
	}
}
