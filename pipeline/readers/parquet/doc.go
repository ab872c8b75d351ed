// Package parquet reads tables in Parquet files, such as the data sets of Hugging Face. It
// is a package of its own since it brings the library parquet-go in, which programs
// without such files need not have.
//
//	image, label := parquet.Read(g, pipeline.ReaderOptions{Shuffle: true}, parquet.Options{Root: "cifar10/data"})
//
// Without [Options].Columns these are the pictures and their labels, where the columns are
// as Hugging Face writes them or have the usual names. With columns, every one is an
// output, see [readers.Field]:
//
//   - Numbers are scalars of the type that the file has.
//   - Bytes and texts are uint8 of one dimension, whose length differs. With a Shape they
//     are raw elements of it.
//   - Lists have one dimension that differs, lists of lists two, and so on. With a Shape
//     they have that one.
//   - Of a struct one names a part: "objects.bbox". A struct of bytes and path, as the
//     pictures of Hugging Face are, stands for its bytes.
//   - Columns with a dictionary are what the dictionary says.
//
// A value that is missing is an error of its row. Lists of texts, decimal numbers and
// timestamps of 96 bits are refused.
//
// # What an order costs
//
// Rows are packed in pages, about a megabyte each, that can only be decoded whole. A
// Source keeps the pages used last, as many as [Options].CacheBytes allows. In the order
// of the file, or shuffled by blocks ([Source.Block], iterator.Options.ShuffleBlock), every
// page is decoded about once. In a full shuffle a page is decoded for every row, unless all
// of them fit: [Source.Cost] says what that comes to, and so does `plankton inspect`.
//
// A page that is at hand costs no allocation per row. Decoding one costs some.
//
// The format is that of https://github.com/apache/parquet-format.
package parquet
