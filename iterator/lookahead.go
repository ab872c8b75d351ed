package iterator

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/shard"
)

// checkLookAhead refuses blocks, or groups of them, that a reader which looks ahead cannot hold:
// it would fetch sample by sample what a group keeps together.
func (o *Options) checkLookAhead(cfg *shard.Config, r *pipeline.Reader) error {
	if !cfg.Shuffle || cfg.Block == 0 && cfg.BlockEnds == nil {
		return nil
	}
	sources := []*pipeline.Reader{r}
	if r.Sources != nil {
		sources = r.Sources
	}
	ranks := int64(1) // that share a group
	if cfg.Partition == shard.ByStep {
		ranks = int64(cfg.Shards)
	}
	group := max(1, o.ShuffleGroup)
	for _, s := range sources {
		src, ok := s.Source.(datum.PlanReader)
		if !ok || src.LookAhead() == 0 {
			continue
		}
		blocks := blockBytes(cfg, src)
		slices.SortFunc(blocks, func(a, b int64) int { return cmp.Compare(b, a) })
		need, fits := int64(0), int64(0)
		for i := range min(group, int64(len(blocks))) {
			need += blocks[i]
			if need/ranks <= src.LookAhead() {
				fits = i + 1
			}
		}
		if need /= ranks; need > src.LookAhead() {
			return o.refuseGroup(r, need, src.LookAhead(), fits)
		}
	}
	return nil
}

// refuseGroup says what to change where the largest groups need so many bytes, of which the
// largest fits blocks would fit.
func (o *Options) refuseGroup(r *pipeline.Reader, need, ahead, fits int64) error {
	field, value, what := "ShuffleGroup", o.ShuffleGroup, "shards"
	remedy := fmt.Sprintf("make it at most %d", fits)
	switch {
	case o.ShuffleGroup == 0:
		field, value, what = "ShuffleBlock", o.ShuffleBlock, "samples"
		remedy = fmt.Sprintf("make it at most %d", int64(float64(o.ShuffleBlock)*float64(ahead)/float64(need)))
	case o.ShuffleBlock > 0:
		what = fmt.Sprintf("blocks of %d samples", o.ShuffleBlock)
	}
	if o.ShuffleGroup > 0 && fits == 0 {
		remedy = "make blocks or shards smaller"
	}
	return &OptionError{field, fmt.Errorf("it is %d %s, of which the largest have %d bytes, but reader %q looks only %d bytes ahead; %s, or raise LookAhead of the reader to twice what they have",
		value, what, need, r.Name, ahead, remedy)}
}

// blockBytes returns how many bytes are fetched for each block of a source.
func blockBytes(cfg *shard.Config, src datum.PlanReader) (blocks []int64) {
	block, last := int64(0), int64(0) // the samples before last are in the blocks so far
	for i := range src.Len() {
		if i == last {
			if cfg.BlockEnds != nil {
				last = cfg.BlockEnds[block]
			} else {
				last += cfg.Block
			}
			block++
			blocks = append(blocks, 0)
		}
		blocks[block-1] += src.AheadBytes(i)
	}
	return blocks
}
