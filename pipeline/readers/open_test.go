package readers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/dali"
)

func TestAFolderInThePlaceOfAFile(t *testing.T) {
	dir := t.TempDir()
	_, err := readList(nil, dir, 0)
	require.ErrorContains(t, err, "List: "+dir+": a folder is in the place of the file")
	_, err = readIDX(nil, dir, 1<<20)
	require.EqualError(t, err, dir+": a folder is in the place of the file")
}

func TestAListOfAnotherEncoding(t *testing.T) {
	for _, order := range []string{"\xff\xfea\x00 \x000\x00", "\xfe\xff\x00a\x00 \x000"} {
		_, err := parseList(strings.NewReader(order), "list", 0)
		require.EqualError(t, err, "list: line 1: the list is in UTF-16; save it in UTF-8")
	}
}

func TestShown(t *testing.T) {
	require.Equal(t, "/data/a b.jpg", shown("/data/a b.jpg"))
	require.Equal(t, `"a\nb"`, shown("a\nb"))
	deep := shown("/data/" + strings.Repeat("folder/", 3000) + "1.jpg")
	require.Less(t, len(deep), 400)
	require.True(t, strings.HasPrefix(deep, "/data/folder/"))
	require.Contains(t, deep, "/1.jpg (21011 bytes)")
}

// No error text of a reader is more than one line that prints, whatever the files are
// called.
func TestNamesInErrorsPrint(t *testing.T) {
	const evil = "evil\x1b[31m\npipeline: all is well\u202e"
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, evil), 0o777); err != nil {
		t.Skip("such names are not possible here:", err)
	}
	in := func(name string) string { return filepath.Join(root, evil, name) }
	require.NoError(t, os.WriteFile(in("bad.idx"), []byte("no IDX file"), 0o666))
	require.NoError(t, os.WriteFile(in("list"), []byte("no label"), 0o666))
	require.NoError(t, os.WriteFile(in("empty.jpg"), nil, 0o666))
	for name, define := range map[string]func(*pipeline.Graph){
		"a missing root":  func(g *pipeline.Graph) { File(g, FileOptions{Root: in("none")}) },
		"a file as root":  func(g *pipeline.Graph) { File(g, FileOptions{Root: in("list")}) },
		"a folder's name": func(g *pipeline.Graph) { File(g, FileOptions{Root: root, ClassNames: []string{"a"}}) },
		"a missing list":  func(g *pipeline.Graph) { File(g, FileOptions{List: in("none")}) },
		"a bad list":      func(g *pipeline.Graph) { File(g, FileOptions{List: in("list")}) },
		"a file twice":    func(g *pipeline.Graph) { File(g, FileOptions{Files: []string{evil, evil}}) },
		"IDX":             func(g *pipeline.Graph) { IDX(g, IDXOptions{Images: in("bad.idx")}) },
		"a bad sample": func(g *pipeline.Graph) {
			v, _ := File(g, FileOptions{Root: filepath.Join(root, evil)})
			g.Output("encoded", v)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := pipeline.New(pipeline.Options{BatchSize: 1}, define)
			if err == nil {
				d := dali.New(p)
				_, err = d.Run(t.Context())
				defer func() { require.NoError(t, d.Close()) }()
			}
			require.Error(t, err)
			text := err.Error()
			require.Contains(t, text, `evil\x1b[31m\npipeline: all is well\u202e`)
			require.False(t, strings.ContainsAny(text, "\x1b\n\u202e"), "%q", text)
		})
	}
}

func TestAListBeginsWithAByteOrderMark(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "list"), []byte("\uFEFF"+"a.jpg 0\r\nb.jpg 1\r\n"), 0o666))
	s, err := newFileSource(&FileOptions{List: filepath.Join(dir, "list")})
	require.NoError(t, err)
	require.Equal(t, []string{"a.jpg 0", "b.jpg 1"}, listing(s))
}
