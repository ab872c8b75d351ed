package readers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// JSONLinesOptions configures [JSONLines]. Root or FS, and Columns, must be given.
type JSONLinesOptions struct {
	Name string // of the reader; default "reader", "reader2", …

	// Root is a folder of .jsonl or .ndjson files, which are read in the order of their
	// names, or one file. With FS it is a path in there, default ".".
	Root string
	// FS is the place of the files; default the file system of the machine.
	FS fs.FS
	// Files names files below Root one by one, in the order in which they are to be read.
	Files []string

	// Columns are the outputs: members of the objects, by their names. "box.width" is the
	// member width of the member box. What a member is, a number, a text or lists, is found
	// out from the first record, where DType and Shape do not say it.
	Columns []Field

	NumShards    int  // the data set is cut into this many shards; default 1
	ShardID      int  // the shard that this reader starts with
	StickToShard bool // read the same shard in every epoch instead of moving on
	PadLastBatch bool // fill up with the last sample instead of going on
	Shuffle      bool // another order in every epoch

	Split pipeline.Split // the part of the data set to read, to train or to validate with; default the whole

	// Follow names the reader whose order this one takes; see [pipeline.ReaderOptions].
	Follow string
}

// JSONLines reads text files with an object of JSON on every line. Empty lines are left
// out. Numbers are float64, and true and false bool, where DType says nothing else; texts
// are uint8 of one dimension; lists of numbers have one dimension that differs, lists of
// lists two, and so on, unless there is a Shape.
//
// When the reader is added, one pass over the files finds where lines begin, which takes 8
// bytes for each; labels take 4 more. Lines are then read where they lie, in any order.
// Files that are compressed as a whole are refused. The fingerprint is one of the content.
//
// A line that is no object of JSON, a member that is not there, is null or of another kind,
// and lists within a row that differ in length are errors of that sample. Reading allocates
// nothing, but for texts with escapes in them.
func JSONLines(g *pipeline.Graph, o JSONLinesOptions) []pipeline.Value {
	t := &textOptions{place: o.FS, root: o.Root, files: o.Files, endings: []string{".jsonl", ".ndjson"}, columns: o.Columns}
	return readText(g, "readers.JSONLines", jsonFormat{}, t, pipeline.ReaderOptions{
		Name: o.Name, NumShards: o.NumShards, ShardID: o.ShardID,
		StickToShard: o.StickToShard, PadLastBatch: o.PadLastBatch, Shuffle: o.Shuffle, Split: o.Split, Follow: o.Follow,
	})
}

type jsonFormat struct{}

// split finds the lines that have more than blanks.
func (jsonFormat) split(w *textWindow, starts []int64) ([]int64, int64, error) {
	begin, empty, end := int64(0), true, int64(0)
	for {
		text, at, err := w.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, 0, err
		}
		if begin == 0 && empty {
			begin = at
		}
		for len(text) > 0 {
			line := text
			i := bytes.IndexByte(text, '\n')
			if i >= 0 {
				line = text[:i]
			}
			if empty && len(bytes.TrimSpace(line)) > 0 {
				starts, empty = append(starts, begin), false
			}
			if i < 0 {
				break
			}
			at += int64(i) + 1
			if !empty {
				end = at
			}
			begin, empty = at, true
			text = text[i+1:]
		}
	}
	if !empty {
		end = w.size
	}
	return starts, end, nil
}

func (j jsonFormat) resolve(t *textTable, first []byte) error {
	if !json.Valid(first) {
		return fmt.Errorf("%s: %w", t.Describe(0), errJSON(first))
	}
	for i := range t.fields {
		f := &t.fields[i]
		f.path = strings.Split(f.Name, ".")
		value, err := lookUp(first, f)
		if err == nil && !f.Label {
			err = f.resolveJSON(value)
		}
		if err != nil {
			return fmt.Errorf("%s: column %s: %w", t.Describe(0), shown(f.Name), err)
		}
	}
	return nil
}

// resolveJSON finds out what a member is.
func (f *textField) resolveJSON(value []byte) error {
	element := value
	for len(element) > 0 && element[0] == '[' {
		f.deep++
		element = trimBlanks(element[1:])
	}
	f.spec = datum.Spec{DType: f.DType, Layout: f.Layout, Shape: f.Shape}
	switch {
	case f.DType == datum.Float16:
		return errors.New("float16 cannot be read from text; take float32, and ops.Cast")
	case f.deep > datum.MaxDims:
		return fmt.Errorf("lists within lists, %d deep; an output has at most %d dimensions", f.deep, datum.MaxDims)
	case len(element) > 0 && element[0] == '"':
		f.text = true
		if f.deep > 0 || f.DType != 0 {
			return errors.New("it is text, of which there can be one in a row, without a DType; write numbers, or one row for each text")
		}
		f.spec.DType = datum.Uint8
		if f.Shape == nil {
			f.spec.Shape = []int{-1}
		}
		return nil
	case len(element) > 0 && element[0] == '{':
		return errors.New("it is an object; name one of its members, behind a dot")
	case f.DType == 0 && len(element) > 0 && (element[0] == 't' || element[0] == 'f'):
		f.spec.DType = datum.Bool
	case f.DType == 0:
		f.spec.DType = datum.Float64
	}
	if f.Shape == nil {
		f.spec.Shape = slices.Repeat([]int{-1}, f.deep)
	} else if f.deep == 0 {
		return errors.New("it is one number; leave Shape out")
	}
	return nil
}

// errJSON says what is wrong with a line.
func errJSON(line []byte) error {
	var v any
	if err := json.Unmarshal(line, &v); err != nil {
		return fmt.Errorf("the line is no JSON: %w", err)
	}
	return errors.New("the line is no JSON")
}

func (jsonFormat) parse(record []byte, _ *textRoom) error {
	if !json.Valid(record) {
		return errJSON(record)
	}
	return nil
}

func (jsonFormat) put(t *datum.Tensor, f *textField, _ int, room *textRoom) error {
	value, err := lookUp(room.record, f)
	if err != nil {
		return err
	}
	if f.text {
		text, err := unquote(value, room)
		if err != nil {
			return err
		}
		return f.putText(t, text)
	}
	var dims [datum.MaxDims]int
	own := dims[:f.deep]
	if err := extents(value, own); err != nil {
		return err
	}
	shape := own
	if f.Shape != nil {
		if shape = f.Shape; count(own) != count(shape) || len(own) > 1 && !slices.Equal(own, shape) {
			return fmt.Errorf("the row is %v; %v is declared", append([]int{}, own...), append([]int{}, shape...))
		}
	}
	mem, err := t.Resize(shape...)
	if err != nil {
		return err
	}
	i := 0
	_, err = putNumbers(mem, f.spec.DType, value, own, &i)
	return err
}

func (jsonFormat) label(f *textField, _ int, room *textRoom) ([]byte, error) {
	value, err := lookUp(room.record, f)
	switch {
	case err != nil:
		return nil, err
	case value[0] == '"':
		return unquote(value, room)
	case value[0] == '{' || value[0] == '[':
		return nil, fmt.Errorf("%s is no label, which is one whole number or a text", brief(value))
	}
	return value[:scalarEnd(value)], nil
}

// lookUp returns the value of a member, and what comes behind it. The record is valid.
func lookUp(record []byte, f *textField) ([]byte, error) {
	value := trimBlanks(record)
	for depth, name := range f.path {
		if len(value) == 0 || value[0] != '{' {
			if depth == 0 {
				return nil, errors.New("the line is no object")
			}
			return nil, fmt.Errorf("%s is no object", shown(strings.Join(f.path[:depth], ".")))
		}
		found := memberOf(value, name)
		if found == nil {
			return nil, errors.New("the object has no such member")
		}
		value = found
	}
	if bytes.HasPrefix(value, []byte("null")) {
		return nil, errors.New("the value is missing (null)")
	}
	return value, nil
}

// memberOf returns the last member of a name of an object, as package json takes it, and
// what comes behind; nil where there is none.
func memberOf(object []byte, name string) (value []byte) {
	rest := trimBlanks(object[1:])
	for len(rest) > 0 && rest[0] == '"' {
		key := rest[:stringEnd(rest)]
		rest = trimBlanks(rest[len(key):])
		rest = trimBlanks(rest[1:]) // behind the colon
		if sameKey(key, name) {
			value = rest
		}
		rest = trimBlanks(rest[valueEnd(rest):])
		if len(rest) == 0 || rest[0] != ',' {
			break
		}
		rest = trimBlanks(rest[1:])
	}
	return value
}

func sameKey(key []byte, name string) bool {
	inner := key[1 : len(key)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == name
	}
	var plain string
	return json.Unmarshal(key, &plain) == nil && plain == name
}

// trimBlanks cuts what JSON allows between its parts.
func trimBlanks(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\t' || text[0] == '\n' || text[0] == '\r') {
		text = text[1:]
	}
	return text
}

// stringEnd returns where a string ends that text begins with.
func stringEnd(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// scalarEnd returns where a number, true, false or null ends.
func scalarEnd(text []byte) int {
	for i, b := range text {
		switch b {
		case ',', ']', '}', ' ', '\t', '\n', '\r':
			return i
		}
	}
	return len(text)
}

// valueEnd returns where a value ends that text begins with.
func valueEnd(text []byte) int {
	depth := 0
	for i := 0; i < len(text); {
		switch text[i] {
		case '"':
			i += stringEnd(text[i:])
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\t', '\n', '\r':
			i++
			continue
		default:
			i += scalarEnd(text[i:])
		}
		if depth == 0 {
			return i
		}
	}
	return len(text)
}

// unquote returns the text of a string.
func unquote(value []byte, room *textRoom) ([]byte, error) {
	if value[0] != '"' {
		return nil, fmt.Errorf("%s is no text, which it is in the first record", brief(value[:valueEnd(value)]))
	}
	quoted := value[:stringEnd(value)]
	if inner := quoted[1 : len(quoted)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return inner, nil
	}
	var plain string
	if err := json.Unmarshal(quoted, &plain); err != nil {
		return nil, err
	}
	room.spare = append(room.spare[:0], plain...)
	return room.spare, nil
}

var errUneven = errors.New("the lists within the row differ in length, so that it is no array")

// extents sets dims to the lengths of the lists that a value is, each by its first element.
func extents(value []byte, dims []int) error {
	for i := range dims {
		if len(value) == 0 || value[0] != '[' {
			return fmt.Errorf("%s is in the place of a list", brief(value[:min(len(value), valueEnd(value))]))
		}
		rest := trimBlanks(value[1:])
		value = rest
		for len(rest) > 0 && rest[0] != ']' {
			dims[i]++
			rest = trimBlanks(rest[valueEnd(rest):])
			if len(rest) > 0 && rest[0] == ',' {
				rest = trimBlanks(rest[1:])
			}
		}
		if dims[i] == 0 {
			return nil
		}
	}
	return nil
}

// putNumbers writes the numbers of lists of some lengths, and returns what comes behind
// them.
func putNumbers(mem []byte, dt datum.DType, value []byte, dims []int, i *int) (rest []byte, err error) {
	if len(dims) == 0 {
		n := scalarEnd(value)
		if n == 0 || value[0] == '"' || value[0] == '[' || value[0] == '{' {
			return nil, fmt.Errorf("%s is in the place of a number", brief(value[:min(len(value), valueEnd(value))]))
		}
		if bytes.HasPrefix(value, []byte("null")) {
			return nil, errors.New("the value is missing (null)")
		}
		err := putNumberText(mem, dt, *i, value[:n])
		*i++
		return value[n:], err
	}
	if len(value) == 0 || value[0] != '[' {
		return nil, fmt.Errorf("%s is in the place of a list", brief(value[:min(len(value), valueEnd(value))]))
	}
	rest = trimBlanks(value[1:])
	for k := range dims[0] {
		if len(rest) == 0 || rest[0] == ']' || k > 0 && rest[0] != ',' {
			return nil, errUneven
		}
		if k > 0 {
			rest = trimBlanks(rest[1:])
		}
		if rest, err = putNumbers(mem, dt, rest, dims[1:], i); err != nil {
			return nil, err
		}
		rest = trimBlanks(rest)
	}
	if len(rest) == 0 || rest[0] != ']' {
		return nil, errUneven
	}
	return rest[1:], nil
}
