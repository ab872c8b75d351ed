package index

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// MDS, the format of MosaicML's streaming: a shard begins with the number of samples,
// where each of them begins and, last, where the shard ends, all as uint32, and a
// description in JSON. A sample begins with the lengths of its columns of no fixed length.
// All numbers are little-endian. The index.json beside the shards says nothing more.
func init() {
	add(&format{name: "mds", endings: []string{".mds"}, scan: scanMDS})
}

// mdsHeader is the description in a shard.
type mdsHeader struct {
	Names       []string `json:"column_names"`
	Encodings   []string `json:"column_encodings"`
	Sizes       []*int64 `json:"column_sizes"` // null where it differs from sample to sample
	Compression *string  `json:"compression"`
	Format      string   `json:"format"`
}

// longestMDSHeader is the longest description that is read, in bytes.
const longestMDSHeader = 1 << 20

func scanMDS(w *window, b *Builder, o *Options) error {
	head, err := w.at(0, 4)
	if err != nil {
		return w.broken(0, "no MDS shard: it has no number of samples")
	}
	n := int64(binary.LittleEndian.Uint32(head))
	table := Part{4, 4 * (n + 1)}
	if table.Length > w.object.Size-4 {
		return w.broken(0, "the shard is to have %d samples, more than its %d bytes hold: it was cut off, or is no MDS shard", n, w.object.Size)
	}
	first, err := mdsOffset(w, 0)
	if err != nil {
		return err
	}
	h, err := readMDSHeader(w, Part{4 + table.Length, first - 4 - table.Length})
	if err != nil {
		return err
	}
	s := mdsScan{w: w, b: b, h: h, label: -1}
	for i, name := range h.Names {
		f, err := b.Field(name, Bytes)
		if err != nil {
			return err
		}
		s.fields = append(s.fields, f)
		if o.isLabel(name, "label") && mdsNumber[h.Encodings[i]] {
			s.label = i
		}
	}
	for i := range n {
		end, err := mdsOffset(w, i+1)
		if err != nil {
			return err
		}
		if end < first || end > w.object.Size {
			return w.broken(4*(i+2), "sample %d is to end at byte %d of %d: the shard was cut off; copy or write it again", i, end, w.object.Size)
		}
		if err := s.sample(first, end); err != nil {
			return err
		}
		first = end
	}
	return nil
}

// mdsOffset reads where a sample begins.
func mdsOffset(w *window, sample int64) (int64, error) {
	b, err := w.at(4*(sample+1), 4)
	if err != nil {
		return 0, err
	}
	return int64(binary.LittleEndian.Uint32(b)), nil
}

// readMDSHeader reads the description.
func readMDSHeader(w *window, at Part) (*mdsHeader, error) {
	if at.Length < 0 || at.Length > longestMDSHeader || at.Offset+at.Length > w.object.Size {
		return nil, w.broken(at.Offset, "no MDS shard: its description is missing")
	}
	text := make([]byte, at.Length)
	if _, err := io.ReadFull(io.NewSectionReader(windowAt{w}, at.Offset, at.Length), text); err != nil {
		return nil, err
	}
	h := &mdsHeader{}
	err := json.Unmarshal(text, h)
	switch {
	case err != nil:
		return nil, w.broken(at.Offset, "no MDS shard: its description is no JSON (%w)", err)
	case h.Format != "mds":
		return nil, w.broken(at.Offset, "the shard has the format %q; want mds", h.Format)
	case len(h.Names) != len(h.Encodings) || len(h.Names) != len(h.Sizes):
		return nil, w.broken(at.Offset, "the description names %d columns, %d encodings and %d sizes", len(h.Names), len(h.Encodings), len(h.Sizes))
	case slices.ContainsFunc(h.Sizes, func(n *int64) bool { return n != nil && (*n < 0 || *n > MaxBytes) }):
		return nil, w.broken(at.Offset, "a column has a size that no sample has")
	}
	return h, nil
}

// windowAt is a window as an io.ReaderAt.
type windowAt struct{ w *window }

func (a windowAt) ReadAt(p []byte, off int64) (int, error) {
	done := 0
	for done < len(p) {
		b, err := a.w.at(off+int64(done), min(len(p)-done, cap(a.w.mem)))
		if err != nil {
			return done, err
		}
		done += copy(p[done:], b)
	}
	return done, nil
}

// mdsNumber are the encodings of whole numbers that can be labels.
var mdsNumber = map[string]bool{
	"int": true, "int8": true, "int16": true, "int32": true, "int64": true,
	"uint8": true, "uint16": true, "uint32": true, "uint64": true,
}

// mdsScan makes samples of the stretches of a shard.
type mdsScan struct {
	w      *window
	b      *Builder
	h      *mdsHeader
	fields []int // of the columns
	label  int   // the column that is the label, or -1
	parts  []Part
}

// sample adds what lies between two bytes.
func (m *mdsScan) sample(start, end int64) error {
	s := Sample{Object: len(m.b.x.objects) - 1, Label: NoLabel}
	m.parts = append(m.parts[:0], make([]Part, len(m.b.x.fields))...)
	sizes, pos := start, start
	for _, size := range m.h.Sizes {
		if size == nil {
			pos += 4
		}
	}
	for i, size := range m.h.Sizes {
		p := Part{Offset: pos}
		if size != nil {
			p.Length = *size
		} else {
			b, err := m.w.at(sizes, 4)
			if err != nil {
				return err
			}
			p.Length = int64(binary.LittleEndian.Uint32(b))
			sizes += 4
		}
		if pos += p.Length; pos > end {
			s.Wrong = fmt.Sprintf("the column %s ends behind the sample: the shard is damaged", m.b.x.fields[m.fields[i]].Shown())
			return m.b.Add(s)
		}
		m.parts[m.fields[i]] = p
	}
	if m.label >= 0 {
		var err error
		if s.Label, err = m.number(m.parts[m.fields[m.label]]); err != nil {
			return err
		}
	}
	s.Parts = m.parts
	return m.b.Add(s)
}

// number reads a label.
func (m *mdsScan) number(p Part) (int32, error) {
	if p.Length < 1 || p.Length > 8 {
		return NoLabel, nil
	}
	b, err := m.w.at(p.Offset, int(p.Length))
	if err != nil {
		return NoLabel, err
	}
	var wide [8]byte
	copy(wide[:], b)
	if v := binary.LittleEndian.Uint64(wide[:]); v < 1<<31-1 {
		return int32(v), nil
	}
	return NoLabel, nil
}
