package readers

import (
	"archive/tar"
	"bytes"
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline/datum"
)

// tarOf returns an archive of members, one after the other: name, content, name, …
func tarOf(t *testing.T, members ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: members[i], Size: int64(len(members[i+1])), Mode: 0o644}))
		_, err := w.Write([]byte(members[i+1]))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.String()
}

// npyFile returns a file that NumPy wrote.
func npyFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/npy/" + name)
	require.NoError(t, err)
	return string(text)
}

func npyShard(t *testing.T, members ...string) (*shardsSource, error) {
	t.Helper()
	return newShardsSource(&ShardsOptions{FS: fstest.MapFS{"a.tar": {Data: []byte(tarOf(t, members...))}}, Members: []string{"x.npy"}})
}

// Files of all types that NumPy writes are their arrays, whichever order their bytes have.
func TestArraysInArchives(t *testing.T) {
	for name, dtype := range map[string]datum.DType{
		"type_b1.npy": datum.Bool, "type_u1.npy": datum.Uint8, "type_i1.npy": datum.Int8, "type_le_u2.npy": datum.Uint16, "type_be_i2.npy": datum.Int16,
		"type_le_u4.npy": datum.Uint32, "type_be_i4.npy": datum.Int32, "type_le_u8.npy": datum.Uint64, "type_be_i8.npy": datum.Int64, "type_le_f2.npy": datum.Float16,
		"type_le_f4.npy": datum.Float32, "type_be_f4.npy": datum.Float32, "type_le_f8.npy": datum.Float64, "type_be_f8.npy": datum.Float64,
	} {
		file := npyFile(t, name)
		src, err := npyShard(t, "1.x.npy", file, "2.x.npy", file)
		require.NoError(t, err, name)
		require.Equal(t, []datum.Spec{{DType: dtype, Shape: []int{-1, -1, -1}}}, src.Outputs(), name)
		requireNoAllocations(t, src)
		want, err := newNPYSource(t.Context(), &NPYOptions{Root: "testdata/npy", Arrays: []Array{{File: name}}})
		require.NoError(t, err)
		var rows []byte
		withTensors(t, want, func(out []*datum.Tensor) error {
			for i := range want.Len() {
				require.NoError(t, want.Read(t.Context(), i, out))
				rows = append(rows, out[0].Bytes()...)
			}
			return nil
		})
		withTensors(t, src, func(out []*datum.Tensor) error {
			require.NoError(t, src.Read(t.Context(), 1, out))
			require.Equal(t, []int{4, 3, 2}, out[0].Shape())
			require.Equal(t, rows, out[0].Bytes(), name)
			return nil
		})
	}
	scalar, err := npyShard(t, "1.x.npy", npyFile(t, "scalar.npy"))
	require.NoError(t, err)
	require.Equal(t, []datum.Spec{{DType: datum.Float32, Shape: []int{}}}, scalar.Outputs())
}

// An array that cannot be read fails its sample alone, or the reader where there is no other.
func TestArraysInArchivesThatAreRefused(t *testing.T) {
	good := npyFile(t, "type_le_f4.npy")
	for want, bad := range map[string]string{
		"the array is float64 with 3 dimensions, in other samples float32 with 3; save them alike": npyFile(t, "type_le_f8.npy"),
		"the array is float32 with 0 dimensions, in other samples float32 with 3; save them alike": npyFile(t, "scalar.npy"),
		"it was cut off, or damaged":                                   good[:len(good)-1],
		`begins with "damage"`:                                         "damaged, no array",
		"the array is in Fortran's order; save it by numpy.save(file,": npyFile(t, "fortran.npy"),
		"want whole numbers, floats of at most 8 bytes, or bools":      npyFile(t, "complex.npy"),
		"the member x.npy is empty":                                    "",
	} {
		src, err := npyShard(t, "0.x.npy", good, "1.x.npy", bad, "2.x.npy", good)
		require.NoError(t, err)
		withTensors(t, src, func(out []*datum.Tensor) error {
			require.NoError(t, src.Read(t.Context(), 0, out))
			require.ErrorContains(t, src.Read(t.Context(), 1, out), want)
			require.NoError(t, src.Read(t.Context(), 2, out))
			return nil
		})
	}
	_, err := npyShard(t, "0.x.npy", "damaged, no array")
	require.ErrorContains(t, err, `a.tar: 0: the member x.npy: no .npy file`)
	_, err = newShardsSource(&ShardsOptions{FS: fstest.MapFS{"a.tar": {Data: []byte(tarOf(t, "0.npy", good, "1.jpg", "x"))}}, Members: []string{"npy;jpg"}})
	require.ErrorContains(t, err, "whose parts are arrays and other files; make outputs of them")
}
