package dataset

import (
	"context"
	"io/fs"
	"os"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/storage"
	"github.com/planktonml/plankton/storage/index"
)

// keptShards is how many shards stay open.
const keptShards = 256

// openIndexed makes the index of shards.
func (d *Data) openIndexed(ctx context.Context) error {
	place := d.Place
	if place == nil {
		place = os.DirFS(d.Root)
	}
	var err error
	d.Index, err = index.Open(ctx, place, d.Shards, index.Options{Cache: d.options.Cache, Progress: d.options.Progress})
	if err != nil {
		return err
	}
	d.read = d.shardsReader(d.keepOpen())
	return nil
}

// keepOpen returns the place with its shards kept open until Close.
func (d *Data) keepOpen() fs.FS {
	kept := storage.KeepFolder(d.Root, keptShards)
	if d.Place != nil {
		other, ok := storage.Keep(d.Place, keptShards).(*storage.Kept)
		if !ok {
			return d.Place // which is asked for ranges
		}
		kept = other
	}
	d.own(kept)
	return kept
}

// shardsReader reads the shards of a place by the index.
func (d *Data) shardsReader(place fs.FS) reader {
	return func(g *pipeline.Graph, r pipeline.ReaderOptions) (encoded, label pipeline.Value) {
		members, label := readers.Shards(g, readers.ShardsOptions{
			Name: r.Name, FS: place, Index: d.Index, Unlabelled: true, ReadAhead: d.options.ReadAhead, LookAhead: d.options.LookAhead, Requests: d.options.Requests,
			NumShards: r.NumShards, ShardID: r.ShardID, StickToShard: r.StickToShard, PadLastBatch: r.PadLastBatch, Shuffle: r.Shuffle,
			Split: r.Split, Follow: r.Follow,
		})
		return members[0], label
	}
}
