package datum

// Rows are dense samples that lie one behind the other, as the rows of a batch do.
type Rows struct {
	Spec *Spec  // of one sample; read-only
	Data []byte // nil where nobody wants the samples
}

// Gatherer is a Source whose samples lie in memory, so that a worker can have many of them
// copied by one call. It is asked in place of Read where all samples of the pipeline are dense,
// and nothing in it needs to know one sample from another: package pipeline decides.
type Gatherer interface {
	Source
	// Gathers reports whether Gather can be of use, always the same.
	Gathers() bool
	// Gather copies the samples of index, 0 ≤ index < Len each, in this order into out: one
	// Rows for each output, whose Data have room for exactly these samples, or are nil. It writes
	// what Read would make, in all of Data. It may write to index, too.
	//
	// It reports false where it has not copied them, for whatever reason. Then, where it panics, and
	// where it leaves samples as they were, they are read one by one, and what Data hold does not
	// count. A run that ends waits for it.
	//
	// It is called by several goroutines at once.
	Gather(index []int64, out []Rows) bool
}

// RowsKernel is a Kernel that can work on many samples by one call. What it makes of a sample
// must not depend on anything but the inputs: neither on the Sample, nor on other samples.
type RowsKernel interface {
	Kernel
	// RunRows does what Run does, for n samples. Inputs and outputs are all dense. It must write
	// all of the outputs, and must not write the inputs.
	//
	// It reports false where it has not made them, such as because one of the samples fails.
	// Then, where it panics, and where it leaves samples as they were, Run is called for one
	// sample after the other. A run that ends waits for it: it should take microseconds.
	RunRows(n int, in, out []Rows) bool
}
