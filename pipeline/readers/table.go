package readers

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/planktonml/plankton/internal/labels"
	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/storage"
)

// textTable is a data set whose samples are records of text files, such as lines.
type textTable struct {
	place storage.RangeReader
	shown string // in front of the names of files in messages
	files []textFile
	start []int64 // byte of every record in its file
	end   []int64 // of every file: where its last record ends

	format  textFormat
	fields  []textField
	specs   []datum.Spec
	meta    datum.Meta
	classes *labels.Labels // nil where there are none
	rooms   textRooms
}

// textFormat knows what records of a format look like.
type textFormat interface {
	// split adds where records begin in a file to starts, and returns where the last one ends.
	split(w *textWindow, starts []int64) (more []int64, end int64, err error)
	// resolve finds the columns of the fields, by the first record of the first file.
	resolve(t *textTable, first []byte) error
	// parse finds the fields of a record: room has a place for each.
	parse(record []byte, room *textRoom) error
	// put makes a tensor of a field that parse has found.
	put(t *datum.Tensor, f *textField, i int, room *textRoom) error
	// label returns the text of a field, or the digits of a number.
	label(f *textField, i int, room *textRoom) ([]byte, error)
}

type textFile struct {
	name     string
	size     int64
	modified time.Time
	first    int64 // record
	sum      uint32
}

// textField is an output.
type textField struct {
	Field
	spec    datum.Spec
	columns []int    // of CSV
	path    []string // of JSON
	deep    int      // of JSON: lists within lists
	text    bool     // bytes, and no numbers
}

// textRoom is memory for a record and its fields.
type textRoom struct {
	record []byte
	found  [][]byte // of each column, or field
	spare  []byte   // for what is not in the record as it is
}

// textRooms are the rooms of a table that nobody uses: as many as there were workers.
type textRooms struct {
	mu   sync.Mutex
	free []*textRoom
}

func (r *textRooms) get() *textRoom {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.free)
	if n == 0 {
		return new(textRoom)
	}
	room := r.free[n-1]
	r.free = r.free[:n-1]
	return room
}

func (r *textRooms) put(room *textRoom) {
	r.mu.Lock()
	r.free = append(r.free, room)
	r.mu.Unlock()
}

// openTextTable finds the files, and the records in them.
func openTextTable(ctx context.Context, format textFormat, o *textOptions) (*textTable, error) {
	t := &textTable{format: format}
	names, err := t.locate(o)
	if err != nil {
		return nil, err
	}
	if len(o.columns) == 0 {
		return nil, errors.New("Columns is empty; choose at least one")
	}
	for _, f := range o.columns {
		if err := f.Check(); err != nil {
			return nil, err
		}
		if f.Label && slices.ContainsFunc(t.fields, func(other textField) bool { return other.Label }) {
			return nil, fmt.Errorf("column %s is a second Label; a data set has one", shown(f.Name))
		}
		t.fields = append(t.fields, textField{Field: f})
	}
	for _, name := range names {
		if err := t.add(ctx, name); err != nil {
			return nil, fmt.Errorf("%s: %w", shown(name), cause(err))
		}
	}
	if len(t.start) == 0 {
		return nil, fmt.Errorf("%s has no records; give files with records", shown(names[0]))
	}
	if err := t.resolve(ctx); err != nil {
		return nil, err
	}
	return t, t.describe()
}

// textOptions are what the readers of text files have in common.
type textOptions struct {
	place   fs.FS
	root    string
	files   []string
	endings []string
	columns []Field
}

// locate finds the place and the names of the files.
func (t *textTable) locate(o *textOptions) ([]string, error) {
	place, root := o.place, o.root
	switch {
	case place == nil && root == "":
		return nil, errors.New("neither Root nor FS is given; name the folder of the files, or a file")
	case place == nil:
		dir, err := filepath.Abs(root)
		if err != nil {
			return nil, fmt.Errorf("Root: %w", err)
		}
		if info, err := os.Stat(dir); err == nil && !info.IsDir() && o.files == nil {
			o.files = []string{filepath.Base(dir)}
			dir = filepath.Dir(dir)
		}
		if t.shown = dir; !os.IsPathSeparator(dir[len(dir)-1]) {
			t.shown += string(filepath.Separator)
		}
		place = os.DirFS(dir)
	case root != "" && root != ".":
		info, err := fs.Stat(place, root)
		if err != nil {
			return nil, fmt.Errorf("Root %s: %w", shown(root), cause(err))
		}
		if !info.IsDir() && o.files == nil {
			o.files = []string{path.Base(root)}
			root = path.Dir(root)
		}
		if place, err = fs.Sub(place, root); err != nil {
			return nil, fmt.Errorf("Root: %w", err)
		}
		t.shown = root + "/"
	}
	t.place = storage.Keep(place, 64)
	if o.files != nil {
		for i, name := range o.files {
			if !fs.ValidPath(name) || slices.Contains(o.files[:i], name) {
				return nil, fmt.Errorf("Files[%d] is %s; want the path of a file below Root, with slashes, once", i, shown(name))
			}
		}
		return o.files, nil
	}
	entries, err := fs.ReadDir(place, ".")
	if err != nil {
		return nil, fmt.Errorf("Root %s: %w", shown(o.root), cause(err))
	}
	var names []string
	for _, e := range entries {
		if ext := strings.ToLower(path.Ext(e.Name())); !e.IsDir() && !strings.HasPrefix(e.Name(), ".") && slices.Contains(o.endings, ext) {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("Root %s holds no file that ends in one of %s; give another folder, or name Files", shown(o.root), strings.Join(o.endings, " "))
	}
	return names, nil
}

// add finds the records of a file.
func (t *textTable) add(ctx context.Context, name string) error {
	info, err := fs.Stat(t.place, name)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return notRegular(info.Mode().Type())
	case info.Size() == 0:
		return errors.New("the file is empty")
	}
	f := textFile{name: name, size: info.Size(), modified: info.ModTime(), first: int64(len(t.start))}
	w := &textWindow{ctx: ctx, place: t.place, name: name, size: f.size}
	if err := w.refuseCompressed(); err != nil {
		return err
	}
	var end int64
	if t.start, end, err = t.format.split(w, t.start); err != nil {
		return err
	}
	f.sum = w.sum
	t.files, t.end = append(t.files, f), append(t.end, end)
	return nil
}

// resolve finds the columns, and reads the labels.
func (t *textTable) resolve(ctx context.Context) error {
	room := t.rooms.get()
	defer t.rooms.put(room)
	if err := t.fetch(ctx, 0, room); err != nil {
		return fmt.Errorf("%s: %w", t.Describe(0), err)
	}
	if err := t.format.resolve(t, room.record); err != nil {
		return err
	}
	at := slices.IndexFunc(t.fields, func(f textField) bool { return f.Label })
	if at < 0 {
		return nil
	}
	return t.readLabels(ctx, at, room)
}

// readLabels reads the labels of all records: whole numbers, where all are, or texts.
func (t *textTable) readLabels(ctx context.Context, at int, room *textRoom) error {
	f := &t.fields[at]
	numbers := make([]int64, len(t.start))
	of, place, texts := make([]int32, len(t.start)), map[string]int32{}, []string(nil)
	whole := f.ClassNames == nil
	for i := range t.start {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		err := t.fetch(ctx, int64(i), room)
		if err == nil {
			err = t.format.parse(room.record, room)
		}
		var text []byte
		if err == nil {
			text, err = t.format.label(f, at, room)
		}
		if err != nil {
			return fmt.Errorf("%s: column %s: %w", t.Describe(int64(i)), shown(f.Name), err)
		}
		if whole {
			numbers[i], err = strconv.ParseInt(string(text), 10, 64)
			whole = err == nil
		}
		n, ok := place[string(text)]
		if !ok {
			n = int32(len(texts))
			texts = append(texts, string(text))
			place[texts[n]] = n
		}
		of[i] = n
	}
	name := func(i int) string { return t.Describe(int64(i)) + ": column " + shown(f.Name) }
	var err error
	if whole {
		t.classes, err = labels.Whole(numbers, f.Classes, nil, name)
	} else {
		t.classes, err = labels.Texts(texts, of, f.Classes, f.ClassNames, name)
	}
	return err
}

// describe sets the outputs and the fingerprint: one of the content of the files, the
// fields and the labels.
func (t *textTable) describe() error {
	h := sha256.New()
	for _, f := range t.files {
		fmt.Fprintf(h, "%q %d %08x\n", f.name, f.size, f.sum)
	}
	for i := range t.fields {
		f := &t.fields[i]
		if f.Label {
			f.spec = datum.Spec{DType: datum.Int32, Classes: t.classes.Classes}
			t.meta.Classes = t.classes.Names
		}
		fmt.Fprintf(h, "%q %v %d\n", f.Name, f.spec, f.spec.Classes)
		t.specs = append(t.specs, f.spec)
	}
	t.meta.Fingerprint = binary.LittleEndian.Uint64(h.Sum(nil))
	return nil
}

func (t *textTable) Len() int64            { return int64(len(t.start)) }
func (t *textTable) Outputs() []datum.Spec { return t.specs }
func (t *textTable) Meta() datum.Meta      { return t.meta }

// fileOf returns the file of a record: the last one that begins with it or before, since
// files may have no records.
func (t *textTable) fileOf(index int64) int {
	return sort.Search(len(t.files), func(i int) bool { return t.files[i].first > index }) - 1
}

// EntryName implements [datum.Listed]: a record is named by its file and its number there,
// from 0.
func (t *textTable) EntryName(index int64) string {
	f := &t.files[t.fileOf(index)]
	return fmt.Sprintf("%s[%d]", f.name, index-f.first)
}

// Label implements [datum.Labelled].
func (t *textTable) Label(index int64) (int32, bool) {
	if t.classes == nil {
		return 0, false
	}
	return t.classes.Of[index], true
}

// Describe returns the file, the number of the record in it, from 0, and its byte.
func (t *textTable) Describe(index int64) string {
	f := &t.files[t.fileOf(index)]
	return fmt.Sprintf("%s%s: record %d, byte %d", t.shown, f.name, index-f.first, t.start[index])
}

// errMoved says that a record does not lie where it was found.
var errMoved = errors.New("another record lies here than when the file was opened: the file was changed since; begin again")

// fetch reads a record, without the end of its line.
func (t *textTable) fetch(ctx context.Context, index int64, room *textRoom) error {
	at := t.fileOf(index)
	from, to := t.start[index], t.end[at]
	if index+1 < int64(len(t.start)) && (at+1 == len(t.files) || index+1 < t.files[at+1].first) {
		to = t.start[index+1]
	}
	before := min(from, 1) // the end of the line before tells whether records lie where they did
	n := int(to - from + before)
	room.record = slices.Grow(room.record[:0], n)[:n]
	if err := storage.ReadRange(ctx, t.place, t.files[at].name, from-before, room.record); err != nil {
		return err
	}
	last := room.record[n-1]
	if before > 0 && room.record[0] != '\n' && !(from == int64(len(byteOrderMark)) && room.record[0] == byteOrderMark[2]) || last != '\n' && to != t.files[at].size {
		return errMoved
	}
	room.record = trimEnd(room.record[before:])
	return nil
}

// trimEnd cuts ends of lines.
func trimEnd(record []byte) []byte {
	for len(record) > 0 && (record[len(record)-1] == '\n' || record[len(record)-1] == '\r') {
		record = record[:len(record)-1]
	}
	return record
}

func (t *textTable) Read(ctx context.Context, index int64, out []*datum.Tensor) error {
	room := t.rooms.get()
	defer t.rooms.put(room)
	if err := t.fetch(ctx, index, room); err != nil {
		return err
	}
	if err := t.format.parse(room.record, room); err != nil {
		return err
	}
	for i := range t.fields {
		f := &t.fields[i]
		var err error
		if f.Label {
			err = putLabel(out[i], t.classes.Of[index])
		} else {
			err = t.format.put(out[i], f, i, room)
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", shown(f.Name), err)
		}
	}
	return nil
}

// putText makes a tensor of bytes.
func (f *textField) putText(t *datum.Tensor, text []byte) error {
	shape := f.Shape
	var one [1]int
	if shape == nil {
		one[0] = len(text)
		shape = one[:]
	} else if n := count(shape); n != len(text) {
		return fmt.Errorf("the row has %d bytes; %d are declared", len(text), n)
	}
	mem, err := t.Resize(shape...)
	copy(mem, text)
	return err
}

func count(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// putNumberText writes the number that a text is at a place of memory.
func putNumberText(mem []byte, dt datum.DType, i int, digits []byte) error {
	text := unsafe.String(unsafe.SliceData(digits), len(digits)) // it is not kept
	size := dt.Size()
	to := mem[i*size : (i+1)*size]
	var err error
	switch dt {
	case datum.Float32, datum.Float64:
		var v float64
		v, err = strconv.ParseFloat(text, 8*size)
		if dt == datum.Float32 {
			binary.NativeEndian.PutUint32(to, math.Float32bits(float32(v)))
		} else {
			binary.NativeEndian.PutUint64(to, math.Float64bits(v))
		}
	case datum.Bool:
		switch text {
		case "true", "True", "TRUE", "1":
			to[0] = 1
		case "false", "False", "FALSE", "0":
			to[0] = 0
		default:
			err = strconv.ErrSyntax
		}
	case datum.Uint8, datum.Uint16, datum.Uint32, datum.Uint64:
		var v uint64
		v, err = strconv.ParseUint(text, 10, 8*size)
		putWhole(to, v)
	default:
		var v int64
		v, err = strconv.ParseInt(text, 10, 8*size)
		putWhole(to, uint64(v))
	}
	if err != nil {
		if errors.Is(err, strconv.ErrRange) {
			return fmt.Errorf("%s is out of the range of %s", brief(digits), dt)
		}
		return fmt.Errorf("%s is no %s", brief(digits), dt)
	}
	return nil
}

// putWhole writes the low bytes of a whole number.
func putWhole(to []byte, v uint64) {
	switch len(to) {
	case 1:
		to[0] = byte(v)
	case 2:
		binary.NativeEndian.PutUint16(to, uint16(v))
	case 4:
		binary.NativeEndian.PutUint32(to, uint32(v))
	default:
		binary.NativeEndian.PutUint64(to, v)
	}
}

// brief shows the beginning of a text.
func brief(text []byte) string {
	const most = 40
	if len(text) > most {
		return printable.Name(string(text[:most])) + "…"
	}
	return printable.Name(string(text))
}
