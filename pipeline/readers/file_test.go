package readers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/internal/datatest"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

func file(o FileOptions) func(*pipeline.Graph) []pipeline.Value {
	return func(g *pipeline.Graph) []pipeline.Value {
		encoded, label := File(g, o)
		return []pipeline.Value{encoded, label}
	}
}

// listing returns lines of path, label as a reader has them.
func listing(s *fileSource) (lines []string) {
	for i := range s.files.len() {
		path, label := s.files.at(nil, i)
		lines = append(lines, fmt.Sprintf("%s %d", path, label))
	}
	return lines
}

func TestFileListing(t *testing.T) {
	tests := []struct {
		name    string
		files   map[string]string
		options FileOptions
		want    []string
		classes []string
		n       int
	}{
		{
			name: "a folder per class",
			files: map[string]string{
				"dog/b.jpg": "", "dog/a.PNG": "", "cat/10.jpg": "", "cat/9.JPEG": "", "cat/notes.txt": "", "README": "",
			},
			want:    []string{"cat/10.jpg 0", "cat/9.JPEG 0", "dog/a.PNG 1", "dog/b.jpg 1"},
			classes: []string{"cat", "dog"}, n: 2,
		},
		{
			name:    "deeper files, sorted by their bytes",
			files:   map[string]string{"x/a/1.jpg": "", "x/a-b.jpg": "", "x/a.jpg": "", "x/a/b/0.jpg": ""},
			want:    []string{"x/a-b.jpg 0", "x/a.jpg 0", "x/a/1.jpg 0", "x/a/b/0.jpg 0"},
			classes: []string{"x"}, n: 1,
		},
		{
			name:    "hidden files and folders are left out",
			files:   map[string]string{"x/.a.jpg": "", "x/._b.jpg": "", ".git/c.jpg": "", "x/.thumbs/d.jpg": "", "x/e.jpg": ""},
			want:    []string{"x/e.jpg 0"},
			classes: []string{"x"}, n: 1,
		},
		{
			name:    "an empty class keeps its label",
			files:   map[string]string{"a/1.jpg": "", "b/none.txt": "", "c/1.jpg": ""},
			want:    []string{"a/1.jpg 0", "c/1.jpg 2"},
			classes: []string{"a", "b", "c"}, n: 3,
		},
		{
			name:    "class names decide the labels",
			files:   map[string]string{"a/1.jpg": "", "c/1.jpg": ""},
			options: FileOptions{ClassNames: []string{"c", "b", "a"}},
			want:    []string{"c/1.jpg 0", "a/1.jpg 2"},
			classes: []string{"c", "b", "a"}, n: 3,
		},
		{
			name:  "files only",
			files: map[string]string{"b.jpg": "", "a.jpg": "", "empty/readme.txt": "", ".jpg": ""},
			want:  []string{"a.jpg 0", "b.jpg 0"},
		},
		{
			name:    "other extensions",
			files:   map[string]string{"a.npy": "", "b.tar.GZ": "", "c.jpg": "", "npy": ""},
			options: FileOptions{Extensions: []string{"npy", ".tar.gz"}},
			want:    []string{"a.npy 0", "b.tar.GZ 0"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.options.Root = tree(t, tt.files)
			s, err := newFileSource(&tt.options)
			require.NoError(t, err)
			require.Equal(t, tt.want, listing(s))
			require.Equal(t, tt.classes, s.Meta().Classes)
			require.Equal(t, tt.n, s.Outputs()[1].Classes)
			require.EqualValues(t, len(tt.want), s.Len())
		})
	}
}

func TestFileFollowsLinksToFilesAndClassFolders(t *testing.T) {
	skipOnWindows(t, "links need a privilege")
	elsewhere := tree(t, map[string]string{"in.jpg": "x", "f.jpg": "y"})
	root := tree(t, map[string]string{"a/1.jpg": ""})
	require.NoError(t, os.Symlink(filepath.Join(elsewhere, "f.jpg"), filepath.Join(root, "a", "2.jpg")))
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(root, "b")))
	require.NoError(t, os.Symlink(root, filepath.Join(root, "a", "round")))
	s, err := newFileSource(&FileOptions{Root: root})
	require.NoError(t, err)
	require.Equal(t, []string{"a/1.jpg 0", "a/2.jpg 0", "b/f.jpg 1", "b/in.jpg 1"}, listing(s))
}

func TestFileList(t *testing.T) {
	root := tree(t, map[string]string{
		"cat/1 of 2.jpg": "one", "dog.jpg": "two",
		"list.txt": "./dog.jpg\t 3\r\n\n  cat/1 of 2.jpg 0  \n",
	})
	s, err := newFileSource(&FileOptions{List: filepath.Join(root, "list.txt")})
	require.NoError(t, err)
	require.Equal(t, []string{"dog.jpg 3", "cat/1 of 2.jpg 0"}, listing(s), "the order of the list stays")
	require.Equal(t, 4, s.Outputs()[1].Classes, "the highest label plus one")
	require.Equal(t, filepath.Join(root, "dog.jpg"), s.Describe(0))

	other := tree(t, map[string]string{"l": "dog.jpg 1\n" + filepath.Join(root, "cat", "1 of 2.jpg") + " 0"})
	s, err = newFileSource(&FileOptions{Root: root, List: filepath.Join(other, "l"), ClassNames: []string{"a", "b", "c"}})
	require.NoError(t, err)
	require.Equal(t, 3, s.Outputs()[1].Classes)
	require.Equal(t, []string{"a", "b", "c"}, s.Meta().Classes)
	withTensors(t, s, func(out []*datum.Tensor) error {
		for i, want := range []string{"two", "one"} {
			require.NoError(t, s.Read(context.Background(), int64(i), out))
			require.Equal(t, want, string(out[0].Bytes()))
		}
		return nil
	})
}

// Names are bytes: they need be no UTF-8, and of blanks only those count that separate.
func TestFileNamesOfAllKinds(t *testing.T) {
	list, err := parseList(strings.NewReader("\uFEFFa b.jpg  1\n\u3000c\u00a0 \t 2\r\n\xff\x85.jpg 3\nd\xa0\t4"), "list", 0)
	require.NoError(t, err)
	require.Equal(t, []string{"a b.jpg 1", "\u3000c\u00a0 2", "\xff\x85.jpg 3", "d\xa0 4"}, listing(&fileSource{files: list}))

	if runtime.GOOS != "linux" {
		t.Skip("other systems refuse some of the names")
	}
	names := []string{" .jpg", "\n.jpg", "\u3000 .jpg", "\xff\xfe.jpg"}
	files := map[string]string{}
	for _, name := range names {
		files["class\n1/"+name] = name
	}
	s, err := newFileSource(&FileOptions{Root: tree(t, files)})
	require.NoError(t, err)
	require.Equal(t, []string{"class\n1"}, s.Meta().Classes)
	slices.Sort(names)
	withTensors(t, s, func(out []*datum.Tensor) error {
		for i, name := range names {
			require.NoError(t, s.Read(context.Background(), int64(i), out))
			require.Equal(t, name, string(out[0].Bytes()))
		}
		return nil
	})
}

func TestFileFiles(t *testing.T) {
	root := tree(t, map[string]string{"cat/1.jpg": "one", "dog.txt": "two"})
	elsewhere := filepath.Join(tree(t, map[string]string{"x.jpg": "three"}), "x.jpg")
	files := []string{"./dog.txt", "cat/1.jpg", elsewhere}
	s, err := newFileSource(&FileOptions{Root: root, Files: files})
	require.NoError(t, err)
	require.Equal(t, []string{"dog.txt 0", "cat/1.jpg 1", filepath.ToSlash(elsewhere) + " 2"}, listing(s), "their places")
	require.Equal(t, 3, s.Outputs()[1].Classes)

	t.Chdir(root)
	labelled, err := newFileSource(&FileOptions{Files: files, Labels: []int{4, 0, 4}, ClassNames: []string{"a", "b", "c", "d", "e"}})
	require.NoError(t, err)
	require.Equal(t, []string{"dog.txt 4", "cat/1.jpg 0", filepath.ToSlash(elsewhere) + " 4"}, listing(labelled))
	require.Equal(t, []string{"a", "b", "c", "d", "e"}, labelled.Meta().Classes)
	require.NotEqual(t, s.Meta().Fingerprint, labelled.Meta().Fingerprint)
	t.Chdir(t.TempDir())
	withTensors(t, labelled, func(out []*datum.Tensor) error {
		for i, want := range []string{"two", "one", "three"} {
			require.NoError(t, labelled.Read(context.Background(), int64(i), out))
			require.Equal(t, want, string(out[0].Bytes()))
		}
		return nil
	})
	require.Equal(t, elsewhere, labelled.Describe(2))
}

// Two readers of one folder share its files between training and validation.
func TestFileSplit(t *testing.T) {
	files := map[string]string{}
	for i := range 23 {
		files[fmt.Sprintf("%c/%02d.jpg", 'a'+i%2, i)] = "x"
	}
	root := tree(t, files)
	var names []string
	for _, holdout := range []bool{false, true} {
		p, err := build(1, 1, file(FileOptions{Root: root, Split: pipeline.Split{Folds: 5, Fold: 2, Holdout: holdout, Seed: 1}}))
		require.NoError(t, err)
		r := p.Readers()[0]
		require.Equal(t, []string{"a", "b"}, r.Meta().Classes)
		for i := range r.Len() {
			name, err := filepath.Rel(root, r.Source.Describe(i))
			require.NoError(t, err)
			names = append(names, filepath.ToSlash(name))
		}
	}
	require.Len(t, names, len(files))
	for name := range files {
		require.Contains(t, names, name)
	}
}

// A list that a reader's own listing wrote gives the same data set.
func TestFileListRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zA-Z0-9._ -]*[a-z]`), 1, 20, rapid.ID[string]).Draw(t, "names")
		var text strings.Builder
		var want []string
		for i, name := range names {
			path := fmt.Sprintf("d%d/%s", i%3, name)
			label := rapid.Int32Range(0, 1<<30).Draw(t, "label")
			fmt.Fprintf(&text, "%s %d\n", path, label)
			want = append(want, fmt.Sprintf("%s %d", path, label))
		}
		files, err := parseList(strings.NewReader(text.String()), "list", 0)
		if err != nil {
			t.Fatal(err)
		}
		s := fileSource{files: files}
		require.Equal(t, want, listing(&s))
	})
}

func TestFileFingerprintFollowsTheDataSet(t *testing.T) {
	print := func(files ...string) uint64 {
		m := map[string]string{}
		for _, f := range files {
			m[f] = f
		}
		s, err := newFileSource(&FileOptions{Root: tree(t, m)})
		require.NoError(t, err)
		return s.Meta().Fingerprint
	}
	base := print("a/1.jpg", "b/2.jpg")
	require.Equal(t, base, print("b/2.jpg", "a/1.jpg"), "the same files in another folder")
	for _, other := range [][]string{{"a/1.jpg"}, {"a/1.jpg", "b/2.jpg", "b/3.jpg"}, {"a/1.jpg", "b/3.jpg"}, {"a/1.jpg", "a1/x.txt", "b/2.jpg"}} {
		require.NotEqual(t, base, print(other...), other)
	}
}

func TestFileRefusals(t *testing.T) {
	root := tree(t, map[string]string{
		"empty/x/.keep": "", "file.jpg": "",
		"mixed/a.jpg": "", "mixed/cat/b.jpg": "",
		"text/a/notes.txt": "", "flat/a.jpg": "", "ab/a/1.jpg": "", "ab/b/1.jpg": "",
		"bad1": "a.jpg 0\nb.jpg", "bad2": "a.jpg 0\nb.jpg x\n", "bad3": "a.jpg -1", "bad4": "a.jpg 5", "bad5": "7", "bad6": "a\x00.jpg 1",
		"bad7": "a.jpg 0\n\nb.jpg 1\n./a.jpg 1\nb.jpg 1\n", "bad8": "\n \n", "bad9": strings.Repeat("x", maxLine+1), "bad10": "a.jpg 2147483647",
	})
	in := func(name string) string { return filepath.Join(root, name) }
	tests := []struct {
		name    string
		options FileOptions
		want    []string
		is      error
	}{
		{"nothing given", FileOptions{}, []string{"readers.File: neither Root nor List nor Files is given"}, nil},
		{"missing", FileOptions{Name: "train", Root: in("none")}, []string{"pipeline: train: Root ", in("none"), "give a folder"}, fs.ErrNotExist},
		{"a file as Root", FileOptions{Root: in("file.jpg")}, []string{in("file.jpg") + " is a file, not a folder"}, nil},
		{"empty", FileOptions{Root: in("empty")}, []string{in("empty"), "holds no files", ".jpg"}, nil},
		{"only others", FileOptions{Root: in("text")}, []string{in("text"), "only 1 others such as a/notes.txt", "Extensions"}, nil},
		{"mixed", FileOptions{Root: in("mixed")}, []string{in("mixed"), "both files (a.jpg) and class folders with files (cat)"}, nil},
		{"classes of a flat folder", FileOptions{Root: in("flat"), Classes: 2}, []string{"2 classes are declared", "no class folders"}, nil},
		{"wrong number of classes", FileOptions{Root: in("ab"), Classes: 3}, []string{"Classes is 3", "has 2 class folders"}, nil},
		{"class without a name", FileOptions{Root: in("ab"), ClassNames: []string{"a"}}, []string{"folder b", "none of the 1 ClassNames"}, nil},
		{"a name twice", FileOptions{Root: in("ab"), ClassNames: []string{"a", "b", "a"}}, []string{"ClassNames[0] and [2] are both \"a\""}, nil},
		{"names and number disagree", FileOptions{Root: in("ab"), Classes: 3, ClassNames: []string{"a", "b"}}, []string{"3 classes, but 2 class names"}, nil},
		{"negative classes", FileOptions{Root: in("ab"), Classes: -1}, []string{"number of classes is -1"}, nil},
		{"empty extension", FileOptions{Root: in("ab"), Extensions: []string{"."}}, []string{`Extensions[0] is "."`}, nil},
		{"extensions of a list", FileOptions{List: in("bad1"), Extensions: []string{"jpg"}}, []string{"Extensions are for folders"}, nil},
		{"shard", FileOptions{Root: in("ab"), NumShards: 2, ShardID: 2}, []string{"ShardID is 2"}, nil},
		{"missing list", FileOptions{List: in("none")}, []string{"List: ", in("none")}, fs.ErrNotExist},
		{"a folder as List", FileOptions{List: in("ab")}, []string{"List: ", in("ab")}, nil},
		{"no label", FileOptions{List: in("bad1")}, []string{in("bad1") + ": line 2: \"b.jpg\": want a path"}, nil},
		{"label is no number", FileOptions{List: in("bad2")}, []string{"line 2", "b.jpg x"}, nil},
		{"negative label", FileOptions{List: in("bad3")}, []string{"line 1", "label -1 is out of range"}, nil},
		{"label beyond classes", FileOptions{List: in("bad4"), Classes: 5}, []string{"line 1", "label 5 is out of range: with 5 classes labels are 0 … 4"}, nil},
		{"label too large", FileOptions{List: in("bad10")}, []string{"line 1", "label 2147483647 is out of range"}, nil},
		{"label alone", FileOptions{List: in("bad5")}, []string{"line 1", `"7": want a path`}, nil},
		{"zero byte", FileOptions{List: in("bad6")}, []string{"line 1", "zero bytes"}, nil},
		{"twice", FileOptions{List: in("bad7")}, []string{"line 4: a.jpg is already on line 1"}, nil},
		{"empty list", FileOptions{List: in("bad8")}, []string{in("bad8") + " names no files"}, nil},
		{"files and a list", FileOptions{Files: []string{"a"}, List: in("bad8")}, []string{"both Files and List are given"}, nil},
		{"extensions of files", FileOptions{Files: []string{"a"}, Extensions: []string{"jpg"}}, []string{"Extensions are for folders; Files are"}, nil},
		{"labels alone", FileOptions{Root: in("ab"), Labels: []int{0, 1}}, []string{"Labels are given, but no Files"}, nil},
		{"too few labels", FileOptions{Files: []string{"a", "b"}, Labels: []int{1}}, []string{"1 Labels for 2 Files"}, nil},
		{"no labels at all", FileOptions{Files: []string{"a", "b"}, Labels: []int{}}, []string{"0 Labels for 2 Files"}, nil},
		{"label of a file", FileOptions{Files: []string{"a", "b"}, Labels: []int{1, -2}}, []string{"Labels[1], of b: label -2 is out of range"}, nil},
		{"label beyond names", FileOptions{Files: []string{"a", "b"}, ClassNames: []string{"x"}}, []string{"Labels[1], of b: label 1 is out of range: with 1 classes"}, nil},
		{"empty path", FileOptions{Files: []string{"a", ""}}, []string{`Files[1] is ""; want a path`}, nil},
		{"zero byte in a path", FileOptions{Files: []string{"a\x00"}}, []string{"zero bytes"}, nil},
		{"a file twice", FileOptions{Files: []string{"a", "b", "./b"}}, []string{"Files[2]: b is already Files[1]"}, nil},
		{"split", FileOptions{Root: in("ab"), Split: pipeline.Split{Folds: 3}}, []string{"Split.Folds is 3, but there are only 2 samples"}, nil},
		{"long line", FileOptions{List: in("bad9")}, []string{"line 1: longer than"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := buildError(t, file(tt.options))
			for _, w := range tt.want {
				require.ErrorContains(t, err, w)
			}
			if tt.is != nil {
				require.ErrorIs(t, err, tt.is)
			}
			require.NotContains(t, err.Error(), "\n")
		})
	}
	var format *FormatError
	require.ErrorAs(t, buildError(t, file(FileOptions{List: in("bad2")})), &format)
	require.Equal(t, 2, format.Line)
}

// Where there was a mistake before, it is the one that is reported.
func TestReadersLeaveAnEarlierMistakeAlone(t *testing.T) {
	first := errors.New("first")
	for name, read := range map[string]func(g *pipeline.Graph) []pipeline.Value{
		"File": file(FileOptions{}),
		"IDX": func(g *pipeline.Graph) []pipeline.Value {
			image, label := IDX(g, IDXOptions{})
			return []pipeline.Value{image, label}
		},
		"Slices":   func(g *pipeline.Graph) []pipeline.Value { return Slices(g, SlicesOptions{}) },
		"External": func(g *pipeline.Graph) []pipeline.Value { return External(g, ExternalOptions{}) },
	} {
		err := buildError(t, func(g *pipeline.Graph) []pipeline.Value {
			g.Fail("x", first)
			return read(g)
		})
		require.ErrorIs(t, err, first, name)
		require.EqualError(t, err, "pipeline: x: first", name)
	}
}

// A class folder that is gone by the time it is listed is an error that names it.
func TestFileListingOfAFolderThatIsGone(t *testing.T) {
	f := newScan(nil, t.TempDir()+"/", DefaultExtensions()).folder()
	err := f.list("cat/", true)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "cat")
}

func TestFileBatches(t *testing.T) {
	files := map[string]string{}
	for i := range 100 {
		files[fmt.Sprintf("%c/%02d.jpg", 'a'+i%3, i)] = strings.Repeat(string(rune('A'+i%26)), 1+i*37)
	}
	p, err := build(8, 4, file(FileOptions{Name: "train", Root: tree(t, files)}))
	require.NoError(t, err)
	rows := 0
	require.NoError(t, epoch(t, p, func(b *pipeline.Batch) {
		labels := b.Int32s("1")
		for row, id := range b.IDs() {
			path := p.Readers()[0].Source.Describe(id)
			name := filepath.Base(filepath.Dir(path)) + "/" + filepath.Base(path)
			require.Equal(t, files[name], string(b.Sample("0", row).Bytes()))
			require.EqualValues(t, name[0]-'a', labels[row])
			rows++
		}
	}))
	require.Equal(t, 104, rows)
}

// Bad files are errors of their sample that name the file once.
func TestFileBadSamples(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(path string) error
		want  string
		is    error
	}{
		{"removed", os.Remove, "train: open: ", fs.ErrNotExist},
		{"emptied", func(p string) error { return os.Truncate(p, 0) }, "train: the file is empty", nil},
		{"a folder", func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o777)) }, "train: a folder is in the place of the file", nil},
		{"too large", func(p string) error { return os.Truncate(p, 1<<31) }, "train: the file has 2147483648 bytes", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := tree(t, map[string]string{"a.jpg": "good", "b.jpg": "bad"})
			p, err := build(2, 1, file(FileOptions{Name: "train", Root: root}))
			require.NoError(t, err)
			path := filepath.Join(root, "b.jpg")
			require.NoError(t, tt.spoil(path))
			err = epoch(t, p, func(*pipeline.Batch) { t.Error("a batch came out") })
			var se *pipeline.SampleError
			require.ErrorAs(t, err, &se)
			require.Equal(t, path, se.Source)
			require.EqualValues(t, 1, se.Index)
			require.ErrorContains(t, err, path+": "+tt.want)
			require.Equal(t, 1, strings.Count(err.Error(), path), err.Error())
			if tt.is != nil {
				require.ErrorIs(t, err, tt.is)
			}
		})
	}
}

func TestFileThatChangesWhileItIsRead(t *testing.T) {
	s, err := newFileSource(&FileOptions{Root: tree(t, map[string]string{"a.jpg": "12345"})})
	require.NoError(t, err)
	f, err := openHandle([]byte(s.Describe(0)))
	require.NoError(t, err)
	defer f.close()
	withTensors(t, s, func(out []*datum.Tensor) error {
		for size, want := range map[int]string{
			1: "the file has more than its 1 bytes", 4: "the file has more than its 4 bytes",
			6: "the file ends after 5 of its 6 bytes", 9: "the file ends after 5 of its 9 bytes",
		} {
			require.ErrorContains(t, readSized(context.Background(), f, size, out[0]), want+": it was changed while it was read")
		}
		require.NoError(t, readSized(context.Background(), f, 5, out[0]))
		require.Equal(t, "12345", string(out[0].Bytes()))
		require.Equal(t, []int{5}, out[0].Shape())
		return nil
	})
}

// Files are read piece by piece; lengths about the size of a piece are told
// right.
func TestFileLargerThanOneRead(t *testing.T) {
	for _, size := range []int{readBytes - 1, readBytes, readBytes + 1, 2*readBytes + 3} {
		content := strings.Repeat("0123456789abcde", size/15+1)[:size]
		s, err := newFileSource(&FileOptions{Root: tree(t, map[string]string{"a.jpg": content})})
		require.NoError(t, err)
		withTensors(t, s, func(out []*datum.Tensor) error {
			require.NoError(t, s.Read(context.Background(), 0, out))
			require.True(t, content == string(out[0].Bytes()), size)
			return nil
		})
	}
}

func TestFileReadEndsWithItsContext(t *testing.T) {
	s, err := newFileSource(&FileOptions{Root: tree(t, map[string]string{"a.jpg": "x"})})
	require.NoError(t, err)
	why := errors.New("no longer wanted")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	withTensors(t, s, func(out []*datum.Tensor) error {
		require.ErrorIs(t, s.Read(ctx, 0, out), why)
		return nil
	})
}

func TestFileOutlivesTheWorkingDirectory(t *testing.T) {
	root := tree(t, map[string]string{"d/a/1.jpg": "x"})
	t.Chdir(root)
	s, err := newFileSource(&FileOptions{Root: "d"})
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	withTensors(t, s, func(out []*datum.Tensor) error {
		return s.Read(context.Background(), 0, out)
	})
}

func TestFileImageNetSample(t *testing.T) {
	root := datatest.Data(t, "imagenet-sample")
	p, err := build(64, 2, file(FileOptions{Root: root}))
	require.NoError(t, err)
	require.EqualValues(t, 300, p.Readers()[0].Len())
	require.NoError(t, epoch(t, p, func(b *pipeline.Batch) {
		for row, id := range b.IDs() {
			want, err := os.ReadFile(p.Readers()[0].Source.Describe(id))
			require.NoError(t, err)
			require.Equal(t, want, b.Sample("0", row).Bytes())
		}
	}))
}

func FuzzList(f *testing.F) {
	f.Add("a.jpg 1\nb c.jpg 2\n")
	f.Add("a 1\n\n./a 1")
	f.Add("a\x00b 1")
	f.Fuzz(func(t *testing.T, text string) {
		files, err := parseList(strings.NewReader(text), "list", 10)
		if err != nil {
			return
		}
		if files.len() == 0 {
			t.Fatal("no files")
		}
		for i := range files.len() {
			if path, l := files.at(nil, i); len(path) == 0 || l < 0 || l >= 10 {
				t.Fatalf("sample %d: %q, label %d", i, path, l)
			}
		}
	})
}

func BenchmarkFileRead(b *testing.B) {
	s, err := newFileSource(&FileOptions{Root: tree(b, map[string]string{"a.jpg": strings.Repeat("x", 110_000)})})
	require.NoError(b, err)
	withTensors(b, s, func(out []*datum.Tensor) error {
		b.ReportAllocs()
		b.SetBytes(110_000)
		for b.Loop() {
			if err := s.Read(context.Background(), 0, out); err != nil {
				return err
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "files/s")
		return nil
	})
}

func BenchmarkFileListing(b *testing.B) {
	root := b.TempDir()
	const classes, each = 20, 1000
	for c := range classes {
		dir := filepath.Join(root, fmt.Sprint("class", c))
		require.NoError(b, os.Mkdir(dir, 0o777))
		for i := range each {
			require.NoError(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("sample_%08d.JPEG", i)), nil, 0o666))
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := newFileSource(&FileOptions{Root: root}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*classes*each/b.Elapsed().Seconds(), "files/s")
}
