package readers

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/planktonml/plankton/internal/alloctest"
	"github.com/planktonml/plankton/pipeline/datum"
)

var _ datum.Prefetcher = (*tokenSource)(nil)

// A file system may keep what it is asked to drop, or not tell; then there is
// nothing to see here but that nothing breaks.
func TestSequencesAreFetchedAhead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.bin")
	require.NoError(t, os.WriteFile(path, make([]byte, 8<<20), 0o600))
	s, err := newTokenSource(&TokensOptions{Files: []string{path}, Length: 4096})
	require.NoError(t, err)
	defer s.close()
	f := handle(s.files[0].data.Fd())
	last := s.Len() - 1
	evict(t, path)
	if !s.Prefetch(t.Context(), last) {
		require.True(t, f.cached(8<<20-1), "it was left alone")
	}
	readSequence(t, s, last)
	if !f.cached(8<<20 - 1) {
		t.Skip("the file system does not tell what it has cached")
	}
	require.False(t, s.Prefetch(t.Context(), last), "it was just read")
	alloctest.None(t, 20, func() {
		_ = unix.Fadvise(int(f), 0, 0, unix.FADV_DONTNEED)
		s.Prefetch(t.Context(), last)
	})
}

// Files of a data set that nobody uses any more are unmapped.
func TestTokenFilesAreUnmapped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.bin")
	require.NoError(t, os.WriteFile(path, make([]byte, 100), 0o600))
	mapped := func() bool {
		maps, err := os.ReadFile("/proc/self/maps")
		require.NoError(t, err)
		return strings.Contains(string(maps), path)
	}
	s, err := newTokenSource(&TokensOptions{Files: []string{path}, Length: 10})
	require.NoError(t, err)
	require.True(t, mapped())
	readSequence(t, s, 3)
	runtime.KeepAlive(s)
	s = nil
	require.Eventually(t, func() bool { runtime.GC(); return !mapped() }, time.Minute, time.Millisecond)
}
