package parquet

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/planktonml/plankton/internal/meter"
	"github.com/planktonml/plankton/pipeline/datum"
)

var (
	_ datum.ShardKeeper = (*Source)(nil)
	_ datum.Stored      = (*Source)(nil)
)

// Storage implements [datum.Stored].
func (s *Source) Storage() []datum.Storage { return meter.Storage(s.place, s.machine, 0, 0) }

// ShardEnds implements [datum.Sharded]: the row groups are what
// iterator.Options.ShuffleGroup mixes. Rows of all the row groups of a group are read
// by turns, so [Options].CacheBytes should hold as many.
func (s *Source) ShardEnds() (ends []int64) {
	for _, g := range s.groups {
		if g.rows > 0 {
			ends = append(ends, g.first+g.rows)
		}
	}
	return ends
}

// CheckGroup implements [datum.ShardKeeper]: the largest so many row groups have to fit into
// Options.CacheBytes, decoded, as their pages would be decoded for nearly every row otherwise.
func (s *Source) CheckGroup(shards int64) error {
	sizes := make([]int64, len(s.groups))
	for i := range s.groups {
		for k := range s.fields {
			if m := s.chunks[i*len(s.fields)+k].meta; m != nil && !s.fields[k].Label {
				sizes[i] += m.MetaData.TotalUncompressedSize
			}
		}
	}
	slices.SortFunc(sizes, func(a, b int64) int { return cmp.Compare(b, a) })
	total, fit := int64(0), 0
	for i, size := range sizes[:min(shards, int64(len(sizes)))] {
		if total += size; total <= s.cache.limit {
			fit = i + 1
		}
	}
	switch {
	case total <= s.cache.limit:
		return nil
	case fit == 0:
		return fmt.Errorf("a row group has up to %d bytes, decoded, but CacheBytes is %d; raise it to at least %d for groups of %d", sizes[0], s.cache.limit, total, shards)
	}
	return fmt.Errorf("%d row groups have up to %d bytes, decoded, but CacheBytes is %d, so pages would be decoded for nearly every row; raise it to at least %[2]d, or group at most %[4]d", shards, total, s.cache.limit, fit)
}
