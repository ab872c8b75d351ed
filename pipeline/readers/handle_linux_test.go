package readers

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/planktonml/plankton/pipeline/datum"
)

// What is no regular file is refused, without waiting for a writer of a pipe.
func TestFileReadsNothingButRegularFiles(t *testing.T) {
	dir := tree(t, map[string]string{"folder/x": ""})
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "pipe"), 0o666))
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	require.NoError(t, err)
	defer l.Close()
	require.NoError(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	for path, want := range map[string]string{
		"pipe":                    "not a regular file (p---------)",
		"/dev/null":               "not a regular file (D---------)",
		"folder":                  "a folder is in the place of the file",
		"socket":                  "open: no such device or address",
		"loop":                    "open: too many levels of symbolic links",
		strings.Repeat("x", 5000): "open: file name too long",
	} {
		s := &fileSource{root: dir + "/"}
		s.files.add([]byte(path), 0, -1)
		withTensors(t, s, func(out []*datum.Tensor) error {
			require.EqualError(t, s.Read(context.Background(), 0, out), want)
			return nil
		})
	}
}

func TestFileClosesWhatItOpens(t *testing.T) {
	s, err := newFileSource(&FileOptions{Root: tree(t, map[string]string{"a.jpg": "x", "b.jpg": ""})})
	require.NoError(t, err)
	open := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(entries)
	}
	before := open()
	withTensors(t, s, func(out []*datum.Tensor) error {
		for range 10 {
			require.NoError(t, s.Read(context.Background(), 0, out))
			require.EqualError(t, s.Read(context.Background(), 1, out), "the file is empty")
		}
		return nil
	})
	require.Equal(t, before, open())
}

func TestFileReadAllocatesNothing(t *testing.T) {
	s, err := newFileSource(&FileOptions{Root: tree(t, map[string]string{"a/1.jpg": strings.Repeat("x", 10000), "b/2.jpg": "y"})})
	require.NoError(t, err)
	requireNoAllocations(t, s)

	deep := strings.Repeat("a_folder_in_a_folder/", 100) // the system takes 4,096 bytes
	s, err = newFileSource(&FileOptions{Root: tree(t, map[string]string{deep + "1.jpg": "x", deep + "2.jpg": "y"})})
	require.NoError(t, err)
	requireNoAllocations(t, s)
}
