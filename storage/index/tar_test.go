package index

import (
	"archive/tar"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The archive is one that WebDataset's own TarWriter wrote.
func TestTarOfWebDataset(t *testing.T) {
	x := open(t, testdata, Options{}, "webdataset.tar")
	require.EqualValues(t, 3, x.Len())
	for i := range x.Len() {
		n := int(i)
		require.Equal(t, fmt.Sprintf("pictures/%06d", n), x.Name(i))
		require.Equal(t, int32(2*n), x.Label(i))
		require.Equal(t, strings.Repeat(fmt.Sprintf("\xff\xd8picture %d", n), n+1), content(t, testdata, x, i, "jpg"))
		require.Equal(t, fmt.Sprintf("text %d", n), content(t, testdata, x, i, "txt"))
		require.Equal(t, fmt.Sprintf(`{"n": %d}`, n), content(t, testdata, x, i, "json"))
		require.Contains(t, content(t, testdata, x, i, "npy"), "NUMPY")
	}
}

// The archives are GNU tar's, in both of its ways to write long names.
func TestTarOfLongNames(t *testing.T) {
	for _, file := range []string{"long-gnu.tar", "long-posix.tar"} {
		x := open(t, testdata, Options{}, file)
		require.EqualValues(t, 2, x.Len())
		require.Equal(t, "long/"+strings.Repeat("name-", 30)+"end", x.Name(1))
		require.Equal(t, "picture 1", content(t, testdata, x, 1, "jpg"))
		require.EqualValues(t, 1, x.Label(1))
	}
}

func TestTarNames(t *testing.T) {
	for name, want := range map[string][2]string{
		"a.jpg": {"a", "jpg"}, "./a.JPG": {"a", "jpg"}, "x.y/a.seg.png": {"x.y/a", "seg.png"},
		".hidden.jpg": {}, "x/._a.jpg": {}, "a": {}, "a.": {}, "__meta__.json": {}, "__index.txt": {"__index", "txt"},
	} {
		sample, member, ok := splitName(name)
		require.Equal(t, want, [2]string{sample, member}, name)
		require.Equal(t, want[0] != "", ok, name)
	}
}

// What is wrong with one sample is that sample's fault; the others are read.
func TestTarSamplesThatAreWrong(t *testing.T) {
	place := placeOf(map[string][]byte{"a.tar": archive(t,
		entry{name: "a.jpg", content: "x"}, entry{name: "a.jpg", content: "y"},
		entry{name: "b.jpg", content: "a.jpg", kind: tar.TypeLink},
		entry{name: "c.jpg", content: "z"}, entry{name: "c.cls", content: "cat"},
		entry{name: "dir/", kind: tar.TypeDir}, entry{name: "d.jpg", content: "z"}, entry{name: "d.cls", content: " 3\n"},
	)})
	x := open(t, place, Options{}, "a.tar")
	require.EqualValues(t, 4, x.Len())
	require.EqualError(t, x.Wrong(0), "a.jpg is in the archive twice, one behind the other; remove one of them")
	require.EqualError(t, x.Wrong(1), "b.jpg is a link to a.jpg: links in archives are not followed; write the archive with tar --dereference --hard-dereference")
	require.NoError(t, x.Wrong(2))
	require.EqualValues(t, NoLabel, x.Label(2), "a text is no label")
	require.EqualValues(t, 3, x.Label(3))
}

func TestTarsThatAreRefused(t *testing.T) {
	whole := archive(t, pairs(0, 2)...)
	trailer := 2 * tarBlock
	body := len(whole) - trailer
	many := []entry{}
	for i := range mostFields + 1 {
		many = append(many, entry{name: fmt.Sprintf("1.%d.jpg", i), content: "x"})
	}
	place := placeOf(map[string][]byte{
		"cut.tar": whole[:body-700], "head.tar": whole[:body-tarBlock-100], "end.tar": whole[:body],
		"joined.tar": append(append([]byte{}, whole...), whole...),
		"gzip.tar":   []byte("\x1f\x8b\x08 and so on"), "empty.tar": {}, "none.tar": archive(t), "dots.tar": archive(t, many...),
		"text.tar": []byte(strings.Repeat("this is no archive\n", 60)), "a.tfrecord": {}, "ok.tar": whole,
	})
	for file, want := range map[string]string{
		"cut.tar":    "cut.tar: byte 3396: the archive ends in the middle of a file: it was cut off",
		"head.tar":   "it was cut off",
		"end.tar":    "end.tar: byte 4096: the end of the archive is missing: it was cut off; copy or write it again",
		"joined.tar": "joined.tar: byte 5120: there is more behind the end of the archive",
		"gzip.tar":   "compressed as a whole, so its samples cannot be read one by one; unpack it",
		"empty.tar":  "empty.tar is empty: it has 0 bytes; remove it, or write it again",
		"none.tar":   "none.tar holds no samples; remove it, or write it again",
		"dots.tar":   "more than 64 kinds of members",
		"text.tar":   "text.tar: byte 0: no header of a tar archive",
		"gone.tar":   "open gone.tar: file does not exist",
		"a.zip":      "a.zip is no shard of a known format; name files that end in .mds, .tar",
		"a.tar.gz":   "a.tar.gz is compressed as a whole",
		"a.tgz":      "a.tgz is compressed as a whole",
	} {
		require.Contains(t, refused(t, place, file), want, file)
		require.NotContains(t, refused(t, place, file), "\n", file)
	}
	require.Contains(t, refused(t, place, "ok.tar", "ok.tar"), "ok.tar is named twice; name each shard once")
	require.Contains(t, refused(t, place, "ok.tar", "a.tfrecord"), "ok.tar and a.tfrecord are shards of two formats")
	for _, file := range []string{"sparse-gnu.tar", "sparse-posix.tar"} {
		require.Contains(t, refused(t, testdata, file), "hole.jpg is a sparse file, whose bytes do not lie in one place; write the archive without --sparse")
	}
}

// A copy of a shard is refused; samples that are merely numbered alike are not.
func TestSamplesThatComeTwice(t *testing.T) {
	other := pairs(0, 3)
	for i := range other {
		other[i].content = strings.ToUpper(other[i].content) // as long as before
	}
	place := placeOf(map[string][]byte{"a.tar": archive(t, pairs(0, 3)...), "b.tar": archive(t, other...), "c.tar": archive(t, pairs(2, 4)...)})
	open(t, place, Options{}, "a.tar", "b.tar")
	require.Equal(t, "the sample c is in a.tar and again, with the same content, in c.tar; remove one of them, or allow repeats", refused(t, place, "a.tar", "b.tar", "c.tar"))
	require.EqualValues(t, 8, open(t, place, Options{Repeats: true}, "a.tar", "b.tar", "c.tar").Len())
}

func TestShardsOfAFolder(t *testing.T) {
	place := placeOf(map[string][]byte{"d/b.tar": nil, "d/a.tar": nil, "d/.c.tar": nil, "d/note.txt": nil, "e/a.tar": nil, "e/b.tfrecord": nil, "f/a.tar.zst": nil})
	names, err := Shards(place, "d")
	require.NoError(t, err)
	require.Equal(t, []string{"d/a.tar", "d/b.tar"}, names)
	_, err = Shards(place, "e")
	require.ErrorContains(t, err, "two formats")
	_, err = Shards(place, "f")
	require.ErrorContains(t, err, "compressed")
}

func FuzzTar(f *testing.F) {
	f.Add(archive(f, pairs(0, 2)...))
	f.Add(archive(f, entry{name: strings.Repeat("long", 40) + ".jpg", content: "x"}))
	fuzzShards(f, "a.tar")
}
