package readers

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/internal/datatest"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// idxFile encodes an array in the IDX format.
func idxFile(code byte, dims []uint32, elements any) []byte {
	var b bytes.Buffer
	b.Write([]byte{0, 0, code, byte(len(dims))})
	for _, v := range []any{dims, elements} {
		if err := binary.Write(&b, binary.BigEndian, v); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

func gzipped(b []byte) []byte {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := w.Write(b); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return z.Bytes()
}

func counting(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

func TestIDXTypesAndShapes(t *testing.T) {
	tests := []struct {
		name   string
		file   []byte
		layout datum.Layout
		want   datum.Spec
		second any // the elements of sample 1
	}{
		{"pictures", idxFile(8, []uint32{3, 2, 4}, counting(24)), "", datum.Spec{DType: datum.Uint8, Layout: "HWC", Shape: []int{2, 4, 1}}, counting(16)[8:]},
		{"gzipped", gzipped(idxFile(8, []uint32{3, 2, 4}, counting(24))), "", datum.Spec{DType: datum.Uint8, Layout: "HWC", Shape: []int{2, 4, 1}}, counting(16)[8:]},
		{"numbers", idxFile(9, []uint32{2}, []int8{-1, -2}), "", datum.Spec{DType: datum.Int8, Shape: []int{}}, []int8{-2}},
		{"vectors", idxFile(11, []uint32{2, 2}, []int16{1, 2, -3, 400}), "", datum.Spec{DType: datum.Int16, Shape: []int{2}}, []int16{-3, 400}},
		{"int32", idxFile(12, []uint32{2, 1}, []int32{1, -70000}), "", datum.Spec{DType: datum.Int32, Shape: []int{1}}, []int32{-70000}},
		{"float32", idxFile(13, []uint32{2, 2}, []float32{1, 2, 3.5, -4}), "", datum.Spec{DType: datum.Float32, Shape: []int{2}}, []float32{3.5, -4}},
		{"float64", idxFile(14, []uint32{2, 1}, []float64{1, 2.5}), "", datum.Spec{DType: datum.Float64, Shape: []int{1}}, []float64{2.5}},
		{"colour", idxFile(8, []uint32{2, 1, 2, 3}, counting(12)), "HWC", datum.Spec{DType: datum.Uint8, Layout: "HWC", Shape: []int{1, 2, 3}}, counting(12)[6:]},
		{"volumes", idxFile(8, []uint32{2, 1, 1, 2, 3}, counting(12)), "", datum.Spec{DType: datum.Uint8, Shape: []int{1, 1, 2, 3}}, counting(12)[6:]},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(tree(t, map[string]string{"x": string(tt.file)}), "x")
			s, err := newIDXSource(&IDXOptions{Images: path, Layout: tt.layout})
			require.NoError(t, err)
			require.Equal(t, []datum.Spec{tt.want}, s.Outputs())
			require.Equal(t, path+"[1]", s.Describe(1))
			want, err := binary.Append(nil, binary.NativeEndian, tt.second)
			require.NoError(t, err)
			withTensors(t, s, func(out []*datum.Tensor) error {
				require.NoError(t, s.Read(context.Background(), 1, out))
				require.Equal(t, want, out[0].Bytes())
				return nil
			})
		})
	}
}

func TestIDXLabels(t *testing.T) {
	images := string(idxFile(8, []uint32{3, 1, 1}, []byte{10, 11, 12}))
	for name, labels := range map[string][]byte{
		"uint8": idxFile(8, []uint32{3}, []byte{4, 0, 7}), "int8": idxFile(9, []uint32{3}, []int8{4, 0, 7}),
		"int16": idxFile(11, []uint32{3}, []int16{4, 0, 7}), "int32": idxFile(12, []uint32{3}, []int32{4, 0, 7}),
	} {
		t.Run(name, func(t *testing.T) {
			root := tree(t, map[string]string{"i": images, "l": string(labels)})
			p, err := build(3, 1, func(g *pipeline.Graph) []pipeline.Value {
				image, label := IDX(g, IDXOptions{Images: filepath.Join(root, "i"), Labels: filepath.Join(root, "l")})
				require.Equal(t, datum.Spec{DType: datum.Int32, Classes: 8}, label.Spec())
				return []pipeline.Value{image, label}
			})
			require.NoError(t, err)
			require.NoError(t, epoch(t, p, func(b *pipeline.Batch) {
				require.Equal(t, []uint8{10, 11, 12}, b.Uint8s("0"))
				require.Equal(t, []int32{4, 0, 7}, b.Int32s("1"))
			}))
		})
	}
}

func TestIDXFingerprintFollowsTheContent(t *testing.T) {
	print := func(images, labels []byte) uint64 {
		root := tree(t, map[string]string{"i": string(images), "l": string(labels)})
		s, err := newIDXSource(&IDXOptions{Images: filepath.Join(root, "i"), Labels: filepath.Join(root, "l")})
		require.NoError(t, err)
		return s.Meta().Fingerprint
	}
	images, labels := idxFile(8, []uint32{2, 2}, counting(4)), idxFile(8, []uint32{2}, counting(2))
	base := print(images, labels)
	require.Equal(t, base, print(gzipped(images), labels), "compression is not content")
	require.NotEqual(t, base, print(idxFile(8, []uint32{2, 2}, []byte{0, 1, 2, 4}), labels))
	require.NotEqual(t, base, print(images, idxFile(8, []uint32{2}, []byte{1, 1})))
	require.NotEqual(t, base, print(idxFile(9, []uint32{2, 2}, counting(4)), labels))
}

func TestIDXRefusals(t *testing.T) {
	images := idxFile(8, []uint32{3, 2, 2}, counting(12))
	labels := idxFile(8, []uint32{3}, counting(3))
	broken := gzipped(images)
	broken[len(broken)-5]++ // the checksum
	root := tree(t, map[string]string{
		"i": string(images), "l": string(labels),
		"empty": "", "magic": "\x89PNG\r\n", "type": string(idxFile(10, []uint32{1}, counting(1))),
		"ndim0": "\x00\x00\x08\x00", "ndim8": "\x00\x00\x08\x08",
		"header": string(images[:10]), "data": string(images[:20]), "more": string(images) + "x",
		"none": string(idxFile(8, []uint32{0, 2}, counting(0))), "zero": string(idxFile(8, []uint32{2, 0}, counting(0))),
		"huge":    string(idxFile(14, []uint32{1 << 31, 1 << 31, 1 << 31, 1 << 31}, counting(0))),
		"large":   string(idxFile(8, []uint32{1 << 31}, counting(9))),
		"gz.data": string(gzipped(images[:20])), "gz.cut": string(broken[:len(broken)-12]), "gz.sum": string(broken), "gz.head": "\x1f\x8b\x00",
		"l2": string(idxFile(8, []uint32{2}, counting(2))), "lneg": string(idxFile(11, []uint32{3}, []int16{0, -1, 2})),
		"lf": string(idxFile(13, []uint32{3}, []float32{1, 2, 3})),
	})
	in := func(name string) string {
		if name == "" {
			return ""
		}
		return filepath.Join(root, name)
	}
	tests := []struct {
		images, labels string
		options        IDXOptions
		want           string // after the name of the file, if offset ≥ 0
		offset         int64  // of the FormatError; -1: it is none
	}{
		{"empty", "", IDXOptions{}, "byte 0: the header is cut off: unexpected EOF", 0},
		{"magic", "", IDXOptions{}, "byte 0: not an IDX file: it begins with 89 50 4e 47", 0},
		{"type", "", IDXOptions{}, "byte 0: not an IDX file: it begins with 00 00 0a 01", 0},
		{"ndim0", "", IDXOptions{}, "byte 3: 0 dimensions; want 1 to 7", 3},
		{"ndim8", "", IDXOptions{}, "byte 3: 8 dimensions; want 1 to 7", 3},
		{"header", "", IDXOptions{}, "byte 10: the header is cut off: unexpected EOF", 10},
		{"data", "", IDXOptions{}, "byte 20: the data are cut off: 4 of 12 bytes: unexpected EOF", 20},
		{"more", "", IDXOptions{}, "byte 28: there are more data than the 12 bytes", 28},
		{"none", "", IDXOptions{}, "byte 4: there are no samples", 4},
		{"zero", "", IDXOptions{}, "byte 8: dimension 1 is 0", 8},
		{"huge", "", IDXOptions{}, "byte 4: the dimensions announce more than the 4294967296 bytes", 4},
		{"i", "", IDXOptions{MaxBytes: 11}, "byte 12: the dimensions announce more than the 11 bytes", 12},
		{"large", "", IDXOptions{}, "byte 17: the data are cut off: 9 of 2147483648 bytes", 17},
		{"gz.data", "", IDXOptions{}, "byte 20: the data are cut off", 20},
		{"gz.cut", "", IDXOptions{}, "byte 28: after the data: unexpected EOF", 28},
		{"gz.sum", "", IDXOptions{}, "byte 28: after the data: gzip: invalid checksum", 28},
		{"gz.head", "", IDXOptions{}, "byte 0: gzip: ", 0},
		{"i", "lneg", IDXOptions{}, "byte 10: sample 1: label -1 is out of range", 10},
		{"i", "l", IDXOptions{Classes: 2}, "byte 10: sample 2: label 2 is out of range: with 2 classes labels are 0 … 1", 10},
		{"i", "l2", IDXOptions{}, in("i") + " holds 3 samples, but " + in("l2") + " holds 2 labels", -1},
		{"i", "i", IDXOptions{}, in("i") + " holds uint8 data with 3 dimensions; labels are", -1},
		{"i", "lf", IDXOptions{}, in("lf") + " holds float32 data with 1 dimensions; labels are", -1},
		{"i", "", IDXOptions{Classes: 2}, "no file of Labels", -1},
		{"i", "", IDXOptions{Layout: "HWC"}, `Layout "HWC" is given for samples with 2 dimensions`, -1},
		{"i", "", IDXOptions{MaxBytes: -1}, "MaxBytes is -1", -1},
		{"", "l", IDXOptions{}, "Images is not given", -1},
		{"i", "", IDXOptions{Classes: -2}, "number of classes is -2", -1},
		{"i", "data", IDXOptions{}, "byte 20: the data are cut off", 20},
	}
	for _, tt := range tests {
		t.Run(tt.images+" "+tt.labels+" "+tt.want, func(t *testing.T) {
			o := tt.options
			o.Name, o.Images, o.Labels = "digits", in(tt.images), in(tt.labels)
			err := buildError(t, func(g *pipeline.Graph) []pipeline.Value {
				image, label := IDX(g, o)
				return []pipeline.Value{image, label}
			})
			require.ErrorContains(t, err, tt.want)
			require.ErrorContains(t, err, "pipeline: digits: ")
			var format *FormatError
			require.Equal(t, tt.offset >= 0, errors.As(err, &format), err)
			if format != nil {
				require.Contains(t, []string{o.Images, o.Labels}, format.Path)
				require.Equal(t, tt.offset, format.Offset)
			}
		})
	}
	_, err := newIDXSource(&IDXOptions{Images: in("nowhere")})
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, in("nowhere"))
}

// What a file announces is not allocated before it is there.
func TestIDXTakesMemoryAsDataArrive(t *testing.T) {
	head := idxFile(8, []uint32{1 << 31}, counting(100))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := decodeIDX(bytes.NewReader(head), 4<<30)
	runtime.ReadMemStats(&after)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2*firstBytes))
}

func TestIDXRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dims := rapid.SliceOfN(rapid.Uint32Range(1, 5), 1, datum.MaxDims+1).Draw(t, "dims")
		n := 1
		for _, d := range dims {
			n *= int(d)
		}
		elements := rapid.SliceOfN(rapid.Int16(), n, n).Draw(t, "elements")
		file := idxFile(11, dims, elements)
		if rapid.Bool().Draw(t, "gzipped") {
			file = gzipped(file)
		}
		a, err := decodeIDX(bytes.NewReader(file), 1<<40)
		if err != nil {
			t.Fatal(err)
		}
		require.Equal(t, elements, append([]int16(nil), datum.View[int16](a.data)...))
		require.Len(t, a.dims, len(dims))
		for i, v := range elements {
			require.EqualValues(t, v, a.whole(i))
		}
	})
}

func TestIDXReadAllocatesNothing(t *testing.T) {
	root := tree(t, map[string]string{"i": string(idxFile(8, []uint32{9, 28, 28}, counting(9*784))), "l": string(idxFile(8, []uint32{9}, counting(9)))})
	s, err := newIDXSource(&IDXOptions{Images: filepath.Join(root, "i"), Labels: filepath.Join(root, "l")})
	require.NoError(t, err)
	requireNoAllocations(t, s)
}

// The files may lie in any place, with the same samples and fingerprint.
func TestIDXInAPlace(t *testing.T) {
	files := map[string]string{"sub/images": string(gzipped(idxFile(0x08, []uint32{2, 3}, counting(6)))), "sub/labels": string(idxFile(0x08, []uint32{2}, []byte{1, 0}))}
	place := fstest.MapFS{"pipe": {Mode: fs.ModeNamedPipe}}
	for name, content := range files {
		place[name] = &fstest.MapFile{Data: []byte(content)}
	}
	dir := tree(t, files)
	want, err := newIDXSource(&IDXOptions{Images: filepath.Join(dir, "sub/images"), Labels: filepath.Join(dir, "sub/labels")})
	require.NoError(t, err)
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	for _, place := range []fs.FS{place, root.FS()} {
		got, err := newIDXSource(&IDXOptions{FS: place, Images: "sub/images", Labels: "sub/labels"})
		require.NoError(t, err)
		require.Equal(t, want.meta, got.meta)
		require.Equal(t, want.labels, got.labels)
		require.Equal(t, want.images, got.images)
	}
	for name, want := range map[string]string{"none": "file does not exist", "sub": "a folder is in the place of the file", "pipe": "not a regular file", "/sub/images": "file does not exist"} {
		_, err := newIDXSource(&IDXOptions{FS: place, Images: name})
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, name)
	}
	place["cut"] = &fstest.MapFile{Data: []byte(files["sub/labels"][:9])}
	_, err = newIDXSource(&IDXOptions{FS: place, Images: "cut"})
	require.ErrorContains(t, err, "cut")
	require.ErrorContains(t, err, "the data are cut off")
}

func TestIDXWithoutLabels(t *testing.T) {
	root := tree(t, map[string]string{"i": string(idxFile(8, []uint32{3, 2}, counting(6)))})
	p, err := build(3, 1, func(g *pipeline.Graph) []pipeline.Value {
		image, label := IDX(g, IDXOptions{Images: filepath.Join(root, "i")})
		require.Equal(t, pipeline.Value{}, label)
		return []pipeline.Value{image}
	})
	require.NoError(t, err)
	require.NoError(t, epoch(t, p, func(b *pipeline.Batch) {
		for row := range 3 {
			require.Equal(t, counting(6)[2*row:2*row+2], b.Sample("0", row).Bytes())
		}
	}))
}

// The counts of the training digits are known.
func TestIDXMNIST(t *testing.T) {
	dir := datatest.Data(t, "mnist")
	s, err := newIDXSource(&IDXOptions{
		Images: filepath.Join(dir, "train-images-idx3-ubyte.gz"), Labels: filepath.Join(dir, "train-labels-idx1-ubyte.gz"),
	})
	require.NoError(t, err)
	require.EqualValues(t, 60000, s.Len())
	require.Equal(t, []datum.Spec{{DType: datum.Uint8, Layout: "HWC", Shape: []int{28, 28, 1}}, {DType: datum.Int32, Classes: 10}}, s.Outputs())
	var count [10]int
	for _, l := range s.labels {
		count[l]++
	}
	require.Equal(t, [10]int{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949}, count)
	sum := 0
	for _, v := range s.images.data {
		sum += int(v)
	}
	require.Equal(t, "0.1307", fmt.Sprintf("%.4f", float64(sum)/255/60000/784), "the mean of the pixels")
}

func FuzzIDX(f *testing.F) {
	picture := idxFile(8, []uint32{3, 2, 2}, counting(12))
	f.Add(picture)
	f.Add(gzipped(picture))
	f.Add(picture[:9])
	f.Add(idxFile(14, []uint32{1 << 31, 1 << 31, 1 << 31}, counting(9)))
	f.Fuzz(func(t *testing.T, file []byte) {
		a, err := decodeIDX(bytes.NewReader(file), 1<<24)
		if err != nil {
			var format *FormatError
			if !errors.As(err, &format) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		n := a.dtype.Size()
		for _, d := range a.dims {
			n *= d
		}
		if n != len(a.data) || n > 1<<24 {
			t.Fatalf("%v %s: %d bytes", a.dims, a.dtype, len(a.data))
		}
		if _, err := a.sampleSpec(""); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkIDXMNIST(b *testing.B) {
	images := datatest.Data(b, "mnist", "train-images-idx3-ubyte.gz")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := newIDXSource(&IDXOptions{Images: images}); err != nil {
			b.Fatal(err)
		}
	}
}
