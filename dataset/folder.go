package dataset

import (
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/readers"
)

// readFolder reads a folder of pictures, flat or one folder per class.
func (d *Data) readFolder(g *pipeline.Graph, r pipeline.ReaderOptions) (encoded, label pipeline.Value) {
	return readers.File(g, readers.FileOptions{
		Name: r.Name, Root: d.Root, FS: d.Place, ReadAhead: d.options.ReadAhead, LookAhead: d.options.LookAhead, Requests: d.options.Requests,
		NumShards: r.NumShards, ShardID: r.ShardID, StickToShard: r.StickToShard, PadLastBatch: r.PadLastBatch, Shuffle: r.Shuffle,
		Split: r.Split, Follow: r.Follow,
	})
}
