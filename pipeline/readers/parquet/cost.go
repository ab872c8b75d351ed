package parquet

import (
	"context"
	"fmt"
)

// Cost is what rows cost to read, by how much is decoded for one.
type Cost struct {
	RowBytes  float64 // of a row in the chosen columns, decoded
	PageRows  float64 // of the largest column, that are decoded with a row that is asked for alone
	PageBytes float64 // likewise, all chosen columns together

	// FullShuffle is how often everything is decoded in an epoch of a full shuffle: 1
	// where it all fits into Options.CacheBytes. In order, or by blocks, it is about 1.
	FullShuffle float64
}

// costGroups is how many row groups Cost looks at.
const costGroups = 16

// Cost finds out what a full shuffle costs. It looks at the pages of some of the row
// groups, without decoding them.
func (s *Source) Cost(ctx context.Context) (c Cost, err error) {
	var rows, total float64
	for i := range s.groups {
		for k := range s.fields {
			if m := s.chunks[i*len(s.fields)+k].meta; m != nil && !s.fields[k].Label {
				total += float64(m.MetaData.TotalUncompressedSize)
			}
		}
	}
	step := max(1, len(s.groups)/costGroups)
	for i := 0; i < len(s.groups); i += step {
		rows += float64(s.groups[i].rows)
		for k := range s.fields {
			if s.fields[k].Label {
				continue
			}
			if err := s.addCost(ctx, i, k, &c); err != nil {
				return Cost{}, err
			}
		}
	}
	c.PageBytes /= rows
	c.PageRows /= rows
	c.RowBytes = total / float64(s.rows)
	missed := max(0, 1-float64(s.cache.limit)/max(total, 1)) // of the pages that are asked for
	c.FullShuffle = 1
	if c.RowBytes > 0 {
		c.FullShuffle = max(1, missed*c.PageBytes/c.RowBytes)
	}
	return c, nil
}

// addCost adds what the rows of a column of a row group cost, each alone.
func (s *Source) addCost(ctx context.Context, at, field int, c *Cost) error {
	number := at*len(s.fields) + field
	chunk := &s.chunks[number]
	m := &chunk.meta.MetaData
	if !chunk.leaf.flat() {
		c.PageBytes += float64(chunk.rows) * float64(m.TotalUncompressedSize)
		if field == s.largest() {
			c.PageRows += float64(chunk.rows) * float64(chunk.rows)
		}
		return nil
	}
	p, err := s.findPages(ctx, number)
	if err != nil {
		return fmt.Errorf("%s: column %s: %w", chunk.file.name, chunk.leaf.name, err)
	}
	growth := float64(m.TotalUncompressedSize) / float64(max(1, m.TotalCompressedSize))
	square := 0.0
	for i := range p.data {
		rows := float64(p.rows(i, chunk.rows))
		c.PageBytes += rows * float64(p.data[i].size) * growth
		square += rows * rows
	}
	if field == s.largest() {
		c.PageRows += square
	}
	return nil
}

// largest returns the field that has most bytes.
func (s *Source) largest() int {
	at, most := 0, int64(-1)
	for k := range s.fields {
		if m := s.chunks[k].meta; m != nil && !s.fields[k].Label && m.MetaData.TotalUncompressedSize > most {
			at, most = k, m.MetaData.TotalUncompressedSize
		}
	}
	return at
}
