package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// mostPageBytes is what a page may have.
const mostPageBytes = 1 << 30

// decoder decodes the pages of a column chunk.
type decoder struct {
	leaf       *leaf
	codec      format.CompressionCodec
	dictionary *block // nil where there is none
	entry      *entry // that holds the dictionary
	memory     *memory

	raw []byte // the page at hand as it was read, with its header
}

// recycle takes the memory of the page at hand back, where the block does not show it.
func (d *decoder) recycle(b *block) {
	if !b.owns(d.raw) {
		d.memory.put(d.raw)
	}
}

var errCorrupt = errors.New("the page is damaged")

// decode adds a page, which is its header and what comes behind, to a block.
func (d *decoder) decode(b *block, header *format.PageHeader, payload []byte) (err error) {
	defer func() {
		if v := recover(); v != nil { // the library panics at values that contradict themselves
			err = fmt.Errorf("%w: %v", errCorrupt, v)
		}
	}()
	if header.CRC != 0 && crc32.ChecksumIEEE(payload) != uint32(header.CRC) {
		return errors.New("its checksum is wrong: the file is damaged; copy or write it again")
	}
	size := int(header.UncompressedPageSize)
	if size < 0 || size > mostPageBytes {
		return fmt.Errorf("it is to have %d bytes; a page can have %d", size, mostPageBytes)
	}
	switch header.Type {
	case format.DataPage:
		h := &header.DataPageHeader.V
		plain, err := d.uncompressed(payload, size, b)
		if err != nil {
			return err
		}
		return d.data(b, plain, int(h.NumValues), -1, -1, h.Encoding)
	case format.DataPageV2:
		return d.dataV2(b, &header.DataPageHeaderV2.V, payload, size)
	}
	return fmt.Errorf("a page of type %s is in the place of data", header.Type)
}

// dataV2 decodes a page whose levels are not compressed.
func (d *decoder) dataV2(b *block, h *format.DataPageHeaderV2, payload []byte, size int) error {
	rep, def := int(h.RepetitionLevelsByteLength), int(h.DefinitionLevelsByteLength)
	if rep < 0 || def < 0 || rep > len(payload) || def > len(payload)-rep || rep+def > size {
		return errCorrupt
	}
	if h.IsCompressed.Valid && !h.IsCompressed.V || d.codec == format.Uncompressed {
		b.own(d.raw)
		return d.data(b, payload, int(h.NumValues), rep, def, h.Encoding)
	}
	levels := payload[:rep+def]
	mem := d.memory.get(size)
	copy(mem, levels)
	b.own(mem)
	plain, err := pq.LookupCompressionCodec(d.codec).Decode(mem[len(levels):], payload[len(levels):])
	if err != nil {
		return err
	}
	if len(plain) != size-len(levels) {
		return fmt.Errorf("%w: %d bytes, %d are declared", errCorrupt, len(plain)+len(levels), size)
	}
	if len(plain) > 0 && &plain[0] != &mem[len(levels):][0] { // the codec took memory of its own
		copy(mem[len(levels):], plain)
	}
	return d.data(b, mem, int(h.NumValues), rep, def, h.Encoding)
}

// uncompressed returns the bytes of a page, which the block has from then on.
func (d *decoder) uncompressed(payload []byte, size int, b *block) ([]byte, error) {
	if d.codec == format.Uncompressed {
		b.own(d.raw)
		return payload, nil
	}
	mem := d.memory.get(size)
	b.own(mem)
	plain, err := pq.LookupCompressionCodec(d.codec).Decode(mem, payload)
	if err != nil {
		return nil, err
	}
	if len(plain) != size {
		return nil, fmt.Errorf("%w: %d bytes, %d are declared", errCorrupt, len(plain), size)
	}
	return plain, nil
}

// decodeDictionary decodes the dictionary of a column chunk.
func (d *decoder) decodeDictionary(header *format.PageHeader, payload []byte) (b *block, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v", errCorrupt, v)
		}
	}()
	h := &header.DictionaryPageHeader.V
	size := int(header.UncompressedPageSize)
	switch {
	case header.Type != format.DictionaryPage:
		return nil, fmt.Errorf("a page of type %s is in the place of the dictionary", header.Type)
	case header.CRC != 0 && crc32.ChecksumIEEE(payload) != uint32(header.CRC):
		return nil, errors.New("the checksum of the dictionary is wrong: the file is damaged; copy or write it again")
	case size < 0 || size > mostPageBytes || h.NumValues < 0:
		return nil, errCorrupt
	}
	b = &block{rows: int(h.NumValues)}
	plain, err := d.uncompressed(payload, size, b)
	if err != nil {
		return nil, err
	}
	encoding := h.Encoding
	if encoding == plainDictionary {
		encoding = format.Plain
	}
	return b, d.values(b, plain, b.rows, encoding)
}

// data decodes n values and what levels say of them. Rep and def are the bytes of the
// levels in front; where they are negative, each has its length in front of it.
func (d *decoder) data(b *block, page []byte, n, rep, def int, encoding format.Encoding) error {
	if n < 0 || n > mostPageBytes {
		return errCorrupt
	}
	reps, page, err := levelBytes(page, rep, d.leaf.maxRep)
	if err != nil {
		return err
	}
	defs, page, err := levelBytes(page, def, d.leaf.maxDef)
	if err != nil {
		return err
	}
	if !d.leaf.flat() {
		return d.lists(b, reps, defs, page, n, encoding)
	}
	values := n
	if d.leaf.maxDef > 0 {
		if values, err = b.holes(defs, d.leaf.maxDef, n); err != nil {
			return err
		}
	}
	b.rows = n
	return d.values(b, page, values, encoding)
}

// levelBytes cuts the levels from the front of a page.
func levelBytes(page []byte, n, most int) (levels, rest []byte, err error) {
	switch {
	case n < 0 && most == 0:
		return nil, page, nil
	case n < 0:
		if len(page) < 4 {
			return nil, nil, errCorrupt
		}
		n = int(binary.LittleEndian.Uint32(page))
		page = page[4:]
	}
	if n < 0 || n > len(page) {
		return nil, nil, errCorrupt
	}
	return page[:n], page[n:], nil
}

// holes finds the rows without a value, and returns the number of values.
func (b *block) holes(levels []byte, most, n int) (values int, err error) {
	if err := bounded(levels, bitsFor(most), n); err != nil {
		return 0, err
	}
	at := make([]uint32, n)
	err = decodeRuns(levels, bitsFor(most), n, func(i int, v uint32) {
		if v == uint32(most) {
			at[i] = uint32(values)
			values++
		} else {
			at[i] = missing
		}
	})
	if err == nil && values < n {
		b.at = at
	}
	return values, err
}

// bounded refuses a number of levels that would take much more memory than a run of levels
// may stand for in files that are written by programs.
func bounded(levels []byte, bits uint, n int) error {
	if n > 1<<20 && bits > 0 && n/(1<<20) > len(levels) {
		return errCorrupt
	}
	return nil
}

// lists decodes the values and levels of lists.
func (d *decoder) lists(b *block, reps, defs, page []byte, n int, encoding format.Encoding) error {
	if err := bounded(reps, bitsFor(d.leaf.maxRep), n); err != nil {
		return err
	}
	from := len(b.rep)
	if from > mostPageBytes-n {
		return fmt.Errorf("the row group has more than %d values; write smaller row groups", mostPageBytes)
	}
	var err error
	if b.rep, err = decodeLevels(b.rep, reps, d.leaf.maxRep, n); err != nil {
		return err
	}
	if b.def, err = decodeLevels(b.def, defs, d.leaf.maxDef, n); err != nil {
		return err
	}
	if from == 0 && n > 0 && b.rep[0] != 0 {
		return fmt.Errorf("%w: it begins within a row", errCorrupt)
	}
	values := 0
	if b.rows > 0 { // of pages before
		values = int(b.first[b.rows])
		b.first, b.begin = b.first[:b.rows], b.begin[:b.rows]
	}
	had := values
	for i := from; i < len(b.rep); i++ {
		if b.rep[i] == 0 {
			b.first, b.begin = append(b.first, uint32(values)), append(b.begin, uint32(i))
			b.rows++
		}
		if int(b.def[i]) == d.leaf.maxDef {
			values++
		}
	}
	b.first, b.begin = append(b.first, uint32(values)), append(b.begin, uint32(len(b.rep)))
	if from == 0 {
		return d.values(b, page, values, encoding)
	}
	// What comes behind the first page is copied together.
	more := block{}
	if err := d.values(&more, page, values-had, encoding); err != nil {
		return err
	}
	if !b.joined { // behind the values of the first page lies what is no value
		b.values, b.joined = slices.Clone(b.values), true
	}
	b.values = append(b.values, more.values...)
	for _, mem := range more.owned {
		b.own(mem)
	}
	return nil
}
