package readers

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/planktonml/plankton/internal/alloctest"
	"github.com/planktonml/plankton/pipeline/datum"
)

var _ datum.Prefetcher = (*fileSource)(nil)

// evict drops a file from the page cache.
func evict(t testing.TB, path string) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, f.Sync())
	require.NoError(t, unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
}

// A file system may keep what it is asked to drop, or not tell; then there is
// nothing to see here but that nothing breaks.
func TestPrefetchFetchesWhatIsNotCached(t *testing.T) {
	s, err := newFileSource(&FileOptions{Root: tree(t, map[string]string{"a.jpg": strings.Repeat("x", 100_000)})})
	require.NoError(t, err)
	require.Equal(t, 128, s.ReadAhead())
	f, err := openHandle([]byte(s.Describe(0)))
	require.NoError(t, err)
	defer f.close()
	evict(t, s.Describe(0))
	if !s.Prefetch(context.Background(), 0) {
		require.True(t, f.cached(0), "it was left alone")
	}
	withTensors(t, s, func(out []*datum.Tensor) error { return s.Read(context.Background(), 0, out) })
	if !f.cached(0) {
		t.Skip("the file system does not tell what it has cached")
	}
	require.False(t, s.Prefetch(context.Background(), 0), "it was just read")
}

func TestPrefetchOfNoFile(t *testing.T) {
	root := tree(t, map[string]string{"a.jpg": "x"})
	s, err := newFileSource(&FileOptions{Root: root, ReadAhead: -1})
	require.NoError(t, err)
	require.Equal(t, -1, s.ReadAhead())
	require.NoError(t, os.Remove(filepath.Join(root, "a.jpg")))
	require.False(t, s.Prefetch(context.Background(), 0))
}

func TestPrefetchAllocatesNothing(t *testing.T) {
	s, err := newFileSource(&FileOptions{Root: tree(t, map[string]string{"a.jpg": strings.Repeat("x", 100_000)})})
	require.NoError(t, err)
	alloctest.None(t, 100, func() { s.Prefetch(context.Background(), 0) })
	path := s.Describe(0)
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	alloctest.None(t, 20, func() {
		_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
		s.Prefetch(context.Background(), 0)
	})
}
