package parquet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/planktonml/plankton/storage"
)

// pages says where the pages of a column chunk lie, and which rows they have.
type pages struct {
	dictionary page // of no bytes where there is none
	data       []page
}

// page is a page of a column chunk.
type page struct {
	offset int64 // of its header, in the file
	size   int32 // with the header
	first  int64 // row of the row group
}

// at returns the page of a row.
func (p *pages) at(row int64) int {
	return sort.Search(len(p.data), func(i int) bool { return p.data[i].first > row }) - 1
}

// chunk is a column of a row group.
type chunk struct {
	file  *file
	group int // of the file
	leaf  *leaf
	rows  int64
	meta  *format.ColumnChunk
}

// from and to are the bytes of the chunk.
func (c *chunk) from() int64 { return start(&c.meta.MetaData) }
func (c *chunk) to() int64   { return c.from() + c.meta.MetaData.TotalCompressedSize }

// rows returns how many rows a page is to have, of all those of the row group.
func (p *pages) rows(i int, all int64) int64 {
	if i == len(p.data)-1 {
		return all - p.data[i].first
	}
	return p.data[i+1].first - p.data[i].first
}

// findPages finds the pages of a chunk without lists: from its index, or by going from
// header to header.
func (c *chunk) findPages(ctx context.Context, place storage.RangeReader) (*pages, error) {
	if c.meta.OffsetIndexLength > 0 {
		p, err := c.indexedPages(ctx, place)
		if err != nil {
			return nil, fmt.Errorf("the index of its pages: %w", err)
		}
		return p, nil
	}
	p := &pages{}
	row := int64(0)
	h := headers{place: place, name: c.file.name, end: c.to()}
	for at := c.from(); at < c.to(); {
		header, n, err := h.read(ctx, at)
		if err != nil {
			return nil, fmt.Errorf("the header of a page, byte %d: %w", at, err)
		}
		size := int64(n) + int64(header.CompressedPageSize)
		if header.CompressedPageSize < 0 || size > c.to()-at {
			return nil, fmt.Errorf("the page at byte %d is to have %d bytes, the column ends at byte %d: the file is damaged", at, size, c.to())
		}
		switch rows := rowsOf(header); {
		case header.Type == format.DictionaryPage:
			p.dictionary = page{offset: at, size: int32(size)}
		case rows > 0:
			p.data = append(p.data, page{offset: at, size: int32(size), first: row})
			row += rows
		}
		at += size
	}
	if row != c.rows {
		return nil, fmt.Errorf("its pages have %d rows, the row group has %d: the file is damaged", row, c.rows)
	}
	return p, nil
}

// rowsOf returns the values of a data page, which are its rows where each has one.
func rowsOf(h *format.PageHeader) int64 {
	switch h.Type {
	case format.DataPage:
		return int64(h.DataPageHeader.V.NumValues)
	case format.DataPageV2:
		return int64(h.DataPageHeaderV2.V.NumValues)
	}
	return 0
}

// indexedPages reads the offset index of a chunk.
func (c *chunk) indexedPages(ctx context.Context, place storage.RangeReader) (*pages, error) {
	at, n := c.meta.OffsetIndexOffset, int64(c.meta.OffsetIndexLength)
	if at < 4 || at > c.file.size || n > c.file.size-at {
		return nil, fmt.Errorf("it is to lie at byte %d, the file has %d: the file is damaged", at, c.file.size)
	}
	mem := make([]byte, n)
	if err := storage.ReadRange(ctx, place, c.file.name, at, mem); err != nil {
		return nil, err
	}
	var index format.OffsetIndex
	if _, err := decode(mem, &index); err != nil {
		return nil, err
	}
	p := &pages{}
	for i, l := range index.PageLocations {
		before := int64(-1)
		if i > 0 {
			before = index.PageLocations[i-1].FirstRowIndex
		}
		if i == 0 && l.FirstRowIndex != 0 || l.FirstRowIndex <= before || l.FirstRowIndex >= c.rows ||
			l.CompressedPageSize < 0 || l.Offset < c.from() || l.Offset+int64(l.CompressedPageSize) > c.to() {
			return nil, errors.New("it contradicts the column: the file is damaged")
		}
		p.data = append(p.data, page{l.Offset, l.CompressedPageSize, l.FirstRowIndex})
	}
	if len(p.data) == 0 && c.rows > 0 {
		return nil, errors.New("it has no pages")
	}
	if len(p.data) > 0 && p.data[0].offset > c.from() {
		p.dictionary = page{offset: c.from(), size: int32(p.data[0].offset - c.from())}
	}
	return p, nil
}

// headers reads the headers of pages.
type headers struct {
	place storage.RangeReader
	name  string
	end   int64 // of the chunk
	mem   []byte
}

const (
	shortHeader = 1 << 10  // that most headers are within
	longHeader  = 16 << 20 // with the least and greatest value of a page, as some writers put there
)

// read reads the header at a byte, and returns how long it is.
func (h *headers) read(ctx context.Context, at int64) (header *format.PageHeader, size int, err error) {
	for n := int64(shortHeader); ; n *= 16 {
		n = min(n, h.end-at)
		if int64(cap(h.mem)) < n {
			h.mem = make([]byte, n)
		}
		mem := h.mem[:n]
		if err := storage.ReadRange(ctx, h.place, h.name, at, mem); err != nil {
			return nil, 0, err
		}
		header = new(format.PageHeader)
		size, err = decode(mem, header)
		if err == nil || n == h.end-at || n >= longHeader {
			return header, size, err
		}
	}
}

// decode reads a message of Thrift's compact protocol from the front of mem, and returns
// how long it is.
func decode(mem []byte, message any) (size int, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("damaged: %v", v)
		}
	}()
	r := new(thrift.CompactProtocol).NewReaderFromBytes(mem)
	if err := thrift.NewDecoder(r).Decode(message); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, err
	}
	return r.BytesRead(), nil
}
