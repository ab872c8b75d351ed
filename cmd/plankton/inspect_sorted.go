package main

import (
	"fmt"
	"math"

	"github.com/planktonml/plankton/pipeline/datum"
)

// likeness says how alike the samples of a shard are.
type likeness struct {
	same, any float64 // how often two samples of a shard, or any two, have the same class
	share     float64 // of what they could be more alike: 0 if shards are random, 1 if each has a class of its own
	noise     float64 // the standard deviation of share where shards are random
	shards    int
}

// newLikeness looks at the labels of a source's shards. ok is false where nothing can be
// said: without shards, labels, or a second class.
func newLikeness(source datum.Source) (l likeness, ok bool) {
	sharded, known := source.(datum.Sharded)
	labelled, named := source.(datum.Labelled)
	if !known || !named {
		return l, false
	}
	ends := sharded.ShardEnds()
	all, total := map[int32]float64{}, 0.0
	alike, pairs := 0.0, 0.0
	from := int64(0)
	for _, end := range ends {
		own, n := map[int32]float64{}, 0.0
		for ; from < end; from++ {
			if label, ok := labelled.Label(from); ok {
				own[label]++
				n++
			}
		}
		for label, k := range own {
			alike += k * (k - 1)
			all[label] += k
		}
		pairs += n * (n - 1)
		total += n
	}
	for _, k := range all {
		l.any += k * (k - 1) / (total * (total - 1))
	}
	if len(ends) < 2 || pairs == 0 || len(all) < 2 || l.any == 1 {
		return l, false
	}
	l.shards, l.same = len(ends), alike/pairs
	l.share = (l.same - l.any) / (1 - l.any)
	l.noise = math.Sqrt(l.any*(1-l.any)*2/pairs) / (1 - l.any)
	return l, true
}

// What is warned of: shards that are alike by more than this share, and more than chance
// makes them; and the share that a group of shards may have left, so that batches are
// about as varied as those of a full shuffle. The likeness of a group is that of a shard, divided by the number of its shards.
const (
	alikeShards = 0.1
	chance      = 5
	alikeGroup  = 0.02
)

// warning returns what is warned of, or nothing.
func (l likeness) warning() string {
	if l.share < alikeShards || l.share < chance*l.noise {
		return ""
	}
	group := int(math.Ceil(l.share / alikeGroup))
	remedy := fmt.Sprintf("or shuffle groups of at least %d (iterator.Options.ShuffleGroup, bench --shuffle-group), never single blocks", group)
	if group >= l.shards {
		remedy = "or shuffle all samples, never blocks"
	}
	return fmt.Sprintf("shards are sorted by class: two samples of one have the same class in %.0f %% of all cases, any two in %.0f %%; mix the samples when shards are written, %s",
		100*l.same, 100*l.any, remedy)
}
