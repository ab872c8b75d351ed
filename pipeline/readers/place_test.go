package readers

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline/datum"
)

// A folder is the same data set wherever it lies.
func TestFilesOfAnyPlace(t *testing.T) {
	files := map[string]string{"d/cat/1.jpg": "1", "d/dog/2.jpg": "22", "d/dog/deep/3.JPEG": "333", "d/dog/.hidden.jpg": "x", "list": "d/dog/2.jpg 4\nd/cat/1.jpg 1\n"}
	dir := tree(t, files)
	want, err := newFileSource(&FileOptions{Root: filepath.Join(dir, "d")})
	require.NoError(t, err)
	for kind, place := range placesOf(t, files) {
		if place == nil {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			s, err := newFileSource(&FileOptions{FS: place, Root: "d"})
			require.NoError(t, err)
			require.Equal(t, want.Meta(), s.Meta())
			require.EqualValues(t, 3, s.Len())
			withTensors(t, s, func(out []*datum.Tensor) error {
				for i := range s.Len() {
					require.NoError(t, s.Read(t.Context(), i, out))
					require.Equal(t, strings.Repeat(string(rune('1'+i)), int(i+1)), string(out[0].Bytes()))
					label, _ := want.Label(i)
					require.Equal(t, label, out[1].Int32s()[0])
				}
				return nil
			})
			require.Equal(t, "d/dog/deep/3.JPEG", s.Describe(2))
			require.Equal(t, "dog/deep/3", s.SampleName(2))

			s, err = newFileSource(&FileOptions{FS: place, List: "list"})
			require.NoError(t, err)
			require.Equal(t, []string{"d/dog/2.jpg 4", "d/cat/1.jpg 1"}, listing(s))
			withTensors(t, s, func(out []*datum.Tensor) error {
				require.NoError(t, s.Read(t.Context(), 0, out))
				require.Equal(t, "22", string(out[0].Bytes()))
				return nil
			})
		})
	}
}

func TestPlacesThatAreRefused(t *testing.T) {
	place := fstest.MapFS{"a.jpg": {}, "b.jpg": {Data: []byte("x")}, "c.jpg/x": {Data: []byte("x")}}
	for want, o := range map[string]FileOptions{
		"Root ../x is no path of an fs.FS: give one with slashes, not rooted and without": {FS: place, Root: "../x"},
		"Root gone: file does not exist":                      {FS: place, Root: "gone"},
		"Root b.jpg is a file, not a folder; give a folder":   {FS: place, Root: "b.jpg"},
		"List: list: file does not exist":                     {FS: place, List: "list"},
		"Root . holds no file that ends in one of .png, only": {FS: place, Extensions: []string{"png"}},
	} {
		_, err := newFileSource(&o)
		require.ErrorContains(t, err, want)
	}
	s, err := newFileSource(&FileOptions{FS: place, Files: []string{"a.jpg", "c.jpg", "gone.jpg", "b.jpg"}})
	require.NoError(t, err)
	withTensors(t, s, func(out []*datum.Tensor) error {
		require.EqualError(t, s.Read(t.Context(), 0, out), "the file is empty")
		require.EqualError(t, s.Read(t.Context(), 1, out), "a folder is in the place of the file")
		require.ErrorIs(t, s.Read(t.Context(), 2, out), fs.ErrNotExist)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, s.Read(ctx, 3, out), context.Canceled)
		return nil
	})
}

// A root confines what is read to its folder, links included.
func TestARootIsNotLeft(t *testing.T) {
	skipOnWindows(t, "links need a privilege")
	outside := tree(t, map[string]string{"x.jpg": "secret"})
	dir := tree(t, map[string]string{"a.jpg": "a"})
	require.NoError(t, os.Symlink(filepath.Join(outside, "x.jpg"), filepath.Join(dir, "b.jpg")))
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	s, err := newFileSource(&FileOptions{FS: root.FS()})
	require.NoError(t, err)
	withTensors(t, s, func(out []*datum.Tensor) error {
		require.NoError(t, s.Read(t.Context(), 0, out))
		require.Error(t, s.Read(t.Context(), 1, out))
		return nil
	})
}
