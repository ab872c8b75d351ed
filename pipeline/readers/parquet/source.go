package parquet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sort"

	"github.com/parquet-go/parquet-go/format"

	"github.com/planktonml/plankton/internal/labels"
	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/storage"
)

// Source is a data set in Parquet files. Open makes it. It is a datum.Source, and may be
// used by several goroutines.
type Source struct {
	place   storage.RangeReader
	remote  bool
	machine bool   // place is a folder of the file system of the machine
	shown   string // in front of the names of files in messages
	files   []*file
	groups  []group
	rows    int64

	fields  []field
	chunks  []chunk // of a row group the columns of the fields, and so on
	found   []slot  // of the chunks
	specs   []datum.Spec
	meta    datum.Meta
	cache   *cache
	classes *labels.Labels // nil where there are none
}

// group is a row group.
type group struct {
	file  int
	place int   // in the file
	first int64 // row of the data set
	rows  int64
}

// field is an output.
type field struct {
	readers.Field
	leaf *leaf // of the first file; nil for labels of which there are none
	spec datum.Spec
}

var _ datum.Listed = (*Source)(nil)

// Len returns the number of rows.
func (s *Source) Len() int64 { return s.rows }

// Outputs says what the columns are that were chosen.
func (s *Source) Outputs() []datum.Spec { return s.specs }

// Meta describes the data set. The fingerprint is one of the names and sizes of the files,
// the columns and the labels.
func (s *Source) Meta() datum.Meta { return s.meta }

// group returns the place of the row group of a row.
func (s *Source) group(row int64) int {
	return sort.Search(len(s.groups), func(i int) bool { return s.groups[i].first > row }) - 1
}

// EntryName implements datum.Listed: a row is named by its file and its number there, from
// 0.
func (s *Source) EntryName(row int64) string {
	name, number := s.rowName(row)
	return fmt.Sprintf("%s[%d]", name, number)
}

// Label implements datum.Labelled.
func (s *Source) Label(row int64) (int32, bool) {
	if s.classes == nil {
		return 0, false
	}
	return s.classes.Of[row], true
}

func (s *Source) rowName(row int64) (file string, number int64) {
	at := s.group(row)
	g := &s.groups[at]
	for at > 0 && s.groups[at-1].file == g.file {
		at--
	}
	return s.files[g.file].name, row - s.groups[at].first
}

// Describe returns the file and the number of the row in it, from 0.
func (s *Source) Describe(row int64) string {
	name, number := s.rowName(row)
	return fmt.Sprintf("%s%s: row %d", s.shown, name, number)
}

// Read puts the columns of a row into out.
func (s *Source) Read(ctx context.Context, row int64, out []*datum.Tensor) error {
	at := s.group(row)
	for i := range s.fields {
		f := &s.fields[i]
		var err error
		if f.Label {
			err = s.putLabel(out[i], row)
		} else {
			err = s.read(ctx, at, i, row-s.groups[at].first, out[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Source) putLabel(t *datum.Tensor, row int64) error {
	if _, err := t.Resize(); err != nil {
		return err
	}
	label := int32(0)
	if s.classes != nil {
		label = s.classes.Of[row]
	}
	t.Int32s()[0] = label
	return nil
}

// read puts a field of a row of a row group into a tensor.
func (s *Source) read(ctx context.Context, at, i int, row int64, t *datum.Tensor) error {
	e, first, err := s.page(ctx, at, i, row)
	if err == nil {
		err = e.block.put(t, s.fields[i].leaf, int(row-first), s.fields[i].Shape)
		s.cache.unpin(e)
	}
	if err != nil {
		return fmt.Errorf("column %s: %w", printable.Name(s.fields[i].Name), err)
	}
	return nil
}

// page returns the page of a row, pinned, and the first row of the page.
func (s *Source) page(ctx context.Context, at, i int, row int64) (e *entry, first int64, err error) {
	number := at*len(s.fields) + i
	c := &s.chunks[number]
	k := key{chunk: int64(number)}
	var p *pages
	if c.leaf.flat() {
		if p = s.found[number].pages.Load(); p == nil {
			if p, err = s.findPages(ctx, number); err != nil {
				return nil, 0, err
			}
		}
		k.page = int32(p.at(row))
		first = p.data[k.page].first
	}
	e, err = s.claim(ctx, c, p, k)
	if err == nil && int(row-first) >= e.block.rows {
		s.cache.unpin(e)
		return nil, 0, fmt.Errorf("the page of row %d of the row group has %d rows from row %d on: the file is damaged", row, e.block.rows, first)
	}
	return e, first, err
}

// findPages finds the pages of a column chunk, once.
func (s *Source) findPages(ctx context.Context, number int) (*pages, error) {
	c := &s.chunks[number]
	return s.found[number].get(ctx, func() (*pages, error) {
		p, err := c.findPages(ctx, s.place)
		if err == nil {
			return p, nil
		}
		if changed := s.changed(c.file); changed != nil {
			return nil, changed
		}
		return nil, fmt.Errorf("row group %d: %w", c.group, err)
	})
}

// claim returns a page, pinned. Who comes first reads it, the others wait.
func (s *Source) claim(ctx context.Context, c *chunk, p *pages, k key) (*entry, error) {
	for {
		e, mine := s.cache.claim(k)
		if mine {
			b, err := s.load(ctx, c, p, k)
			s.cache.done(e, b, err)
			return e, err
		}
		select {
		case <-e.ready:
		case <-ctx.Done():
			s.cache.unpin(e)
			return nil, context.Cause(ctx)
		}
		if e.err == nil {
			return e, nil
		}
		err := e.err
		s.cache.unpin(e)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if !errors.Is(err, errGivenUp) {
			return nil, err
		}
	}
}

// errGivenUp says that the context of the goroutine that read a page has ended.
var errGivenUp = errors.New("reading was given up")

// load reads and decodes a page.
func (s *Source) load(ctx context.Context, c *chunk, p *pages, k key) (b *block, err error) {
	defer func() {
		if v := recover(); v != nil { // waiters must not wait for ever
			b, err = nil, fmt.Errorf("%w: %v", errCorrupt, v)
		}
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", errGivenUp, context.Cause(ctx))
			return
		}
		err = fmt.Errorf("row group %d: %w", c.group, err)
		if changed := s.changed(c.file); changed != nil {
			err = changed
		}
	}()
	d := decoder{leaf: c.leaf, codec: c.meta.MetaData.Codec, memory: s.cache.memory}
	switch {
	case !c.leaf.flat():
		return s.loadChunk(ctx, c, &d)
	case k.page == dictionaryPage:
		header, payload, err := s.fetch(ctx, c, p.dictionary, &d)
		if err != nil {
			return nil, err
		}
		if b, err = d.decodeDictionary(header, payload); err == nil {
			d.recycle(b)
		}
		return b, err
	case p.dictionary.size > 0:
		e, err := s.claim(ctx, c, p, key{k.chunk, dictionaryPage})
		if err != nil {
			return nil, err
		}
		d.entry, d.dictionary = e, e.block
		defer func() {
			if b == nil || b.dictionary == nil {
				s.cache.unpin(e)
			}
		}()
	}
	header, payload, err := s.fetch(ctx, c, p.data[k.page], &d)
	if err != nil {
		return nil, err
	}
	made := &block{}
	if err := d.decode(made, header, payload); err != nil {
		return nil, err
	}
	d.recycle(made)
	if want := p.rows(int(k.page), c.rows); int64(made.rows) != want {
		return nil, fmt.Errorf("a page has %d rows; %d are declared: the file is damaged", made.rows, want)
	}
	return made, nil
}

// loadChunk reads and decodes all pages of a column with lists: only their content says in
// which of them a row begins.
func (s *Source) loadChunk(ctx context.Context, c *chunk, d *decoder) (*block, error) {
	size := c.to() - c.from()
	if size > mostPageBytes {
		return nil, fmt.Errorf("it has %d bytes of lists; %d can be read at once: write smaller row groups", size, mostPageBytes)
	}
	d.raw = s.cache.memory.get(int(size))
	if err := storage.ReadRange(ctx, s.place, c.file.name, c.from(), d.raw); err != nil {
		return nil, err
	}
	b := &block{}
	for at := 0; at < len(d.raw) && b.rows < int(c.rows)+1; {
		header := new(format.PageHeader)
		n, err := decode(d.raw[at:], header)
		if err != nil {
			return nil, fmt.Errorf("the header of a page, byte %d: %w", c.from()+int64(at), err)
		}
		payload := int(header.CompressedPageSize)
		if at += n; payload < 0 || payload > len(d.raw)-at {
			return nil, fmt.Errorf("the page at byte %d is to have %d bytes, the column ends at byte %d: the file is damaged", c.from()+int64(at), payload, c.to())
		}
		page := d.raw[at:][:payload:payload]
		at += payload
		switch header.Type {
		case format.DictionaryPage:
			d.dictionary, err = d.decodeDictionary(header, page)
		case format.DataPage, format.DataPageV2:
			err = d.decode(b, header, page)
		}
		if err != nil {
			return nil, err
		}
	}
	if int64(b.rows) != c.rows {
		return nil, fmt.Errorf("its pages have %d rows; %d are declared: the file is damaged", b.rows, c.rows)
	}
	d.recycle(b)
	if b.joined {
		for _, mem := range b.owned {
			s.cache.memory.put(mem)
		}
		b.owned = nil
	}
	return b, nil
}

// fetch reads a page and decodes its header.
func (s *Source) fetch(ctx context.Context, c *chunk, at page, d *decoder) (header *format.PageHeader, payload []byte, err error) {
	d.raw = s.cache.memory.get(int(at.size))
	if err := storage.ReadRange(ctx, s.place, c.file.name, at.offset, d.raw); err != nil {
		return nil, nil, err
	}
	header = new(format.PageHeader)
	n, err := decode(d.raw, header)
	if err != nil {
		return nil, nil, fmt.Errorf("the header of a page, byte %d: %w", at.offset, err)
	}
	if size := int(header.CompressedPageSize); size < 0 || size > len(d.raw)-n {
		return nil, nil, fmt.Errorf("the page at byte %d is to have %d bytes, there are %d: the file is damaged", at.offset, size, len(d.raw)-n)
	}
	return header, d.raw[n:][:header.CompressedPageSize], nil
}

// changed returns an error where a file is another one than was opened.
func (s *Source) changed(f *file) error {
	if s.remote {
		return nil
	}
	info, err := fs.Stat(s.place, f.name)
	if err != nil || info.Size() == f.size && info.ModTime().Equal(f.modified) {
		return nil
	}
	return fmt.Errorf("the file was changed since it was opened: it has %d bytes, and had %d; begin again", info.Size(), f.size)
}
