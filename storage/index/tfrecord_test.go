package index

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The file is one that the package tfrecord of PyPI wrote, with protocol buffers.
func TestTFRecordOfAnotherWriter(t *testing.T) {
	x := open(t, testdata, Options{}, "examples.tfrecord")
	require.EqualValues(t, 3, x.Len())
	for i := range x.Len() {
		n := int(i)
		require.Equal(t, fmt.Sprintf("%06d", n), x.Name(i))
		require.Equal(t, int32(2*n), x.Label(i))
		require.Equal(t, strings.Repeat(fmt.Sprintf("\xff\xd8picture %d", n), n+1), content(t, testdata, x, i, "image/encoded"))
		ids, err := AppendInt64s(nil, []byte(content(t, testdata, x, i, "ids")))
		require.NoError(t, err)
		require.Equal(t, []int64{i, -1, 300}, ids)
		box, err := AppendFloats(nil, []byte(content(t, testdata, x, i, "box")))
		require.NoError(t, err)
		require.Equal(t, []float32{0.5, float32(i)}, box)
	}
	var b bytes.Buffer
	require.NoError(t, WriteTFRecordIndex(&b, x))
	require.Equal(t, string(recorded(t, "examples.tfrecord2idx")), b.String())
	require.Equal(t, NoLabel, int(open(t, testdata, Options{Label: "ids"}, "examples.tfrecord").Label(0)), "a list of three is no label")
}

// records returns a file of pictures with labels.
func records(n int) []byte {
	var file []byte
	for i := range n {
		file = AppendRecord(file, ExamplePieces(
			Feature{Key: "image/encoded", Bytes: []byte(strings.Repeat("x", 3000*i+1))},
			Feature{Key: "image/class/label", Int64s: []int64{int64(i)}},
		)...)
	}
	return file
}

func TestRecordsThatAreWritten(t *testing.T) {
	place := placeOf(map[string][]byte{"a.tfrecord": records(5)})
	x := open(t, place, Options{}, "a.tfrecord")
	require.EqualValues(t, 5, x.Len())
	for i := range x.Len() {
		require.EqualValues(t, i, x.Label(i))
		require.Len(t, content(t, place, x, i, "image/encoded"), int(3000*i+1))
		frame := x.Frame(i)
		require.Equal(t, uint64(frame.Length-RecordHeader-RecordTrailer), binary.LittleEndian.Uint64(place["a.tfrecord"].Data[frame.Offset:]))
	}
}

// The checksum is that of TensorFlow's documents: a CRC-32C, turned by 15 bits, plus a
// constant.
func TestRecordCRC(t *testing.T) {
	crc := crc32.Checksum([]byte("one two"), crc32.MakeTable(crc32.Castagnoli))
	require.Equal(t, (crc>>15|crc<<17)+0xa282ead8, RecordCRC([]byte("one"), []byte(" two")))
}

func TestTFRecordsThatAreRefused(t *testing.T) {
	whole := records(3)
	damaged := bytes.Clone(whole)
	damaged[3] ^= 1
	place := placeOf(map[string][]byte{"cut.tfrecord": whole[:len(whole)-9], "head.tfrecord": append(bytes.Clone(whole), 1, 2, 3), "damaged.tfrecord": damaged})
	require.Contains(t, refused(t, place, "cut.tfrecord"), "the record has 6059 bytes, but the file ends at byte 9211")
	require.Contains(t, refused(t, place, "cut.tfrecord"), "it was cut off; copy or write it again")
	require.Contains(t, refused(t, place, "head.tfrecord"), "the file ends in the middle of a record: it was cut off; copy or write it again")
	require.Contains(t, refused(t, place, "damaged.tfrecord"), "damaged.tfrecord: byte 0: no record begins here: the checksum of its length is wrong")
}

// Records are those that the index of tfrecord2idx lists, in its order; one that does not
// fit is refused.
func TestTFRecordIndexBeside(t *testing.T) {
	files := map[string][]byte{"a.tfrecord": records(4)}
	whole := open(t, placeOf(files), Options{}, "a.tfrecord")
	var b bytes.Buffer
	require.NoError(t, WriteTFRecordIndex(&b, whole))
	files["a.idx"] = b.Bytes()
	require.Equal(t, whole, open(t, placeOf(files), Options{}, "a.tfrecord"))
	lines := strings.SplitAfter(b.String(), "\n")
	files["a.idx"] = []byte(lines[2] + lines[0])
	some := open(t, placeOf(files), Options{}, "a.tfrecord")
	require.EqualValues(t, 2, some.Len())
	require.Equal(t, []int32{2, 0}, []int32{some.Label(0), some.Label(1)})
	require.Equal(t, whole, open(t, placeOf(files), Options{Fresh: true}, "a.tfrecord"))
	const remedy = "make it again with tfrecord2idx or `plankton index`, or remove it"
	for text, want := range map[string]string{
		"0 16\n":              "a.idx, line 1, does not fit a.tfrecord, which has no record of 16 bytes at byte 0; " + remedy,
		lines[0] + "-1 5\n":   "a.idx, line 2, does not fit",
		"7 20\n":              "does not fit",
		"1000000 20\n":        "does not fit",
		"v1.2 4\njpg 0 1 a\n": "a.idx, line 1: \"v1.2 4\\n\"; want the offset and the size of a record; " + remedy,
		"\n":                  "want the offset and the size",
		"":                    "a.tfrecord holds no samples",
	} {
		files["a.idx"] = []byte(text)
		require.Contains(t, refused(t, placeOf(files), "a.tfrecord"), want, text)
	}
	files["a.idx"] = b.Bytes()
	place := placeOf(files)
	place["a.idx"].ModTime = hour(0)
	require.Contains(t, refused(t, place, "a.tfrecord"), "a.idx is older than a.tfrecord, so it may be of another file; make it again with tfrecord2idx")
}

// A message that is no Example fails its sample alone; a feature with several pictures
// is told from one without any.
func TestRecordsThatAreWrong(t *testing.T) {
	list := func(values ...string) (b []byte) {
		for _, v := range values {
			b = append(field(b, 1, len(v)), v...)
		}
		return b
	}
	example := func(key string, bytesList []byte) []byte {
		feature := append(field(nil, 1, len(bytesList)), bytesList...)
		entry := append(append(field(nil, 1, len(key)), key...), append(field(nil, 2, len(feature)), feature...)...)
		entry = append(field(nil, 1, len(entry)), entry...)
		return append(field(nil, 1, len(entry)), entry...)
	}
	file := AppendRecord(nil, example("image", list("a")))
	file = AppendRecord(file, []byte("\x0a\xff\xff\xff\x7f"))
	file = AppendRecord(file, example("image", list("a", "b")))
	file = AppendRecord(file, example("image", nil))
	x := open(t, placeOf(map[string][]byte{"a.tfrecord": file}), Options{}, "a.tfrecord")
	require.EqualValues(t, 4, x.Len())
	require.NoError(t, x.Wrong(0))
	require.ErrorContains(t, x.Wrong(1), "the message is no tf.train.Example")
	require.EqualValues(t, Many, x.Part(2, 0).Length)
	require.EqualValues(t, Absent, x.Part(3, 0).Length)
}

// Lists of numbers come out as they were written, packed or not.
func TestListsOfNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOf(rapid.Int64()).Draw(t, "values")
		var list []byte
		for rest := values; len(rest) > 0; {
			n := rapid.IntRange(0, len(rest)).Draw(t, "packed")
			if n == 0 {
				list = binary.AppendUvarint(append(list, 1<<3|wireVarint), uint64(rest[0]))
				rest = rest[1:]
				continue
			}
			var packed []byte
			for _, v := range rest[:n] {
				packed = binary.AppendUvarint(packed, uint64(v))
			}
			list = append(field(list, 1, len(packed)), packed...)
			rest = rest[n:]
		}
		n, err := CountInt64s(list)
		if err != nil || n != len(values) {
			t.Fatal(n, err)
		}
		got, err := AppendInt64s([]int64{}, list)
		require.NoError(t, err)
		require.Equal(t, append([]int64{}, values...), got)
	})
}

func FuzzTFRecord(f *testing.F) {
	f.Add(recorded(f, "examples.tfrecord"))
	f.Add(records(2))
	fuzzShards(f, "a.tfrecord")
}

// The message of a record is fuzzed with a right checksum around it.
func FuzzExample(f *testing.F) {
	f.Add(bytes.Join(ExamplePieces(Feature{Key: "a", Bytes: []byte("b")}, Feature{Key: "label", Int64s: []int64{1, 2}}), nil))
	f.Fuzz(func(t *testing.T, message []byte) {
		x, err := Open(t.Context(), placeOf(map[string][]byte{"a.tfrecord": AppendRecord(nil, message)}), []string{"a.tfrecord"}, Options{})
		if err != nil {
			return
		}
		sound(t, x)
		_, _ = AppendInt64s(nil, message)
		_, _ = AppendFloats(nil, message)
		if n, err := CountFloats(message); err == nil {
			if got, err := AppendFloats(nil, message); err == nil && len(got) != n {
				t.Fatalf("%d floats, counted %d", len(got), n)
			}
		}
	})
}
