package readers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// CSVOptions configures [CSV]. Root or FS, and Columns, must be given.
type CSVOptions struct {
	Name string // of the reader; default "reader", "reader2", …

	// Root is a folder of .csv, .tsv or .txt files, which are read in the order of their
	// names, or one file. With FS it is a path in there, default ".".
	Root string
	// FS is the place of the files; default the file system of the machine.
	FS fs.FS
	// Files names files below Root one by one, in the order in which they are to be read.
	Files []string

	// Columns are the outputs. A Name that ends in "*" is all columns whose names begin
	// so, in the order of the file, as one array: "pixel*". With a DType and no Shape, the
	// column is one number.
	Columns []Field

	// NoHeader says that the first record is data: columns are named "0", "1", and so on.
	// All files must have the same columns in the same order.
	NoHeader bool

	// Comma separates the fields; default ',', or '\t' in files whose names end in .tsv.
	Comma byte

	NumShards    int  // the data set is cut into this many shards; default 1
	ShardID      int  // the shard that this reader starts with
	StickToShard bool // read the same shard in every epoch instead of moving on
	PadLastBatch bool // fill up with the last sample instead of going on
	Shuffle      bool // another order in every epoch

	Split pipeline.Split // the part of the data set to read, to train or to validate with; default the whole

	// Follow names the reader whose order this one takes; see [pipeline.ReaderOptions].
	Follow string
}

// CSV reads records of comma-separated values (RFC 4180): fields may be quoted, quotes in
// them are doubled, and quoted fields may have line breaks. Empty lines are left out.
//
// When the reader is added, one pass over the files finds where records begin, which takes
// 8 bytes for each; labels take 4 more. Records are then read where they lie, in any order.
// Files that are compressed as a whole are refused. The fingerprint is one of the content.
//
// A record with another number of fields than the header, and a number that is none, are
// errors of that sample. Reading allocates nothing.
func CSV(g *pipeline.Graph, o CSVOptions) []pipeline.Value {
	t := &textOptions{place: o.FS, root: o.Root, files: o.Files, endings: []string{".csv", ".tsv", ".txt"}, columns: o.Columns}
	return readText(g, "readers.CSV", &csvFormat{header: !o.NoHeader, comma: o.Comma}, t, pipeline.ReaderOptions{
		Name: o.Name, NumShards: o.NumShards, ShardID: o.ShardID,
		StickToShard: o.StickToShard, PadLastBatch: o.PadLastBatch, Shuffle: o.Shuffle, Split: o.Split, Follow: o.Follow,
	})
}

// readText adds a reader of text files.
func readText(g *pipeline.Graph, kind string, format textFormat, t *textOptions, r pipeline.ReaderOptions) []pipeline.Value {
	none := make([]pipeline.Value, len(t.columns))
	if g.Err() != nil {
		return none
	}
	src, err := openTextTable(context.Background(), format, t) // building a pipeline has no context of its own
	if err != nil {
		fail(g, kind, r.Name, err)
		return none
	}
	return g.Read(r, src)
}

type csvFormat struct {
	header bool
	comma  byte
	names  []string // of the columns
}

var errQuote = errors.New("a quoted field does not end: its closing quotation mark is missing")

// split finds the records. A quotation mark opens a quoted field only where a field begins.
func (c *csvFormat) split(w *textWindow, starts []int64) ([]int64, int64, error) {
	comma := c.comma
	if comma == 0 {
		comma = ','
		if strings.HasSuffix(strings.ToLower(w.name), ".tsv") {
			comma = '\t'
		}
		c.comma = comma
	}
	const (
		lineStart = iota
		fieldStart
		plain
		quoted
		closed // behind a quotation mark that ends a quoted field, or is the first of two in it
	)
	state, end := lineStart, int64(0)
	own := len(starts)
	for {
		text, at, err := w.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, 0, err
		}
		for i := 0; i < len(text); i++ {
			b := text[i]
			if state == lineStart {
				if b == '\n' || b == '\r' {
					continue
				}
				starts = append(starts, at+int64(i))
				state = fieldStart
			}
			switch {
			case state == quoted:
				if b == '"' {
					state = closed
				}
			case b == '"' && (state == fieldStart || state == closed):
				state = quoted
			case b == '\n':
				state = lineStart
				end = at + int64(i) + 1
			case b == comma:
				state = fieldStart
			default:
				state = plain
			}
		}
	}
	switch {
	case state == quoted:
		return nil, 0, fmt.Errorf("record %d, byte %d: %w", len(starts)-own-1, starts[len(starts)-1], errQuote)
	case state != lineStart:
		end = w.size
	}
	if !c.header || len(starts) == own {
		return starts, end, nil
	}
	return c.cutHeader(w, starts, own, end)
}

// cutHeader takes the header from the records of a file.
func (c *csvFormat) cutHeader(w *textWindow, starts []int64, own int, end int64) ([]int64, int64, error) {
	to := end
	if len(starts) > own+1 {
		to = starts[own+1]
	}
	line := make([]byte, to-starts[own])
	if err := readPart(w, starts[own], line); err != nil {
		return nil, 0, err
	}
	var room textRoom
	if err := c.cut(trimEnd(line), &room); err != nil {
		return nil, 0, fmt.Errorf("the header: %w", err)
	}
	var names []string
	for _, f := range room.found {
		names = append(names, strings.TrimSpace(string(f)))
	}
	if c.names != nil && !slices.Equal(c.names, names) {
		return nil, 0, fmt.Errorf("its columns are %s, those of the file before are %s; give files with the same columns", listOf(names), listOf(c.names))
	}
	c.names = names
	return slices.Delete(starts, own, own+1), end, nil
}

// listOf names columns for a message.
func listOf(names []string) string {
	const most = 12
	var words []string
	for _, n := range names[:min(len(names), most)] {
		words = append(words, shown(n))
	}
	if n := len(names) - most; n > 0 {
		words = append(words, fmt.Sprintf("%d more", n))
	}
	return strings.Join(words, ", ")
}

func (c *csvFormat) resolve(t *textTable, first []byte) error {
	var room textRoom
	if c.names == nil {
		if err := c.cut(first, &room); err != nil {
			return fmt.Errorf("%s: %w", t.Describe(0), err)
		}
		for i := range room.found {
			c.names = append(c.names, strconv.Itoa(i))
		}
	}
	for i := range t.fields {
		if err := c.resolveField(&t.fields[i]); err != nil {
			return fmt.Errorf("%s: %w", shown(t.files[0].name), err)
		}
	}
	return nil
}

func (c *csvFormat) resolveField(f *textField) error {
	prefix, several := strings.CutSuffix(f.Name, "*")
	for i, name := range c.names {
		if name == f.Name || several && strings.HasPrefix(name, prefix) {
			f.columns = append(f.columns, i)
		}
	}
	switch {
	case f.columns == nil:
		return fmt.Errorf("there is no column %s; there are %s", shown(f.Name), listOf(c.names))
	case !several && len(f.columns) > 1:
		return fmt.Errorf("%d columns are named %s; give them names of their own", len(f.columns), shown(f.Name))
	case several && (f.Label || f.DType == 0):
		return fmt.Errorf("columns %s are an array of numbers; give their DType", shown(f.Name))
	case f.Label:
		return nil
	case f.DType == datum.Float16:
		return fmt.Errorf("column %s: float16 cannot be read from text; take float32, and ops.Cast", shown(f.Name))
	}
	f.spec = datum.Spec{DType: f.DType, Layout: f.Layout, Shape: f.Shape}
	if f.text = f.DType == 0; f.text {
		f.spec.DType = datum.Uint8
		if f.Shape == nil {
			f.spec.Shape = []int{-1}
		}
		return nil
	}
	if several && f.Shape == nil {
		f.Shape = []int{len(f.columns)}
		f.spec.Shape = f.Shape
	}
	if n := count(f.Shape); n != len(f.columns) {
		return fmt.Errorf("column %s: Shape %v has %d elements, there are %d columns", shown(f.Name), f.Shape, n, len(f.columns))
	}
	return nil
}

// parse cuts a record into fields.
func (c *csvFormat) parse(record []byte, room *textRoom) error {
	if err := c.cut(record, room); err != nil {
		return err
	}
	if len(room.found) != len(c.names) {
		return fmt.Errorf("the record has %d fields; want %d, as the first one has", len(room.found), len(c.names))
	}
	return nil
}

// cut sets room.found to the fields of a record.
func (c *csvFormat) cut(record []byte, room *textRoom) error {
	room.found, room.spare = room.found[:0], slices.Grow(room.spare[:0], len(record))
	for {
		if len(record) == 0 || record[0] != '"' {
			i := bytes.IndexByte(record, c.comma)
			if i < 0 {
				room.found = append(room.found, record)
				return nil
			}
			room.found = append(room.found, record[:i])
			record = record[i+1:]
			continue
		}
		from := len(room.spare)
		record = record[1:]
		for {
			i := bytes.IndexByte(record, '"')
			if i < 0 {
				return errQuote
			}
			room.spare = append(room.spare, record[:i]...)
			record = record[i+1:]
			if len(record) == 0 || record[0] != '"' {
				break
			}
			room.spare = append(room.spare, '"')
			record = record[1:]
		}
		room.found = append(room.found, room.spare[from:])
		if len(record) == 0 {
			return nil
		}
		if record[0] != c.comma {
			return fmt.Errorf("field %d goes on with %s behind its closing quotation mark; double quotation marks within it", len(room.found)-1, brief(record))
		}
		record = record[1:]
	}
}

func (c *csvFormat) put(t *datum.Tensor, f *textField, _ int, room *textRoom) error {
	if f.text {
		return f.putText(t, room.found[f.columns[0]])
	}
	mem, err := t.Resize(f.spec.Shape...)
	if err != nil {
		return err
	}
	for i, column := range f.columns {
		if err := putNumberText(mem, f.DType, i, bytes.TrimSpace(room.found[column])); err != nil {
			return err
		}
	}
	return nil
}

func (c *csvFormat) label(f *textField, _ int, room *textRoom) ([]byte, error) {
	text := bytes.TrimSpace(room.found[f.columns[0]])
	if len(text) == 0 {
		return nil, errors.New("the label is missing")
	}
	return text, nil
}
