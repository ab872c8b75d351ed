package parquet

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/planktonml/plankton/internal/alloctest"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/shard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reader reads single rows of a source.
type reader struct {
	ctx context.Context
	src *Source
	out []*datum.Tensor
}

func open(t testing.TB, o Options) *reader {
	t.Helper()
	src, err := Open(t.Context(), o)
	require.NoError(t, err)
	r := &reader{ctx: t.Context(), src: src}
	for _, spec := range src.Outputs() {
		out := new(datum.Tensor)
		out.Declare(&spec)
		r.out = append(r.out, out)
	}
	return r
}

// read reads a row as a worker does.
func (r *reader) read(row int64) error {
	datum.Begin(r.out)
	return r.src.Read(r.ctx, row, r.out)
}

// values returns a tensor as JSON has it: numbers in lists.
func values(t *datum.Tensor) any {
	all := make([]float64, t.Len())
	mem := t.Bytes()
	for i := range all {
		switch t.DType() {
		case datum.Uint8, datum.Bool:
			all[i] = float64(mem[i])
		case datum.Int8:
			all[i] = float64(int8(mem[i]))
		case datum.Uint16:
			all[i] = float64(datum.View[uint16](mem)[i])
		case datum.Int16:
			all[i] = float64(datum.View[int16](mem)[i])
		case datum.Uint32:
			all[i] = float64(datum.View[uint32](mem)[i])
		case datum.Int32:
			all[i] = float64(datum.View[int32](mem)[i])
		case datum.Uint64:
			all[i] = float64(datum.View[uint64](mem)[i])
		case datum.Int64:
			all[i] = float64(datum.View[int64](mem)[i])
		case datum.Float32:
			all[i] = float64(datum.View[float32](mem)[i])
		case datum.Float64:
			all[i] = datum.View[float64](mem)[i]
		case datum.Float16:
			all[i] = half(datum.View[uint16](mem)[i])
		}
	}
	return nested(all, t.Shape())
}

func nested(all []float64, shape []int) any {
	if len(shape) == 0 {
		return all[0]
	}
	list := make([]any, shape[0])
	for i := range list {
		n := len(all) / shape[0]
		list[i] = nested(all[i*n:(i+1)*n], shape[1:])
	}
	return list
}

// half is an IEEE 754 binary16 of no unusual kind.
func half(bits uint16) float64 {
	if bits&0x7fff == 0 {
		return 0
	}
	return math.Ldexp(1+float64(bits&0x3ff)/1024, int(bits>>10&31)-15)
}

// plain makes true and false the numbers that tensors have.
func plain(v any) any {
	switch v := v.(type) {
	case bool:
		if v {
			return 1.0
		}
		return 0.0
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	}
	return v
}

func rowsOfTestdata(t testing.TB) map[string][]any {
	t.Helper()
	text, err := os.ReadFile("testdata/rows.json")
	require.NoError(t, err)
	var rows map[string][]any
	require.NoError(t, json.Unmarshal(text, &rows))
	for name := range rows {
		for i := range rows[name] {
			rows[name][i] = plain(rows[name][i])
		}
	}
	return rows
}

// Files that pyarrow wrote in every encoding, compression and version of pages give what
// pyarrow read from them, in any order and with a cache that holds next to nothing.
func TestWhatPyarrowWrote(t *testing.T) {
	rows := rowsOfTestdata(t)
	for _, name := range []string{"plain", "dictionary_snappy", "v2_zstd", "v2_dictionary_gzip", "index_brotli", "index_lz4", "encodings"} {
		for _, cache := range []int64{0, 1} {
			first := open(t, Options{Root: "testdata", Files: []string{name + ".parquet"}, Columns: []readers.Field{{Name: "int32"}}}).src
			for _, l := range first.files[0].leaves {
				want, ok := rows[l.name]
				require.True(t, ok, l.name)
				r := open(t, Options{Root: "testdata", Files: []string{name + ".parquet"}, Columns: []readers.Field{{Name: l.name}}, CacheBytes: cache})
				require.EqualValues(t, len(want), r.src.Len())
				p := shard.NewPermutation(r.src.Len(), 5)
				for i := range r.src.Len() {
					row := p.At(i)
					err := r.read(row)
					if want[row] == nil {
						require.EqualError(t, err, "column "+l.name+": the value is missing (null)")
						continue
					}
					require.NoError(t, err, "%s %s row %d", name, l.name, row)
					got := values(r.out[0])
					require.True(t, reflect.DeepEqual(want[row], got), "%s column %s row %d: %v, want %v", name, l.name, row, got, want[row])
				}
			}
		}
	}
}

// Types, shapes and labels as the file, Hugging Face's metadata or the program say.
func TestColumnsAndLabels(t *testing.T) {
	r := open(t, Options{Root: "testdata/huggingface.parquet"})
	require.Equal(t, []datum.Spec{{DType: datum.Uint8, Shape: []int{-1}}, {DType: datum.Int32, Classes: 2}}, r.src.Outputs())
	require.Equal(t, []string{"cat", "dog"}, r.src.Meta().Classes)
	for row := range r.src.Len() {
		require.NoError(t, r.read(row))
		require.Equal(t, fmt.Sprint("picture ", row), string(r.out[0].Bytes()))
		require.Equal(t, int32(row%2), r.out[1].Int32s()[0])
		require.Equal(t, datum.Entry{Name: fmt.Sprintf("huggingface.parquet[%d]", row), Label: row % 2}, datum.EntryOf(r.src, row))
	}
	abs, err := filepath.Abs("testdata/huggingface.parquet")
	require.NoError(t, err)
	require.Equal(t, abs+": row 5", r.src.Describe(5))
	require.Equal(t, []Group{{"huggingface.parquet", 0, 4, r.src.Groups()[0].Bytes}, {"huggingface.parquet", 4, 4, r.src.Groups()[1].Bytes}, {"huggingface.parquet", 8, 1, r.src.Groups()[2].Bytes}}, r.src.Groups())
	require.EqualValues(t, 4, r.src.Block())
	ends := r.src.ShardEnds()
	for i, g := range r.src.groups {
		require.Equal(t, g.first+g.rows, ends[i])
	}
	require.Equal(t, r.src.Len(), ends[len(ends)-1])
	require.NoError(t, r.src.CheckGroup(1<<60), "all of it fits")
	sizes := make([]int64, 3)
	for i, c := range r.src.chunks {
		if f := i % len(r.src.fields); !r.src.fields[f].Label {
			sizes[i/len(r.src.fields)] += c.meta.MetaData.TotalUncompressedSize
		}
	}
	slices.Sort(sizes)
	r.src.cache.limit = sizes[2] + sizes[1]
	require.NoError(t, r.src.CheckGroup(2))
	require.ErrorContains(t, r.src.CheckGroup(50), fmt.Sprintf("raise it to at least %d, or group at most 2", sizes[0]+sizes[1]+sizes[2]))
	r.src.cache.limit = sizes[2] - 1
	require.ErrorContains(t, r.src.CheckGroup(1), fmt.Sprintf("raise it to at least %d for groups of 1", sizes[2]))

	text := open(t, Options{FS: os.DirFS("testdata"), Files: []string{"odd.parquet"}, Columns: []readers.Field{{Name: "label", Label: true}, {Name: "time"}}})
	require.Equal(t, []string{"cat", "dog"}, text.src.Meta().Classes)
	require.EqualValues(t, 1, datum.EntryOf(text.src, 0).Label)
	named := open(t, Options{FS: os.DirFS("testdata"), Root: "odd.parquet", Columns: []readers.Field{{Name: "label", Label: true, ClassNames: []string{"dog", "mouse", "cat"}}}})
	require.EqualValues(t, 2, datum.EntryOf(named.src, 1).Label)
	require.NotEqual(t, text.src.Meta().Fingerprint, named.src.Meta().Fingerprint)

	shaped := open(t, Options{Root: "testdata", Files: []string{"plain.parquet"}, Columns: []readers.Field{
		{Name: "fixed", Shape: []int{2, 2}, Layout: "HW"}, {Name: "piece", Shape: []int{3, 1}}, {Name: "piece"},
	}})
	require.Equal(t, []datum.Spec{{DType: datum.Int64, Shape: []int{2, 2}, Layout: "HW"}, {DType: datum.Uint8, Shape: []int{3, 1}}, {DType: datum.Uint8, Shape: []int{3}}}, shaped.src.Outputs())
	require.NoError(t, shaped.read(0))
	require.Equal(t, []int{2, 2}, shaped.out[0].Shape())
}

// What is wrong is one line that names the file, the column and what to do.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	whole, err := os.ReadFile("testdata/plain.parquet")
	require.NoError(t, err)
	write := func(name string, data []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	write("cut.parquet", whole[:len(whole)-100])
	write("cut2.parquet", append(append([]byte{}, whole[:1000]...), whole[len(whole)-8:]...))
	write("empty.parquet", nil)
	write("text.parquet", []byte(strings.Repeat("not a table ", 9)))
	plain := func(f ...readers.Field) Options { return Options{Root: "testdata/plain.parquet", Columns: f} }
	odd := func(f ...readers.Field) Options { return Options{Root: "testdata/odd.parquet", Columns: f} }
	file := func(name string) Options { return Options{Root: dir, Files: []string{name}} }
	for want, o := range map[string]Options{
		"neither Root nor FS is given; name the folder of the .parquet files, or a file":                                                  {},
		"cut.parquet: the file has no footer at its end, byte " + fmt.Sprint(len(whole)-100) + ": it was cut off; copy or write it again": file("cut.parquet"),
		"cut2.parquet: the footer is to have":                                                                                   file("cut2.parquet"),
		"empty.parquet: the file is empty":                                                                                      file("empty.parquet"),
		`text.parquet: no Parquet file: it begins with "not "; want "PAR1"`:                                                     file("text.parquet"),
		"none.parquet: no such file or directory":                                                                               file("none.parquet"),
		`Files[1] is a; want the path of a file below Root, with slashes, once`:                                                 {Root: dir, Files: []string{"a", "a"}},
		"holds no .parquet files; give the folder that they lie in, or name them in Files":                                      {Root: t.TempDir()},
		"plain.parquet: there is no column colour; there are bool (bool scalar), uint8 (uint8 scalar)":                          plain(readers.Field{Name: "colour"}),
		"plain.parquet: column struct is a struct; name one of its parts: struct.a (int32 scalar), struct.b.c (float32 scalar)": plain(readers.Field{Name: "struct"}),
		"plain.parquet: column float32 (float32 scalar) cannot be a Label, which is one whole number or a text":                 plain(readers.Field{Name: "float32", Label: true}),
		"column int64: label 1000000000000 is out of range: labels are 0 … 2147483646":                                          plain(readers.Field{Name: "int64", Label: true}),
		"plain.parquet: row 1: column holes: the value is missing (null)":                                                       plain(readers.Field{Name: "holes", Label: true}),
		"column int32 (int32 scalar), but DType is float32; leave it out, and cast by ops.Cast":                                 plain(readers.Field{Name: "int32", DType: datum.Float32}),
		"column int32 has one number in each row; leave Shape out":                                                              plain(readers.Field{Name: "int32", Shape: []int{2}}),
		"column uint8 is a second Label; a data set has one":                                                                    plain(readers.Field{Name: "uint8", Label: true}, readers.Field{Name: "uint8", Label: true}),
		"column texts cannot be read: it has lists of bytes or texts":                                                           odd(readers.Field{Name: "texts"}),
		"column decimal cannot be read: it has decimal numbers":                                                                 odd(readers.Field{Name: "decimal"}),
		"odd.parquet: row 0: column label: the text dog is none of the 1 class names; add it there":                             odd(readers.Field{Name: "label", Label: true, ClassNames: []string{"cat"}}),
		"odd.parquet: 0 columns look like encoded pictures; name the one in Columns; there are ragged":                          odd(),
		"plain.parquet: there is no column picture":                                                                             {Root: "testdata", Files: []string{"huggingface.parquet", "plain.parquet"}},
		"CacheBytes is -1": {Root: "testdata/huggingface.parquet", CacheBytes: -1},
		"field  has":       plain(readers.Field{Name: ""}),
	} {
		_, err := Open(t.Context(), o)
		if want == "field  has" {
			want = "a field has no Name"
		}
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "\n")
	}
	_, err = pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
		g.Output("x", Read(g, pipeline.ReaderOptions{Name: "train"}, file("empty.parquet"))[0])
	})
	require.EqualError(t, err, "pipeline: train: empty.parquet: the file is empty")

	// A row that is wrong fails alone.
	for name, want := range map[string]map[int64]string{
		"ragged":       {0: "column ragged: the lists within the row differ in length, so that it is no array", 1: ""},
		"half":         {0: "column half: the lists within the row differ in length, so that it is no array", 1: ""},
		"empties":      {0: "", 1: ""},
		"null element": {0: "column null element: the value is missing (null)", 1: ""},
		"null list":    {0: "column null list: the value is missing (null)", 1: ""},
	} {
		r := open(t, odd(readers.Field{Name: name}))
		for row, text := range want {
			err := r.read(row)
			if text == "" {
				require.NoError(t, err)
				continue
			}
			require.EqualError(t, err, text)
		}
	}
	r := open(t, plain(readers.Field{Name: "list", Shape: []int{3}}))
	require.EqualError(t, r.read(0), "column list: the row has 0 elements; [3] are declared")
	require.NoError(t, r.read(3))
	r = open(t, plain(readers.Field{Name: "matrix", Shape: []int{2, 2}}))
	require.EqualError(t, r.read(0), "column matrix: the row is [1 1]; [2 2] is declared")
	require.NoError(t, r.read(1))
	e := open(t, odd(readers.Field{Name: "empties"}))
	require.NoError(t, e.read(1))
	require.Equal(t, []int{2, 0}, e.out[0].Shape())
}

// A file that another one has taken the place of is found out.
func TestAFileThatChanges(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.parquet")
	whole, err := os.ReadFile("testdata/plain.parquet")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, whole, 0o644))
	r := open(t, Options{Root: file, Columns: []readers.Field{{Name: "bytes"}}})
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteAt(make([]byte, len(whole)), 0)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(int64(len(whole))/2))
	require.NoError(t, f.Close())
	require.EqualError(t, r.read(39), fmt.Sprintf("column bytes: the file was changed since it was opened: it has %d bytes, and had %d; begin again", len(whole)/2, len(whole)))
}

// Several workers read the same pages in a shuffled order, under a cache of one page; the
// rows are those of the file, and nothing is allocated for a row at hand.
func TestInAPipeline(t *testing.T) {
	for _, cache := range []int64{1, 0} {
		p, err := pipeline.New(pipeline.Options{BatchSize: 7, Workers: 4, Seed: 3}, func(g *pipeline.Graph) {
			v := Read(g, pipeline.ReaderOptions{Shuffle: true}, Options{
				Root: "testdata", Files: []string{"index_brotli.parquet", "v2_zstd.parquet", "plain.parquet"}, CacheBytes: cache,
				Columns: []readers.Field{{Name: "int32"}, {Name: "list"}, {Name: "uint8", Label: true}},
			})
			g.Output("int32", v[0])
			g.Output("list", v[1])
			g.Output("label", v[2])
		})
		require.NoError(t, err)
		l, err := iterator.New(iterator.Options{}, p)
		require.NoError(t, err)
		rows := rowsOfTestdata(t)
		n := len(rows["int32"])
		seen := 0
		for b, err := range l.Epochs(context.Background(), 3) {
			require.NoError(t, err)
			for row, id := range b.IDs() {
				if id < 0 {
					continue
				}
				seen++
				require.Equal(t, rows["int32"][int(id)%n], float64(b.Int32s("int32")[row]))
				require.Equal(t, rows["list"][int(id)%n], values(b.Sample("list", row)))
				require.Equal(t, rows["uint8"][int(id)%n], float64(b.Int32s("label")[row]))
			}
		}
		require.Equal(t, 9*n, seen)
		require.NoError(t, l.Close())
	}
}

func TestRowsAtHandCostNoAllocation(t *testing.T) {
	r := open(t, Options{Root: "testdata", Files: []string{"dictionary_snappy.parquet"}, Columns: []readers.Field{
		{Name: "bytes"}, {Name: "text"}, {Name: "list"}, {Name: "cube"}, {Name: "float64"}, {Name: "uint8", Label: true},
	}})
	for row := range r.src.Len() {
		require.NoError(t, r.read(row))
	}
	row := int64(0)
	alloctest.None(t, 100, func() {
		if err := r.read(row % r.src.Len()); err != nil {
			t.Fatal(err)
		}
		row++
	})
}

// A reader whose context ends leaves at once, and those that wait for the same page read
// it themselves.
func TestContextsThatEnd(t *testing.T) {
	r := open(t, Options{Root: "testdata/plain.parquet", Columns: []readers.Field{{Name: "bytes"}}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, r.src.Read(ctx, 0, r.out), context.Canceled)
	require.NoError(t, r.read(0))
	_, err := Open(ctx, Options{Root: "testdata/plain.parquet", Columns: []readers.Field{{Name: "bytes"}}})
	require.ErrorIs(t, err, context.Canceled)
}

// A column of numbers is there for samplers, whether it is an output or not.
func TestColumnOfNumbers(t *testing.T) {
	src, err := Open(t.Context(), Options{Root: "testdata", Files: []string{"plain.parquet"}, Columns: []readers.Field{{Name: "bool"}}})
	require.NoError(t, err)
	for _, name := range []string{"int32", "float64"} {
		column, err := src.Column(t.Context(), name)
		if name == "float64" && err != nil { // a row without a value is one line
			require.ErrorContains(t, err, "column float64: ")
			continue
		}
		require.NoError(t, err)
		one := open(t, Options{Root: "testdata", Files: []string{"plain.parquet"}, Columns: []readers.Field{{Name: name}}})
		require.Len(t, column, int(src.Len()))
		for i, x := range column {
			require.NoError(t, one.src.Read(t.Context(), int64(i), one.out))
			want, err := one.out[0].Scalar()
			require.NoError(t, err)
			require.Equal(t, want, x)
		}
	}
	_, err = src.Column(t.Context(), "colour")
	require.ErrorContains(t, err, "there is no column colour; there are bool")
}
