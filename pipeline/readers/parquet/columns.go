package parquet

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/planktonml/plankton/internal/labels"
	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/readers"
)

// choose finds the columns in the first file.
func (s *Source) choose(o *Options) error {
	first := s.files[0]
	known := features(first)
	chosen := o.Columns
	if chosen == nil {
		var err error
		if chosen, err = picturesOf(first, known, o.Unlabelled); err != nil {
			return fmt.Errorf("%s: %w", printable.Name(first.name), err)
		}
	}
	labelled := false
	for _, c := range chosen {
		f := field{Field: c}
		if c.Name == noColumn {
			f.spec = datum.Spec{DType: datum.Int32}
			s.fields = append(s.fields, f)
			continue
		}
		if err := c.Check(); err != nil {
			return err
		}
		var err error
		if f.leaf, err = find(first.leaves, c.Name); err == nil {
			err = f.resolve(known[c.Name])
		}
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", printable.Name(first.name), err)
		case f.Label && labelled:
			return fmt.Errorf("column %s is a second Label; a data set has one", printable.Name(c.Name))
		}
		labelled = labelled || f.Label
		s.fields = append(s.fields, f)
	}
	if len(s.fields) == 0 {
		return errors.New("Columns is empty; choose at least one, or leave it out for a picture and its label")
	}
	return nil
}

// noColumn is the name of labels of which there are none.
const noColumn = "\x00"

// resolve works out what the rows of a field are.
func (f *field) resolve(known feature) error {
	l := f.leaf
	name := printable.Name(f.Name)
	switch {
	case f.DType != 0 && f.DType != l.dtype:
		return fmt.Errorf("column %s, but DType is %s; leave it out, and cast by ops.Cast", l.describe(), f.DType)
	case f.Label && !l.whole() && !(l.bytes() && l.flat()):
		return fmt.Errorf("column %s cannot be a Label, which is one whole number or a text", l.describe())
	}
	if f.Label {
		if f.ClassNames == nil && (f.Classes == 0 || f.Classes == len(known.Names)) && l.whole() {
			f.ClassNames = known.Names
		}
		f.spec = datum.Spec{DType: datum.Int32}
		return nil
	}
	f.spec = l.spec()
	f.spec.Layout = f.Layout
	if f.Shape != nil {
		f.spec.Shape = slices.Clone(f.Shape)
		if l.flat() && !l.bytes() && !l.pieces() {
			return fmt.Errorf("column %s has one number in each row; leave Shape out", name)
		}
	}
	return nil
}

// feature is what Hugging Face's data sets say of a column.
type feature struct {
	Type  string   `json:"_type"`
	Names []string `json:"names"`
}

// features returns what a file written by the library datasets says of its columns.
func features(f *file) map[string]feature {
	for _, kv := range f.meta.KeyValueMetadata {
		if kv.Key != "huggingface" {
			continue
		}
		var said struct {
			Info struct {
				Features map[string]json.RawMessage `json:"features"`
			} `json:"info"`
		}
		if json.Unmarshal([]byte(kv.Value), &said) != nil {
			return nil
		}
		all := map[string]feature{}
		for name, text := range said.Info.Features {
			var one feature
			if json.Unmarshal(text, &one) == nil { // a list or struct of features is none of these
				all[name] = one
			}
		}
		return all
	}
	return nil
}

// The names that columns of pictures and labels usually have.
var (
	pictureNames = []string{"image", "img", "picture", "photo", "jpg", "jpeg", "png", "image_bytes", "image/encoded"}
	labelNames   = []string{"label", "labels", "class", "cls", "target", "fine_label", "image/class/label"}
)

// picturesOf finds the columns of the picture and of its label.
func picturesOf(f *file, known map[string]feature, unlabelled bool) ([]readers.Field, error) {
	var pictures, named, whole []string
	for _, l := range f.leaves {
		top, rest, _ := strings.Cut(l.name, ".")
		switch {
		case l.wrong != nil || !l.flat():
		case l.bytes() && rest == "bytes" && (known[top].Type == "Image" || slices.Contains(pictureNames, strings.ToLower(top))):
			pictures = append(pictures, top)
		case l.bytes() && !l.text && slices.Contains(pictureNames, strings.ToLower(l.name)):
			pictures = append(pictures, l.name)
		case l.whole() && (known[l.name].Type == "ClassLabel" || slices.Contains(labelNames, strings.ToLower(l.name))):
			named = append(named, l.name)
		case l.whole() && rest == "":
			whole = append(whole, l.name)
		}
	}
	if len(pictures) != 1 {
		return nil, fmt.Errorf("%d columns look like encoded pictures; name the one in Columns; there are %s", len(pictures), listed(f.leaves))
	}
	fields := []readers.Field{{Name: pictures[0]}}
	if len(named) == 0 && len(whole) == 1 {
		named = whole
	}
	switch {
	case len(named) == 1:
		return append(fields, readers.Field{Name: named[0], Label: true}), nil
	case len(named) > 1:
		return nil, fmt.Errorf("%d columns look like labels (%s); name the one in Columns", len(named), strings.Join(named, ", "))
	case unlabelled:
		return append(fields, readers.Field{Name: noColumn, Label: true}), nil
	}
	return fields, nil
}

// readLabels reads the column of the labels of all rows.
func (s *Source) readLabels(ctx context.Context) error {
	at := slices.IndexFunc(s.fields, func(f field) bool { return f.Label && f.leaf != nil })
	if at < 0 {
		return nil
	}
	f := &s.fields[at]
	values := make([]int64, s.rows)
	texts := make([]string, 0)
	place := map[string]int64{}
	found := make([][]string, len(s.groups)) // of texts: those of a row group, as labels are read at once
	err := each(len(s.groups), func(i int) (err error) {
		g := &s.groups[i]
		found[i], err = s.labelsOf(ctx, i, at, values[g.first:g.first+g.rows])
		return err
	})
	if err != nil {
		return err
	}
	name := func(row int) string {
		return fmt.Sprintf("%s: column %s", s.Describe(int64(row)), printable.Name(f.Name))
	}
	if !f.leaf.bytes() {
		s.classes, err = labels.Whole(values, f.Classes, f.ClassNames, name)
		return err
	}
	of := make([]int32, len(values))
	for i, g := range s.groups {
		for row := g.first; row < g.first+g.rows; row++ {
			text := found[i][values[row]]
			t, ok := place[text]
			if !ok {
				t = int64(len(texts))
				place[text] = t
				texts = append(texts, text)
			}
			of[row] = int32(t)
		}
	}
	s.classes, err = labels.Texts(texts, of, f.Classes, f.ClassNames, name)
	return err
}

// labelsOf reads the labels of a row group. Texts are numbered in the order in which they
// come.
func (s *Source) labelsOf(ctx context.Context, at, field int, into []int64) (texts []string, err error) {
	l := s.fields[field].leaf
	place := map[string]int64{}
	for row := int64(0); row < int64(len(into)); {
		e, first, err := s.page(ctx, at, field, row)
		if err != nil {
			return nil, fmt.Errorf("%s: column %s: %w", s.Describe(s.groups[at].first+row), printable.Name(s.fields[field].Name), err)
		}
		for ; row < first+int64(e.block.rows); row++ {
			if !l.bytes() {
				into[row], err = e.block.whole(l, int(row-first))
			} else {
				var text []byte
				text, err = e.block.array(int(row - first))
				t, ok := place[string(text)]
				if !ok && err == nil {
					t = int64(len(texts))
					texts = append(texts, string(text))
					place[texts[t]] = t
				}
				into[row] = t
			}
			if err != nil {
				break
			}
		}
		s.cache.unpin(e)
		if err != nil {
			return nil, fmt.Errorf("%s: column %s: %w", s.Describe(s.groups[at].first+row), printable.Name(s.fields[field].Name), err)
		}
	}
	return texts, nil
}

// whole returns a row that is a whole number.
func (b *block) whole(l *leaf, row int) (int64, error) {
	i, err := b.value(row)
	if err != nil {
		return 0, err
	}
	size := l.dtype.Size()
	mem := b.values[i*size : (i+1)*size]
	switch l.dtype {
	case datum.Uint8, datum.Bool:
		return int64(mem[0]), nil
	case datum.Int8:
		return int64(int8(mem[0])), nil
	case datum.Uint16:
		return int64(binary.LittleEndian.Uint16(mem)), nil
	case datum.Int16:
		return int64(int16(binary.LittleEndian.Uint16(mem))), nil
	case datum.Uint32:
		return int64(binary.LittleEndian.Uint32(mem)), nil
	case datum.Int32:
		return int64(int32(binary.LittleEndian.Uint32(mem))), nil
	}
	return int64(binary.LittleEndian.Uint64(mem)), nil // above the range of labels it is below 0
}

// describe sets the outputs, the names of the classes and the fingerprint.
func (s *Source) describe() {
	h := sha256.New()
	for _, f := range s.files {
		fmt.Fprintf(h, "%q %d %d\n", f.name, f.size, f.rows)
	}
	for i := range s.fields {
		f := &s.fields[i]
		if f.Label && s.classes != nil {
			f.spec.Classes = s.classes.Classes
			s.meta.Classes = s.classes.Names
			_ = binary.Write(h, binary.LittleEndian, s.classes.Of)
		}
		fmt.Fprintf(h, "%q %v %d\n", f.Name, f.spec, f.spec.Classes)
		s.specs = append(s.specs, f.spec)
	}
	s.meta.Fingerprint = binary.LittleEndian.Uint64(h.Sum(nil))
}
