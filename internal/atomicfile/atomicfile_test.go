package atomicfile

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// names lists a folder.
func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestAFileIsWholeOrAsItWas(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "report.html")
	broken := errors.New("half is written")
	half := func(w io.Writer) error {
		_, err := w.Write(bytes.Repeat([]byte("half"), 100_000))
		return errors.Join(err, broken)
	}
	require.ErrorIs(t, Write(path, half), broken)
	require.Empty(t, names(t, dir), "a part stays behind")

	require.NoError(t, Write(path, text("first")))
	require.ErrorIs(t, Write(path, half), broken)
	require.Equal(t, []string{"report.html"}, names(t, dir))
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "first", string(got))

	require.NoError(t, Write(path, text("second, longer")))
	require.NoError(t, Write(path, text("third")))
	got, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "third", string(got))
	require.Equal(t, []string{"report.html"}, names(t, dir))
}

func TestErrorsNameTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "a.svg")
	err := Write(path, text(""))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.Contains(t, err.Error(), "open "+path+": ")
}

func TestLinksAndPermissionsStay(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege on Windows")
	}
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o640))
	require.NoError(t, os.Symlink("file", link))
	require.NoError(t, Write(link, text("new")))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	info, err = os.Stat(file)
	require.NoError(t, err)
	require.EqualValues(t, 0o640, info.Mode().Perm())
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "new", string(got))
}

func TestDevicesAreWrittenDirectly(t *testing.T) {
	info, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	require.NoError(t, Write(os.DevNull, text("gone")))
	after, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	require.Equal(t, info.Mode(), after.Mode())
	if runtime.GOOS == "linux" {
		require.ErrorContains(t, Write("/dev/full", text("much")), "write /dev/full: no space left on device")
	}
}
