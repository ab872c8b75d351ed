package storage

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/alloctest"
)

// What is kept open reads what the place reads, of every kind of place.
func TestKeptPlacesRead(t *testing.T) {
	for kind, place := range places(t) {
		t.Run(kind, func(t *testing.T) {
			kept := Keep(place, 1)
			dst := make([]byte, 4)
			for range 2 {
				require.NoError(t, ReadRange(t.Context(), kept, "a/b", 6, dst))
				require.Equal(t, "6789", string(dst))
			}
			err := ReadRange(t.Context(), kept, "a/b", 8, dst)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			require.ErrorContains(t, err, "a/b: 2 of 4 bytes from byte 8")
			require.ErrorIs(t, ReadRange(t.Context(), kept, "a/c", 0, dst), fs.ErrNotExist)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			require.ErrorIs(t, ReadRange(ctx, kept, "a/b", 0, dst), context.Canceled)
		})
	}
}

// counted counts the files of a place that are open.
type counted struct {
	fs.FS
	mu           sync.Mutex
	opened, most int
}

func (c *counted) Open(name string) (fs.File, error) {
	f, err := c.FS.Open(name)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened++
	c.most = max(c.most, c.opened)
	return &countedFile{f.(*os.File), c}, nil
}

type countedFile struct {
	*os.File
	c *counted
}

func (f *countedFile) Close() error {
	f.c.mu.Lock()
	defer f.c.mu.Unlock()
	f.c.opened--
	return f.File.Close()
}

// More goroutines read more files than are kept, so that files are closed while they are
// read: every read succeeds all the same, and no more files are open than goroutines may
// open at once beside those that are kept.
func TestFilesThatAreClosedWhileTheyAreRead(t *testing.T) {
	const files, readers, limit = 12, 4, 3
	dir := t.TempDir()
	for i := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), fmt.Appendf(nil, "%04d", i), 0o666))
	}
	place := &counted{FS: os.DirFS(dir)}
	kept := Keep(place, limit)
	var group sync.WaitGroup
	for r := range readers {
		group.Go(func() {
			dst := make([]byte, 4)
			for i := range 400 {
				n := (i*7 + r*5) % files
				if err := ReadRange(t.Context(), kept, fmt.Sprint(n), 0, dst); err != nil || string(dst) != fmt.Sprintf("%04d", n) {
					t.Errorf("file %d: %q, %v", n, dst, err)
					return
				}
			}
		})
	}
	group.Wait()
	require.LessOrEqual(t, place.most, limit+readers)
}

func TestKeptFilesAreReadWithoutAllocating(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), make([]byte, 100), 0o666))
	kept := Keep(os.DirFS(dir), 2)
	dst := make([]byte, 50)
	alloctest.None(t, 50, func() {
		if err := ReadRange(context.Background(), kept, "a", 25, dst); err != nil {
			panic(err)
		}
	})
}

func TestKeepLeavesRangeReadersAlone(t *testing.T) {
	place := ranges{fstest.MapFS{}}
	require.Equal(t, RangeReader(place), Keep(place, 1))
}

// shut is a place all of whose files were closed by somebody else.
type shut struct{ fstest.MapFS }

func (s shut) Open(name string) (fs.File, error) {
	f, err := s.MapFS.Open(name)
	if err != nil {
		return nil, err
	}
	return &shutFile{f}, nil
}

type shutFile struct{ fs.File }

func (*shutFile) ReadAt([]byte, int64) (int, error) { return 0, fs.ErrClosed }

func TestAPlaceThatIsClosedIsAnError(t *testing.T) {
	err := ReadRange(t.Context(), Keep(shut{fstest.MapFS{"a": {Data: []byte("x")}}}, 1), "a", 0, make([]byte, 1))
	require.ErrorIs(t, err, fs.ErrClosed)
}

func TestAClosedPlaceIsNotRead(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("abc"), 0o600))
	k := KeepFolder(dir, 2)
	require.Equal(t, dir, k.Folder())
	var mem [2]byte
	require.NoError(t, ReadRange(t.Context(), k, "a", 1, mem[:]))
	f, err := k.File("a")
	require.NoError(t, err)
	require.NoError(t, k.Close())
	require.NoError(t, k.Close())
	_, err = f.ReadAt(mem[:], 0)
	require.ErrorIs(t, err, fs.ErrClosed)
	require.ErrorIs(t, ReadRange(t.Context(), k, "a", 1, mem[:]), fs.ErrClosed)
}
