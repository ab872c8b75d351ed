package index

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// anyIndex draws an index.
func anyIndex(t *rapid.T) *Index {
	var b Builder
	framed := rapid.Bool().Draw(t, "framed")
	if framed {
		b.Framed()
	}
	part := rapid.Custom(func(t *rapid.T) Part {
		length := rapid.Int64Range(Many, 1<<20).Draw(t, "length")
		return Part{rapid.Int64Range(0, 1<<40-1<<20).Draw(t, "offset"), length}
	})
	text := rapid.StringN(0, 8, -1)
	for o := range rapid.IntRange(0, 3).Draw(t, "objects") {
		object := Object{Name: text.Draw(t, "object"), Size: 1 << 40}
		if rapid.Bool().Draw(t, "dated") {
			object.Modified = time.Unix(0, rapid.Int64().Draw(t, "time"))
		}
		b.Object(object)
		for range rapid.IntRange(0, 4).Draw(t, "samples") {
			_, err := b.Field(rapid.SampledFrom([]string{"jpg", "cls", "x"}).Draw(t, "field"), Bytes)
			require.NoError(t, err)
			s := Sample{Object: o, Name: text.Draw(t, "name"), Label: rapid.Int32Min(NoLabel).Draw(t, "label"), Wrong: text.Draw(t, "wrong")}
			s.Parts = rapid.SliceOfN(part, 0, len(b.x.fields)).Draw(t, "parts")
			if framed {
				s.Frame = part.Draw(t, "frame")
			}
			require.NoError(t, b.Add(s))
		}
	}
	return b.Index()
}

func TestIndexFilesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := anyIndex(t)
		x.asked = rapid.String().Draw(t, "asked")
		var b bytes.Buffer
		require.NoError(t, x.Write(&b))
		y, err := Parse(b.Bytes())
		require.NoError(t, err)
		require.True(t, x.Equal(y))
		require.Equal(t, len(x.wrong), len(y.wrong))
		for i, text := range x.wrong {
			require.Equal(t, text, y.wrong[i])
		}
		require.Equal(t, x.Fingerprint(), y.Fingerprint())

		flip := rapid.IntRange(0, b.Len()-1).Draw(t, "flipped")
		b.Bytes()[flip] ^= 1
		_, err = Parse(b.Bytes())
		require.ErrorIs(t, err, errIndexFile)
	})
}

// An index of the parts of another one, put together again, is that one.
func TestPartsOfAnIndexMakeIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := anyIndex(t)
		var b Builder
		if x.framed {
			b.Framed()
		}
		for o := range x.objects {
			require.NoError(t, b.appendObject(x, o))
		}
		y := b.Index()
		if len(x.objects) == 0 {
			return
		}
		require.True(t, x.Equal(y))
	})
}

func FuzzIndexFile(f *testing.F) {
	var b bytes.Buffer
	require.NoError(f, open(f, testdata, Options{}, "plain.tar").Write(&b))
	f.Add(b.Bytes()[len(fileMagic) : b.Len()-crc32.Size])
	f.Fuzz(func(t *testing.T, body []byte) {
		file := append([]byte(fileMagic), body...)
		crc := crc32.Checksum(file, castagnoli)
		if x, err := Parse(append(file, byte(crc), byte(crc>>8), byte(crc>>16), byte(crc>>24))); err == nil {
			sound(t, x)
		}
	})
}

// indexed is a place of two shards and their index file.
func indexed(t *testing.T) fstest.MapFS {
	place := placeOf(map[string][]byte{"d/a.tar": archive(t, pairs(0, 3)...), "d/b.tar": archive(t, pairs(3, 5)...)})
	sub, err := fs.Sub(place, "d")
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, open(t, sub, Options{}, "a.tar", "b.tar").Write(&b))
	place["d/"+FileName] = &fstest.MapFile{Data: b.Bytes(), ModTime: hour(2)}
	return place
}

// noReads is a place whose shards cannot be read.
type noReads struct{ fstest.MapFS }

func (p noReads) Open(name string) (fs.File, error) {
	if filepath.Ext(name) == ".tar" {
		return nil, errors.New("read a shard")
	}
	return p.MapFS.Open(name)
}

func TestTheIndexFileIsTakenInPlaceOfShards(t *testing.T) {
	place := indexed(t)
	all := open(t, place, Options{}, "d/a.tar", "d/b.tar")
	require.EqualValues(t, 5, all.Len())
	require.True(t, all.Equal(open(t, noReads{place}, Options{}, "d/a.tar", "d/b.tar")))
	turned := open(t, noReads{place}, Options{}, "d/b.tar", "d/a.tar")
	require.Equal(t, "d", turned.Name(0))
	require.EqualValues(t, 2, open(t, noReads{place}, Options{}, "d/b.tar").Len())

	place["d/b.tar"].ModTime = hour(2).Add(-time.Second)
	open(t, noReads{place}, Options{}, "d/a.tar", "d/b.tar") // copied since, and before the index
	_, err := Open(t.Context(), noReads{place}, []string{"d/a.tar"}, Options{Label: "txt"})
	require.ErrorContains(t, err, "read a shard", "labels of another member are not in the file")
}

func TestAnIndexFileThatIsRefused(t *testing.T) {
	place := indexed(t)
	place["d/b.tar"].ModTime = hour(3)
	require.Equal(t, "d/plankton.index is older than d/b.tar; make it again with `plankton index`, or remove it, or touch it if it is right", refused(t, place, "d/a.tar", "d/b.tar"))
	place["d/b.tar"].Data = append(place["d/b.tar"].Data, 0)
	require.Equal(t, "d/plankton.index is of another d/b.tar: that has 5121 bytes, and had 5120; make it again with `plankton index`, or remove it", refused(t, place, "d/b.tar"))
	place["d/c.tar"] = place["d/a.tar"]
	require.Equal(t, "d/plankton.index does not have d/c.tar; make it again with `plankton index`, or remove it", refused(t, place, "d/c.tar"))
	place["d/"+FileName].Data = []byte("plankton index 0\n")
	require.Contains(t, refused(t, place, "d/a.tar"), "d/plankton.index: no index file of this version, or a damaged one")
}

// far is a place that is asked for ranges and counts them.
type far struct {
	fstest.MapFS
	asked *atomic.Int64
}

func (p far) ReadRange(_ context.Context, name string, off int64, dst []byte) (int, error) {
	p.asked.Add(1)
	n := copy(dst, p.MapFS[name].Data[off:])
	if n < len(dst) {
		return n, io.ErrUnexpectedEOF
	}
	return n, nil
}

// A shard far away is fetched once, whole, and never again while it stays as it is.
func TestShardsFarAwayAreFetchedOnce(t *testing.T) {
	var asked atomic.Int64
	place := far{placeOf(map[string][]byte{"a.tar": archive(t, pairs(0, 9)...), "b.tar": archive(t, pairs(9, 12)...)}), &asked}
	o := Options{Cache: filepath.Join(t.TempDir(), "cache")}
	x := open(t, place, o, "a.tar", "b.tar")
	require.EqualValues(t, 2, asked.Load())
	require.True(t, x.Equal(open(t, place, o, "a.tar", "b.tar")))
	require.EqualValues(t, 2, asked.Load())
	place.MapFS["b.tar"].ModTime = hour(2)
	open(t, place, o, "a.tar", "b.tar")
	require.EqualValues(t, 4, asked.Load(), "a shard has changed")

	entries, err := os.ReadDir(o.Cache)
	require.NoError(t, err)
	for _, e := range entries {
		require.NoError(t, os.WriteFile(filepath.Join(o.Cache, e.Name()), []byte("damaged"), 0o666))
	}
	open(t, place, o, "a.tar", "b.tar")
	require.EqualValues(t, 6, asked.Load(), "what cannot be read is made again")
}

func TestOpenEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Open(ctx, testdata, []string{"plain.tar"}, Options{})
	require.ErrorIs(t, err, context.Canceled)
}

func TestProgressCountsShards(t *testing.T) {
	var seen []int
	place := placeOf(map[string][]byte{"a.tar": archive(t, pairs(0, 2)...), "b.tar": archive(t, pairs(2, 4)...)})
	open(t, place, Options{Progress: func(done, shards int) { seen = append(seen, done, shards) }}, "a.tar", "b.tar")
	require.Equal(t, []int{1, 2, 2, 2}, seen)
}

// A later shard may have members that the first ones lack.
func TestMembersThatComeLater(t *testing.T) {
	place := placeOf(map[string][]byte{
		"a.tar": archive(t, entry{name: "a.jpg", content: "1"}),
		"b.tar": archive(t, entry{name: "b.txt", content: "22"}, entry{name: "b.jpg", content: "333"}),
	})
	x := open(t, place, Options{}, "a.tar", "b.tar")
	require.Equal(t, []string{"1", ""}, []string{content(t, place, x, 0, "jpg"), content(t, place, x, 0, "txt")})
	require.Equal(t, []string{"333", "22"}, []string{content(t, place, x, 1, "jpg"), content(t, place, x, 1, "txt")})
	require.False(t, x.Labelled())
}

// The fingerprint is of the samples, not of the shards that they lie in.
func TestTheFingerprintIsOfTheSamples(t *testing.T) {
	place := placeOf(map[string][]byte{
		"a.tar": archive(t, pairs(0, 3)...), "b.tar": archive(t, pairs(3, 5)...), "all.tar": archive(t, pairs(0, 5)...), "less.tar": archive(t, pairs(0, 4)...),
	})
	all := open(t, place, Options{}, "all.tar").Fingerprint()
	require.Equal(t, all, open(t, place, Options{}, "a.tar", "b.tar").Fingerprint())
	require.NotEqual(t, all, open(t, place, Options{}, "b.tar", "a.tar").Fingerprint())
	require.NotEqual(t, all, open(t, place, Options{}, "less.tar").Fingerprint())
}
