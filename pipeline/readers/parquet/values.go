package parquet

import (
	"encoding/binary"
	"errors"
	"io"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/planktonml/plankton/pipeline/datum"
)

// plainDictionary is the older number of format.RLEDictionary.
const plainDictionary = format.Encoding(2)

// values decodes n values.
func (d *decoder) values(b *block, page []byte, n int, encoding format.Encoding) error {
	l := d.leaf
	switch {
	case encoding == format.RLEDictionary || encoding == plainDictionary:
		return d.looked(b, page, n)
	case encoding == format.Plain && l.bytes():
		return b.plainBytes(page, n)
	case encoding == format.Plain && l.dtype != datum.Bool:
		if n > len(page)/l.size {
			return io.ErrUnexpectedEOF
		}
		b.values = page[:n*l.size]
	default:
		if err := d.encoded(b, page, n, encoding); err != nil {
			return err
		}
	}
	if l.narrow {
		b.values = narrowed(b.values, l.dtype.Size())
	}
	return nil
}

// encoded decodes what the library decodes.
func (d *decoder) encoded(b *block, page []byte, n int, encoding format.Encoding) error {
	l := d.leaf
	e := pq.LookupEncoding(encoding)
	if l.dtype == datum.Bool {
		mem := d.memory.get(n)
		b.own(mem)
		bits := page
		if encoding != format.Plain {
			values, err := l.typ.Decode(l.typ.NewValues(nil, nil), page, e)
			if err != nil {
				return err
			}
			bits = values.Boolean()
		}
		if n > 8*len(bits) {
			return io.ErrUnexpectedEOF
		}
		for i := range mem {
			mem[i] = bits[i/8] >> (i % 8) & 1
		}
		b.values = mem
		return nil
	}
	var offsets []uint32
	if l.bytes() {
		offsets = make([]uint32, 0, n+1)
	}
	values, err := l.typ.Decode(l.typ.NewValues(d.memory.get(l.typ.EstimateDecodeSize(n, page, e)), offsets), page, e)
	if err != nil {
		return err
	}
	data, offsets := values.Data()
	b.own(data)
	b.values = data
	if !l.bytes() {
		if len(data) < n*l.size {
			return io.ErrUnexpectedEOF
		}
		b.values = data[:n*l.size]
		return nil
	}
	if len(offsets) < n+1 {
		return io.ErrUnexpectedEOF
	}
	b.spans = make([]uint32, 0, 2*n)
	for i := range n {
		from, to := offsets[i], offsets[i+1]
		if from > to || uint64(to) > uint64(len(data)) {
			return errCorrupt
		}
		b.spans = append(b.spans, from, to)
	}
	return nil
}

// plainBytes finds byte arrays that have their lengths in front, and leaves them where
// they are.
func (b *block) plainBytes(page []byte, n int) error {
	if n > len(page)/4 {
		return io.ErrUnexpectedEOF
	}
	b.values, b.spans = page, make([]uint32, 0, 2*n)
	at := 0
	for range n {
		if len(page)-at < 4 {
			return io.ErrUnexpectedEOF
		}
		size := binary.LittleEndian.Uint32(page[at:])
		at += 4
		if uint64(size) > uint64(len(page)-at) {
			return io.ErrUnexpectedEOF
		}
		b.spans = append(b.spans, uint32(at), uint32(at)+size)
		at += int(size)
	}
	return nil
}

// looked decodes numbers of the dictionary.
func (d *decoder) looked(b *block, page []byte, n int) error {
	if d.dictionary == nil {
		return errors.New("it has numbers of a dictionary, and the column has none")
	}
	l := d.leaf
	entries := uint32(d.dictionary.rows)
	if n > 0 && len(page) == 0 {
		return io.ErrUnexpectedEOF
	}
	wrong := false
	if l.bytes() {
		if n > 1<<20 && n/(1<<20) > len(page) {
			return errCorrupt
		}
		ids := make([]uint32, n)
		if n > 0 {
			err := decodeRuns(page[1:], uint(page[0]), n, func(i int, v uint32) {
				wrong = wrong || v >= entries
				ids[i] = v
			})
			if err != nil {
				return err
			}
		}
		if wrong {
			return errCorrupt
		}
		b.ids, b.dictionary = ids, d.entry
		return nil
	}
	size := l.size
	if l.narrow {
		size = l.dtype.Size()
	}
	if n > mostPageBytes/size || n > 1<<20 && n/(1<<20) > len(page) {
		return errCorrupt
	}
	mem := d.memory.get(n * size)
	b.own(mem)
	if n > 0 {
		from := d.dictionary.values
		err := decodeRuns(page[1:], uint(page[0]), n, func(i int, v uint32) {
			if v >= entries {
				wrong = true
				return
			}
			copy(mem[i*size:(i+1)*size], from[int(v)*size:])
		})
		if err != nil {
			return err
		}
	}
	if wrong {
		return errCorrupt
	}
	b.values = mem
	return nil
}

// narrowed keeps the low bytes of values of four bytes, in their place.
func narrowed(values []byte, size int) []byte {
	n := len(values) / 4
	for i := range n {
		copy(values[i*size:(i+1)*size], values[4*i:])
	}
	return values[:n*size]
}
