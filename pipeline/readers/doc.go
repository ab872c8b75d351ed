// Package readers holds the readers of a pipeline: what brings samples in.
//
//   - [File] reads whole files, such as encoded pictures, from a folder or a list.
//   - [Shards] reads tar archives as WebDataset has them, TFRecord files, and what else
//     package storage/index knows where samples lie in.
//   - [COCO] reads pictures and the objects in them, [Pairs] pictures and their masks: two
//     readers each, of which one follows the other.
//   - [IDX] reads the format of MNIST and its relatives.
//   - [CSV] and [JSONLines] read records of text files, and package parquet below this one
//     Parquet files.
//   - [NPY] reads arrays of NumPy.
//   - [Slices] reads data that the program has in memory.
//   - [Tokens] reads sequences of tokens for language models.
//   - [External] reads what the program's own function or iterator delivers.
//
// A reader is added to the graph of a pipeline and returns the values that it
// makes, one sample at a time. It is opened and checked there and then: a
// mistake comes out of [pipeline.New] as a *[pipeline.BuildError]. A sample that
// cannot be read later is a *[pipeline.SampleError] that names it.
//
// Operators may read samples where a reader has them in memory, but batches are
// always copies: whoever gets a batch may overwrite it without harm to the data
// set.
//
// The options that all readers share are those of [pipeline.ReaderOptions]. Two
// readers of the same data with a [pipeline.Split] share it between training and
// validation. [pipeline.Graph.Mix] makes one reader of several.
package readers
