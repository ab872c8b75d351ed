package datum

// Sharded is a Source whose samples lie in shards, one after the other, that are read
// best in one piece: archives, files of records, row groups.
type Sharded interface {
	Source
	// ShardEnds returns the index behind the last sample of each shard. The last one is
	// Len, and no shard is empty.
	ShardEnds() []int64
}

// ShardKeeper is a Sharded source that keeps a bounded part of its shards in memory.
type ShardKeeper interface {
	Sharded
	// CheckGroup returns an error if the source cannot keep so many shards at a time, which are
	// read by turns. It says what has to change.
	CheckGroup(shards int64) error
}
