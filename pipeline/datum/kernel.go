package datum

// Kernel does an operator's work for one sample at a time. It belongs to one
// worker.
type Kernel interface {
	// Run reads in, which it must not write: others read the same memory, and it may
	// be the data set itself. Builds with the tag invariants fail the sample of a
	// kernel that does.
	//
	// Run writes out. Out[i] is resized to the shape of the result before it is
	// written. An output that was given no memory (Resize, ResizeAs, Lend, CopyFrom, or,
	// where the declared shape has no -1, Bytes and the typed methods) fails the sample
	// with a *NotWrittenError, unless Run returns an error itself. An error names neither
	// the sample nor the operator: the pipeline adds both.
	Run(c *Sample, in, out []*Tensor) error
}

// KernelFunc is a function as a Kernel.
type KernelFunc func(c *Sample, in, out []*Tensor) error

// Run calls f.
func (f KernelFunc) Run(c *Sample, in, out []*Tensor) error { return f(c, in, out) }

// Releaser is a Kernel that holds memory beside the tensors: what it tells
// Sample.Reserve.
type Releaser interface {
	// Release gives that memory up. It is called between samples, perhaps by
	// another goroutine than Run, when memory is short.
	Release()
}
