package index

import (
	"archive/tar"
	"bytes"
	"io"
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pieces is a place of one file that is zeros but for a few pieces.
type pieces struct {
	name string
	size int64
	at   map[int64][]byte
}

func (p *pieces) Open(name string) (fs.File, error) {
	if name != p.name {
		return nil, fs.ErrNotExist
	}
	return &piecesFile{p}, nil
}

type piecesFile struct{ *pieces }

func (f *piecesFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *piecesFile) Read([]byte) (int, error)   { panic("read from the beginning") }
func (f *piecesFile) Close() error               { return nil }
func (f *piecesFile) Name() string               { return f.name }
func (f *piecesFile) Size() int64                { return f.size }
func (f *piecesFile) Mode() fs.FileMode          { return 0o444 }
func (f *piecesFile) ModTime() time.Time         { return time.Time{} }
func (f *piecesFile) IsDir() bool                { return false }
func (f *piecesFile) Sys() any                   { return nil }

func (f *piecesFile) ReadAt(dst []byte, off int64) (int, error) {
	clear(dst)
	for start, data := range f.at {
		from, to := max(start, off), min(start+int64(len(data)), off+int64(len(dst)))
		if from < to {
			copy(dst[from-off:], data[from-start:to-start])
		}
	}
	if n := f.size - off; n < int64(len(dst)) {
		return int(n), io.EOF
	}
	return len(dst), nil
}

// add writes a file of an archive: its header, and the content if it is short.
func (p *pieces) add(tb testing.TB, name string, size int64, content string) {
	var b bytes.Buffer
	require.NoError(tb, tar.NewWriter(&b).WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o644}))
	p.at[p.size] = append(b.Bytes(), content...)
	p.size += int64(b.Len()) + (size+tarBlock-1)/tarBlock*tarBlock
}

// An archive of 40 GB is looked through by its headers, and its places are right to the
// last. One file in it has more bytes than a sample can have.
func TestAnArchiveOf40GB(t *testing.T) {
	place := &pieces{name: "a.tar", at: map[int64][]byte{}}
	for i := range 20 {
		place.add(t, string(rune('a'+i))+".jpg", 2_000_000_000, "")
	}
	place.add(t, "large.jpg", 3_000_000_000, "")
	place.add(t, "last.jpg", 4, "last")
	place.size += 2 * tarBlock
	x := open(t, place, Options{Repeats: true}, "a.tar")
	require.EqualValues(t, 22, x.Len())
	require.EqualValues(t, 2_000_000_000, x.Part(19, 0).Length)
	require.EqualValues(t, Long, x.Part(20, 0).Length)
	require.Greater(t, x.Part(21, 0).Offset, int64(43_000_000_000))
	require.Equal(t, "last", content(t, place, x, 21, "jpg"))

	var b bytes.Buffer
	require.NoError(t, x.Write(&b))
	y, err := Parse(b.Bytes())
	require.NoError(t, err)
	require.True(t, x.Equal(y))
}
