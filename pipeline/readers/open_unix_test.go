//go:build unix

package readers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/planktonml/plankton/pipeline"
)

// A named pipe in the place of a file is refused, and nobody waits for its writer.
func TestANamedPipeInThePlaceOfAFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("no named pipes here:", err)
	}
	for _, define := range []func(*pipeline.Graph){
		func(g *pipeline.Graph) { File(g, FileOptions{List: pipe}) },
		func(g *pipeline.Graph) { IDX(g, IDXOptions{Images: pipe}) },
	} {
		_, err := pipeline.New(pipeline.Options{BatchSize: 1}, define)
		require.ErrorContains(t, err, pipe+": not a regular file (p---------)")
	}
}

// Folders in folders, deeper than paths may be long, give a short message.
func TestFoldersThatAreTooDeep(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "cat"), 0o777))
	was, err := os.Getwd()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.Chdir(was)) })
	require.NoError(t, os.Chdir(filepath.Join(root, "cat")))
	name := strings.Repeat("x", 200)
	for range 4096/200 + 2 {
		require.NoError(t, os.Mkdir(name, 0o777))
		require.NoError(t, os.Chdir(name))
	}
	_, err = newFileSource(&FileOptions{Root: root})
	require.ErrorIs(t, err, unix.ENAMETOOLONG)
	require.Less(t, len(err.Error()), 500)
	require.ErrorContains(t, err, filepath.Join(root, "cat"))
}
