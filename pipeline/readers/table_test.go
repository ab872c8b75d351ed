package readers

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// openTable opens text files by their contents.
func openTable(t require.TestingT, format textFormat, files map[string]string, columns ...Field) (*textTable, error) {
	place := fstest.MapFS{}
	for name, text := range files {
		place[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return openTextTable(context.Background(), format, &textOptions{place: place, endings: []string{".csv", ".tsv", ".jsonl"}, columns: columns})
}

// rowOf reads a record as a worker does, and writes every output as text.
func rowOf(t *textTable, index int64) (texts []string, err error) {
	var out []*datum.Tensor
	for i := range t.specs {
		x := new(datum.Tensor)
		x.Declare(&t.specs[i])
		out = append(out, x)
	}
	datum.Begin(out)
	if err := t.Read(context.Background(), index, out); err != nil {
		return nil, err
	}
	for _, x := range out {
		text := fmt.Sprint(x.Shape(), " ")
		switch x.DType() {
		case datum.Float32:
			text += fmt.Sprint(x.Float32s())
		case datum.Float64:
			text += fmt.Sprint(x.Float64s())
		case datum.Int32:
			text += fmt.Sprint(x.Int32s())
		case datum.Int64:
			text += fmt.Sprint(x.Int64s())
		default:
			text += string(x.Bytes())
		}
		texts = append(texts, text)
	}
	return texts, nil
}

func TestCSV(t *testing.T) {
	files := map[string]string{
		"a.csv": byteOrderMark + "id,name,p0,p1,\"p2\",kind\r\n1,\"a \"\"b\"\"\nc\",1,2,3,dog\r\n\r\n2,,4,5.5,-6e1,cat\n",
		"b.csv": "id,name,p0,p1,p2,kind\n3,\"x,y\",7,8,9,dog",
	}
	table, err := openTable(t, &csvFormat{header: true}, files,
		Field{Name: "id", DType: datum.Int64}, Field{Name: "name"}, Field{Name: "p*", DType: datum.Float32}, Field{Name: "kind", Label: true})
	require.NoError(t, err)
	require.EqualValues(t, 3, table.Len())
	require.Equal(t, []datum.Spec{{DType: datum.Int64}, {DType: datum.Uint8, Shape: []int{-1}}, {DType: datum.Float32, Shape: []int{3}}, {DType: datum.Int32, Classes: 2}}, table.Outputs())
	require.Equal(t, []string{"cat", "dog"}, table.Meta().Classes)
	for i, want := range [][]string{
		{"[] [1]", "[7] a \"b\"\nc", "[3] [1 2 3]", "[] [1]"},
		{"[] [2]", "[0] ", "[3] [4 5.5 -60]", "[] [0]"},
		{"[] [3]", "[3] x,y", "[3] [7 8 9]", "[] [1]"},
	} {
		got, err := rowOf(table, int64(i))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	require.Equal(t, datum.Entry{Name: "b.csv[0]", Label: 1}, datum.EntryOf(table, 2))
	require.Equal(t, "a.csv: record 1, byte 55", table.Describe(1))

	plain, err := openTable(t, &csvFormat{comma: ';'}, map[string]string{"a.csv": "3;1 \n0;2\n"}, Field{Name: "1", DType: datum.Int64}, Field{Name: "0", Label: true, Classes: 5})
	require.NoError(t, err)
	got, err := rowOf(plain, 1)
	require.NoError(t, err)
	require.Equal(t, []string{"[] [2]", "[] [0]"}, got)
	require.Equal(t, 5, plain.Outputs()[1].Classes)
	tabs, err := openTable(t, &csvFormat{header: true}, map[string]string{"a.tsv": "x\ty\n1\t2\n"}, Field{Name: "y", DType: datum.Uint8})
	require.NoError(t, err)
	require.EqualValues(t, 1, tabs.Len())
}

func TestJSONLines(t *testing.T) {
	table, err := openTable(t, jsonFormat{}, map[string]string{"a.jsonl": `{"id": 1, "text":"a\u00e4\n", "box": {"w": 2.5, "on": true}, "m": [[1,2],[3,4]], "v": [1, 2, 3], "kind":"dog", "o": {"m": 1, "m": 2}}
  
{"v":[],"m":[[5]],"id":2,"text":"","box":{"on":false,"w":1e3},"kind":"cat","o":{"m":7,"x":[{"m":9}]}}`},
		Field{Name: "id", DType: datum.Int64}, Field{Name: "text"}, Field{Name: "box.w", DType: datum.Float32}, Field{Name: "m"}, Field{Name: "v", DType: datum.Int32}, Field{Name: "kind", Label: true}, Field{Name: "o.m"})
	require.NoError(t, err)
	for i, want := range [][]string{
		{"[] [1]", "[4] aä\n", "[] [2.5]", "[2 2] [1 2 3 4]", "[3] [1 2 3]", "[] [1]", "[] [2]"},
		{"[] [2]", "[0] ", "[] [1000]", "[1 1] [5]", "[0] []", "[] [0]", "[] [7]"},
	} {
		got, err := rowOf(table, int64(i))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// What is wrong with a table, or with a row, is one line that names file and record.
func TestTextTableRefusals(t *testing.T) {
	const jsonl, comma = "a.jsonl", "a.csv"
	for _, c := range []struct {
		file, text string
		field      Field
		want       string
	}{
		{comma, "", Field{Name: "x"}, "a.csv: the file is empty"},
		{comma, "x,y\n", Field{Name: "x"}, "a.csv has no records; give files with records"},
		{comma, "x,y\n1,2\n", Field{Name: "z"}, "a.csv: there is no column z; there are x, y"},
		{comma, "x,x\n1,2\n", Field{Name: "x"}, "a.csv: 2 columns are named x; give them names of their own"},
		{comma, "x,y\n1,\"2\n", Field{Name: "x"}, "a.csv: record 1, byte 4: a quoted field does not end: its closing quotation mark is missing"},
		{comma, "x,y\n1,2\n", Field{Name: "x", Shape: []int{2}, DType: datum.Int32}, "a.csv: column x: Shape [2] has 2 elements, there are 1 columns"},
		{comma, "x,y\n1,2\n", Field{}, "a field has no Name; name the column"},
		{comma, "x\n1\n-1\n", Field{Name: "x", Label: true}, "a.csv: record 1, byte 4: column x: label -1 is out of range: labels are 0 … 2147483646"},
		{comma, "x,y\n1,\n", Field{Name: "y", Label: true}, "a.csv: record 0, byte 4: column y: the label is missing"},
		{comma, "x\ncat\n", Field{Name: "x", Label: true, ClassNames: []string{"dog"}}, "a.csv: record 0, byte 2: column x: the text cat is none of the 1 class names; add it there"},
		{comma, "\x1f\x8b\x08\x00", Field{Name: "x"}, "a.csv: the file is compressed by gzip, so that no record can be read without all before it; decompress it once, by gunzip --keep, and give a"},
		{comma, "a\x00b\x00", Field{Name: "x"}, "a.csv: the file is no UTF-8 text: it has zero bytes; convert it to UTF-8"},
		{jsonl, "{\"x\":1\n", Field{Name: "x"}, "a.jsonl: record 0, byte 0: the line is no JSON: unexpected end of JSON input"},
		{jsonl, "[1]\n", Field{Name: "x"}, "a.jsonl: record 0, byte 0: column x: the line is no object"},
		{jsonl, "{\"x\":{\"y\":1}}", Field{Name: "x"}, "a.jsonl: record 0, byte 0: column x: it is an object; name one of its members, behind a dot"},
		{jsonl, "{\"x\":[\"a\"]}", Field{Name: "x"}, "a.jsonl: record 0, byte 0: column x: it is text, of which there can be one in a row, without a DType; write numbers, or one row for each text"},
		{jsonl, "{}", Field{Name: "x.y"}, "a.jsonl: record 0, byte 0: column x.y: the object has no such member"},
	} {
		var format textFormat = &csvFormat{header: true}
		if c.file == jsonl {
			format = jsonFormat{}
		}
		_, err := openTable(t, format, map[string]string{c.file: c.text}, c.field)
		require.EqualError(t, err, c.want)
	}
	_, err := openTable(t, &csvFormat{header: true}, map[string]string{"a.csv": "x,y\n1,2\n", "b.csv": "y,x\n1,2\n"}, Field{Name: "x"})
	require.EqualError(t, err, "b.csv: its columns are y, x, those of the file before are x, y; give files with the same columns")

	rows, err := openTable(t, &csvFormat{header: true}, map[string]string{"a.csv": "x,y\n1,2\n3\nfour,5\n300,6\n\"1\"2,3\n"}, Field{Name: "x", DType: datum.Uint8})
	require.NoError(t, err)
	for i, want := range []string{
		"", "the record has 1 fields; want 2, as the first one has", "column x: four is no uint8", "column x: 300 is out of the range of uint8",
		"field 0 goes on with 2,3 behind its closing quotation mark; double quotation marks within it",
	} {
		_, err := rowOf(rows, int64(i))
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, want)
	}
	lines, err := openTable(t, jsonFormat{}, map[string]string{"a.jsonl": `{"v":[[1,2]]}
{"v":[[1],[2,3]]}
{"v":[1]}
{"v":[["x"]]}
{"v":null}
{"v":[[1,null]]}
{"v":[[1,2],3]}
{"w":1}
nonsense`}, Field{Name: "v"})
	require.NoError(t, err)
	for i, want := range []string{
		"", "column v: the lists within the row differ in length, so that it is no array", "column v: 1 is in the place of a list", `column v: "\"x\"" is in the place of a number`,
		"column v: the value is missing (null)", "column v: the value is missing (null)", "column v: 3 is in the place of a list", "column v: the object has no such member",
		"the line is no JSON: invalid character 'o' in literal null (expecting 'u')",
	} {
		_, err := rowOf(lines, int64(i))
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, want)
	}
}

// Records of any content are those that package csv reads.
func TestCSVIsThatOfTheStandardLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.StringOf(rapid.SampledFrom([]rune{'a', 'ä', '"', ',', '\n', ' ', '7'}))
		n := rapid.IntRange(2, 4).Draw(t, "columns")
		records := rapid.SliceOfN(rapid.SliceOfN(cell, n, n), 1, 8).Draw(t, "records")
		var text strings.Builder
		w := csv.NewWriter(&text)
		w.UseCRLF = rapid.Bool().Draw(t, "crlf")
		require.NoError(t, w.WriteAll(records))
		r := csv.NewReader(strings.NewReader(text.String()))
		want, err := r.ReadAll()
		require.NoError(t, err)
		var fields []Field
		for i := range n {
			fields = append(fields, Field{Name: fmt.Sprint(i)})
		}
		table, err := openTable(t, &csvFormat{}, map[string]string{"a.csv": text.String()}, fields...)
		require.NoError(t, err)
		require.EqualValues(t, len(want), table.Len())
		for i, record := range want {
			got, err := rowOf(table, int64(i))
			require.NoError(t, err)
			for k := range record {
				// Package csv makes ends of lines within quotes "\n".
				_, cell, _ := strings.Cut(got[k], "] ")
				require.Equal(t, record[k], strings.ReplaceAll(cell, "\r\n", "\n"))
			}
		}
	})
}

func TestTextTablesInAPipeline(t *testing.T) {
	dir := t.TempDir()
	var rows, lines strings.Builder
	rows.WriteString("x,y\n")
	for i := range 50 {
		fmt.Fprintf(&rows, "%d,%d\n", i, i%3)
		text, err := json.Marshal(map[string]any{"x": i, "v": []int{i, i}})
		require.NoError(t, err)
		fmt.Fprintf(&lines, "%s\n", text)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.csv"), []byte(rows.String()), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.jsonl"), []byte(lines.String()), 0o644))
	p, err := build(7, 3, func(g *pipeline.Graph) []pipeline.Value {
		v := CSV(g, CSVOptions{Name: "rows", Root: dir, Shuffle: true, Columns: []Field{{Name: "x", DType: datum.Int32}, {Name: "y", Label: true}}})
		w := JSONLines(g, JSONLinesOptions{Root: filepath.Join(dir, "a.jsonl"), Follow: "rows", Columns: []Field{{Name: "x", DType: datum.Int32}, {Name: "v", Shape: []int{2}}}})
		return append(v, w...)
	})
	require.NoError(t, err)
	require.Len(t, p.Readers(), 2)
	csvSource, lineSource := p.Readers()[0].Source, p.Readers()[1].Source
	requireNoAllocations(t, csvSource)
	requireNoAllocations(t, lineSource)
	require.Equal(t, datum.Entry{Name: "a.csv[4]", Label: 1}, datum.EntryOf(csvSource, 4))

	// A file that was changed since is found out, where its lines moved.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.csv"), []byte(strings.Repeat("7", rows.Len())), 0o644))
	_, err = rowOf(csvSource.(*textTable), 9)
	require.ErrorIs(t, err, errMoved)
}

func FuzzCSV(f *testing.F) {
	f.Add("x,y\n1,\"2\n\"\"\"\n", byte(','))
	f.Fuzz(func(t *testing.T, text string, comma byte) {
		if comma == '"' || comma == '\n' || comma == '\r' {
			return
		}
		table, err := openTable(t, &csvFormat{header: true, comma: comma}, map[string]string{"a.csv": text}, Field{Name: "x"})
		for i := int64(0); err == nil && i < min(table.Len(), 50); i++ {
			_, _ = rowOf(table, i)
		}
	})
}

func FuzzJSONLines(f *testing.F) {
	f.Add(`{"x":[[1,2],[3]],"y":"\u00e4"}` + "\n{}")
	f.Add(`{"x":{"x":1}}`)
	f.Fuzz(func(t *testing.T, text string) {
		table, err := openTable(t, jsonFormat{}, map[string]string{"a.jsonl": text}, Field{Name: "x"})
		if err != nil {
			return
		}
		for i := range min(table.Len(), 50) {
			got, err := rowOf(table, i)
			var line map[string]any
			if err != nil {
				continue
			}
			if json.Unmarshal(table.line(i), &line) != nil || line["x"] == nil {
				t.Fatalf("line %q gives %q", table.line(i), got)
			}
		}
	})
}

// line returns a record.
func (t *textTable) line(index int64) []byte {
	var room textRoom
	if err := t.fetch(context.Background(), index, &room); err != nil {
		return nil
	}
	return room.record
}
