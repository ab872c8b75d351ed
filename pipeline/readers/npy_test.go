package readers

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

const npyTestdata = "testdata/npy"

func openNPY(arrays ...Array) (*npySource, error) {
	return newNPYSource(context.Background(), &NPYOptions{FS: os.DirFS(npyTestdata), Arrays: arrays})
}

// sampleOf reads a sample of the first array as a worker does.
func sampleOf(t *testing.T, s *npySource, index int64) *datum.Tensor {
	t.Helper()
	var out []*datum.Tensor
	for i := range s.specs {
		x := new(datum.Tensor)
		x.Declare(&s.specs[i])
		out = append(out, x)
	}
	datum.Begin(out)
	require.NoError(t, s.Read(context.Background(), index, out))
	return out[0]
}

// number returns an element of a tensor.
func number(t *datum.Tensor, i int) float64 {
	size := t.DType().Size()
	mem := t.Bytes()[i*size : (i+1)*size]
	switch t.DType() {
	case datum.Float16:
		bits := binary.NativeEndian.Uint16(mem)
		if bits == 0 {
			return 0
		}
		return math.Ldexp(1+float64(bits&0x3ff)/1024, int(bits>>10&31)-15)
	case datum.Float32:
		return float64(math.Float32frombits(binary.NativeEndian.Uint32(mem)))
	case datum.Float64:
		return math.Float64frombits(binary.NativeEndian.Uint64(mem))
	}
	return float64(wholeOf(t.DType(), mem))
}

// Arrays of all types in both byte orders are what numpy saved.
func TestNPYTypes(t *testing.T) {
	files, err := filepath.Glob(npyTestdata + "/type_*.npy")
	require.NoError(t, err)
	require.Len(t, files, 14)
	for _, file := range files {
		s, err := openNPY(Array{File: filepath.Base(file)})
		require.NoError(t, err)
		require.EqualValues(t, 4, s.Len())
		require.Equal(t, []int{3, 2}, s.Outputs()[0].Shape)
		for _, index := range []int64{3, 0, 2, 1} {
			x := sampleOf(t, s, index)
			for i := range 6 {
				want := float64(index*6 + int64(i))
				if x.DType() == datum.Bool {
					want = float64(i % 2)
				}
				require.Equal(t, want, number(x, i), file)
			}
		}
		requireNoAllocations(t, s)
	}
}

// Members of archives are read where they lie, or decompressed once; labels are checked.
func TestNPZ(t *testing.T) {
	for _, file := range []string{"plain.npz", "compressed.npz"} {
		s, err := openNPY(Array{File: file, Member: "x", Layout: "HW"}, Array{File: file, Member: "y", Label: true})
		require.NoError(t, err)
		require.Equal(t, datum.Spec{DType: datum.Int32, Classes: 3}, s.Outputs()[1])
		require.Equal(t, []int{5, 6}, s.Outputs()[0].Shape)
		for index := range s.Len() {
			x := sampleOf(t, s, index)
			for i := range 30 {
				require.Equal(t, float64(index*30+int64(i)), number(x, i), file)
			}
		}
		require.Equal(t, datum.Entry{Name: file + ": x[2]", Label: 1}, datum.EntryOf(s, 2))
		requireNoAllocations(t, s)
	}
	p, err := build(2, 2, func(g *pipeline.Graph) []pipeline.Value {
		return NPY(g, NPYOptions{Root: npyTestdata, Shuffle: true, Arrays: []Array{{File: "plain.npz", Member: "x"}, {File: "plain.npz", Member: "y", Label: true, ClassNames: []string{"a", "b", "c"}}}})
	})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c"}, p.Readers()[0].Meta().Classes)
}

func TestNPYRefusals(t *testing.T) {
	place := fstest.MapFS{}
	whole, err := os.ReadFile(npyTestdata + "/type_le_f4.npy")
	require.NoError(t, err)
	for name, data := range map[string][]byte{
		"cut.npy": whole[:len(whole)-5], "head.npy": whole[:30], "long.npy": append(append([]byte{}, whole...), 1), "text.npy": []byte("not an array"),
		"other.npy": whole, "version.npy": []byte(strings.Replace(string(whole), npyMagic+"\x01", npyMagic+"\x09", 1)),
		"shape.npy": []byte(strings.Replace(string(whole), "(4, 3, 2)", "(0, 3, 2)", 1)), "bad.npz": []byte("no zip"),
	} {
		place[name] = &fstest.MapFile{Data: data}
	}
	for _, name := range []string{"fortran.npy", "structured.npy", "complex.npy", "scalar.npy", "plain.npz", "compressed.npz"} {
		data, err := os.ReadFile(npyTestdata + "/" + name)
		require.NoError(t, err)
		place[name] = &fstest.MapFile{Data: data}
	}
	for _, c := range []struct {
		arrays []Array
		want   string
	}{
		{nil, "Arrays is empty; choose at least one"},
		{[]Array{{File: "cut.npy"}}, "cut.npy: the array has 96 bytes, there are 91: the file was cut off; copy or write it again"},
		{[]Array{{File: "long.npy"}}, "long.npy: the array has 96 bytes, there are 97: the file is damaged, or has more than one array"},
		{[]Array{{File: "head.npy"}}, "head.npy: the header is cut off; copy or write the file again"},
		{[]Array{{File: "text.npy"}}, `text.npy: no .npy file: it begins with "not an"; want "\x93NUMPY"`},
		{[]Array{{File: "version.npy"}}, "version.npy: the format has version 9; versions 1 to 3 are known"},
		{[]Array{{File: "shape.npy"}}, "shape.npy: dimension 0 of the array is 0"},
		{[]Array{{File: "none.npy"}}, "none.npy: file does not exist"},
		{[]Array{{File: "fortran.npy"}}, "fortran.npy: the array is in Fortran's order, in which a sample does not lie together; save it by numpy.save(file, numpy.ascontiguousarray(array))"},
		{[]Array{{File: "structured.npy"}}, "structured.npy: the array has elements of type [('a'; arrays of numbers can be read: save each part alone"},
		{[]Array{{File: "complex.npy"}}, "complex.npy: the array has elements of type '<c8'; want whole numbers, floats of at most 8 bytes, or bools: save it as one of them, by astype"},
		{[]Array{{File: "scalar.npy"}}, "scalar.npy: the array has no dimensions; the first one counts the samples"},
		{[]Array{{File: "bad.npz", Member: "x"}}, "bad.npz: x: no .npz file, which is a zip archive: zip: not a valid zip file"},
		{[]Array{{File: "plain.npz"}}, "plain.npz: Member is not given; there are x, y"},
		{[]Array{{File: "plain.npz", Member: "z"}}, "plain.npz: z: there is no such member; there are x, y"},
		{[]Array{{File: "other.npy", Member: "x"}}, "other.npy: x: Member is x, but only .npz files have members; leave it out"},
		{[]Array{{File: "other.npy"}, {File: "scalar.npy"}}, "scalar.npy: the array has no dimensions; the first one counts the samples"},
		{[]Array{{File: "other.npy", Label: true}}, "other.npy has float32 elements and 3 dimensions; labels are whole numbers in one dimension"},
		{[]Array{{File: "plain.npz", Member: "y", Label: true, Classes: 2}}, "plain.npz: y: sample 0: label 2 is out of range: with 2 classes labels are 0 … 1"},
		{[]Array{{File: "other.npy", Classes: 2}}, "other.npy has classes and is no Label; set Label"},
	} {
		_, err := newNPYSource(context.Background(), &NPYOptions{FS: place, Arrays: c.arrays})
		require.EqualError(t, err, c.want)
	}
	_, err = newNPYSource(context.Background(), &NPYOptions{FS: place, Arrays: []Array{{File: "compressed.npz", Member: "x"}}, MaxBytes: 100})
	require.EqualError(t, err, "compressed.npz: x: the member is compressed and has 368 bytes; 100 more may be taken into memory: raise MaxBytes, or save it by numpy.savez")
	_, err = newNPYSource(context.Background(), &NPYOptions{Arrays: []Array{{}}})
	require.EqualError(t, err, "neither Root nor FS is given; name the folder of the files")
}

func FuzzNPY(f *testing.F) {
	for _, name := range []string{"type_le_f4.npy", "type_be_i2.npy", "structured.npy", "fortran.npy", "plain.npz", "compressed.npz"} {
		data, err := os.ReadFile(npyTestdata + "/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		place := fstest.MapFS{"a.npy": {Data: data}, "a.npz": {Data: data}}
		for _, a := range []Array{{File: "a.npy"}, {File: "a.npz", Member: "x"}} {
			s, err := newNPYSource(context.Background(), &NPYOptions{FS: place, Arrays: []Array{a}, MaxBytes: 1 << 20})
			if err != nil {
				continue
			}
			for index := range min(s.Len(), 20) {
				if n := sampleOf(t, s, index).Len(); n != count(s.specs[0].Shape) {
					t.Fatal(n)
				}
			}
		}
	})
}

// The arrays of a file that numpy.savez wrote, with its labels.
func ExampleNPY() {
	p, err := pipeline.New(pipeline.Options{BatchSize: 4}, func(g *pipeline.Graph) {
		v := NPY(g, NPYOptions{Root: npyTestdata, Arrays: []Array{
			{File: "plain.npz", Member: "x", Layout: "HW"},
			{File: "plain.npz", Member: "y", Label: true},
		}})
		g.Output("x", v[0])
		g.Output("y", v[1])
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Readers()[0].Len(), p.Readers()[0].Source.Outputs())
	// Output:
	// 4 [uint8 HW 5×6 int32 scalar]
}
