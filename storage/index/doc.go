// Package index says where the samples of a data set lie: an [Index] leads from a sample
// to an object of a place (see package storage), such as a shard, and there to stretches
// of bytes, to a label and to a name. One reader (readers.Shards) reads all that has an
// index, so a format is no more than a way to make one.
//
// [Open] makes the index of shards. It recognises their format by their names and takes
// the first of these that there is:
//
//   - the file [FileName] beside the shards, which `plankton index` writes;
//   - what it has stored in [Options].Cache for shards of these names, sizes and times;
//   - for a tar archive, the index file of NVIDIA DALI's tool wds2idx beside it;
//   - one pass over each shard, which reads the headers of its parts and passes over the
//     rest.
//
// # Formats
//
// A format is a value of type format in a file of its own, tar.go for instance, which
// adds it to the list by its init. It has a name, the endings of its files' names, and a
// function that scans one shard and gives every sample to a [Builder]. A format whose
// offsets are in a file of their own, as MDS has them, scans that file.
//
// # Memory
//
// An index is a few arrays: 12 bytes for each sample and 12 for each of its members,
// with 12 more where a member lies in a frame, and its name. It is never changed once it
// is built, and may be used by several goroutines.
package index
