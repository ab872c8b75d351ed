package index

import (
	"bytes"
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// recorded returns a file of the test data.
func recorded(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := fs.ReadFile(testdata, name)
	require.NoError(tb, err)
	return data
}

// The index file is one that wds2idx wrote.
func TestWDSIsByteEqual(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, WriteWDS(&b, open(t, testdata, Options{}, "plain.tar")))
	require.Equal(t, string(recorded(t, "plain.wds2idx")), b.String())
}

// With the index file and without it an archive has the same index.
func TestWDSIsReadInPlaceOfTheArchive(t *testing.T) {
	v12 := recorded(t, "plain.wds2idx")
	v11 := regexp.MustCompile(` pictures/\S+`).ReplaceAll(bytes.Replace(v12, []byte("v1.2"), []byte("v1.1"), 1), nil)
	scanned := open(t, testdata, Options{}, "plain.tar")
	for _, text := range [][]byte{v12, v11} {
		place := placeOf(map[string][]byte{"d/w.x.tar": recorded(t, "plain.tar"), "d/w.idx": text})
		x := open(t, place, Options{}, "d/w.x.tar")
		require.EqualValues(t, 3, x.Len())
		for i := range x.Len() {
			require.Equal(t, scanned.Label(i), x.Label(i))
			for _, member := range []string{"jpg", "cls", "json"} {
				require.Equal(t, scanned.Part(i, scanned.Field(member)), x.Part(i, x.Field(member)))
			}
			if bytes.HasPrefix(text, []byte("v1.2")) {
				require.Equal(t, scanned.Name(i), x.Name(i))
			}
		}
	}
}

func TestWDSThatIsRefused(t *testing.T) {
	tar, text := recorded(t, "plain.tar"), string(recorded(t, "plain.wds2idx"))
	for want, wrong := range map[string]string{
		"w.idx, the index of w.tar: the file is empty; make it again with wds2idx or `plankton index`, or remove it": "",
		`the version is "v1.3"; v1.1 and v1.2 are known`:                                                             strings.Replace(text, "v1.2", "v1.3", 1),
		"it says that there are 4 samples and has lines for 3":                                                       strings.Replace(text, "v1.2 3", "v1.2 4", 1),
		"line 2: 11 words; want 4 for each member":                                                                   strings.Replace(text, "cls ", "", 1),
		`line 2: the offset is "a"; want a number`:                                                                   strings.Replace(text, "1536", "a", 1),
		"line 2: cls of sample \"pictures/000\": w.tar: byte 999999":                                                 strings.Replace(text, "1536", "999999", 1),
		"w.idx does not fit w.tar, which has no file of 1 bytes at byte 1530":                                        strings.Replace(text, "1536", "1530", 1),
	} {
		require.Contains(t, refused(t, placeOf(map[string][]byte{"w.tar": tar, "w.idx": []byte(wrong)}), "w.tar"), want)
	}
	// wds2idx itself makes an index with wrong places of WebDataset's own archives.
	require.Contains(t, refused(t, placeOf(map[string][]byte{"w.tar": recorded(t, "webdataset.tar"), "w.idx": recorded(t, "webdataset.wds2idx")}), "w.tar"),
		"w.idx does not fit w.tar, which has no file of 1 bytes at byte 2560 (wds2idx is wrong about archives in the PAX format)")
	place := placeOf(map[string][]byte{"w.tar": tar})
	place["w.idx"] = &fstest.MapFile{Data: []byte(text), ModTime: hour(0)}
	require.Contains(t, refused(t, place, "w.tar"), "w.idx is older than w.tar, so it may be of another file; make it again with wds2idx or `plankton index`, remove it, or touch it if it is right")
}

func TestBesideTar(t *testing.T) {
	for archive, want := range map[string]string{"a.tar": "a.idx", "d.e/a.tar": "d.e/a.idx", "a.b.tar": "a.idx", ".a.tar": ".a.idx"} {
		require.Equal(t, want, BesideTar(archive))
	}
}

func FuzzWDS(f *testing.F) {
	tar := recorded(f, "plain.tar")
	f.Add(recorded(f, "plain.wds2idx"))
	f.Add([]byte("v1.1 1\njpg 512 9\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		place := fstest.MapFS{"w.tar": {Data: tar}, "w.idx": {Data: text}}
		if x, err := Open(t.Context(), place, []string{"w.tar"}, Options{}); err == nil {
			sound(t, x)
		}
	})
}
