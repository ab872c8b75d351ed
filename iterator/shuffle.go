package iterator

import (
	"fmt"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/shard"
)

// setBlocks puts what keeps a shuffled order cheap into the config of a reader's plan.
func (o *Options) setBlocks(cfg *shard.Config, r *pipeline.Reader) error {
	cfg.Block, cfg.BlockGroup = o.ShuffleBlock, o.ShuffleGroup
	if o.ShuffleGroup <= 0 || o.ShuffleBlock != 0 || !cfg.Shuffle {
		return nil
	}
	sharded, ok := r.Source.(datum.Sharded)
	if !ok {
		why := "does not know of shards"
		switch {
		case r.Sources != nil:
			why = "is a mix, whose sources have shards of their own"
		case r.Split != pipeline.Split{}:
			why = "has a Split, which takes its samples from everywhere"
		}
		return &OptionError{"ShuffleGroup", fmt.Errorf("it is %d shards, but reader %q %s; say with ShuffleBlock how many samples belong together, or leave it out", o.ShuffleGroup, r.Name, why)}
	}
	cfg.BlockEnds = sharded.ShardEnds()
	if keeper, ok := sharded.(datum.ShardKeeper); ok {
		if err := keeper.CheckGroup(o.ShuffleGroup); err != nil {
			return &OptionError{"ShuffleGroup", fmt.Errorf("reader %q: %w", r.Name, err)}
		}
	}
	return nil
}
