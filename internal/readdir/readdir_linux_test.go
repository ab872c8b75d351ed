package readdir

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// What a folder holds is found as the standard library finds it, also where it takes several calls.
func TestEach(t *testing.T) {
	dir := t.TempDir()
	for i := range 300 {
		name := strings.Repeat("x", 200-i%50) + string(rune('a'+i%26)) + string(rune(0x4e00+i))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o666))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder"), 0o777))
	require.NoError(t, os.Symlink("gone", filepath.Join(dir, "link")))
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "pipe"), 0o666))
	want := map[string]fs.FileMode{".": fs.ModeDir, "..": fs.ModeDir}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		want[e.Name()] = e.Type()
	}
	want["pipe"] = fs.ModeIrregular // neither file, folder nor link
	got := map[string]fs.FileMode{}
	require.NoError(t, Each(dir, func(name []byte, kind fs.FileMode) { got[string(name)] = kind }))
	require.Equal(t, want, got)

	require.ErrorIs(t, Each(filepath.Join(dir, "gone"), nil), fs.ErrNotExist)
	require.ErrorIs(t, Each(filepath.Join(dir, entries[len(entries)-1].Name()), nil), unix.ENOTDIR, "the last one is a file")
}

// Where the file system leaves it open what an entry is, the entry itself tells.
func TestEntriesOfUnknownKind(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "folder", "file"), nil, 0o666))
	require.NoError(t, os.Symlink("folder", filepath.Join(dir, "link")))
	f, err := os.Open(dir)
	require.NoError(t, err)
	defer f.Close()
	want := map[string]fs.FileMode{"folder": fs.ModeDir, "folder/file": 0, "link": fs.ModeSymlink}
	for name, kind := range want {
		got, err := entryKind(int(f.Fd()), unix.DT_UNKNOWN, []byte(name))
		require.NoError(t, err)
		require.Equal(t, kind, got, name)
	}
	_, err = entryKind(int(f.Fd()), unix.DT_UNKNOWN, []byte("gone"))
	require.ErrorIs(t, err, unix.ENOENT)
}
