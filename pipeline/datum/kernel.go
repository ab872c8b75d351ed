package datum

// Kernel does the work of an operator for one sample at a time. It belongs to one
// worker, so Run is never called twice at the same time.
type Kernel interface {
	// Run reads the inputs and writes the outputs.
	//
	// The inputs must not be written: others read the same memory, which may be the data
	// set itself. Builds with the tag invariants fail the sample of a kernel that writes
	// them.
	//
	// Every output must be written. Resize (or ResizeAs, CopyFrom) gives it memory, and
	// its shape; where the declared shape has no -1, Bytes and the typed methods do. An
	// output that was given no memory fails the sample with a *NotWrittenError, unless Run
	// returns an error itself.
	//
	// An error fails the sample. It names neither the sample nor the operator: the
	// pipeline adds both.
	Run(s *Sample, in, out []*Tensor) error
}

// KernelFunc is a function as a Kernel.
type KernelFunc func(s *Sample, in, out []*Tensor) error

// Run calls f.
func (f KernelFunc) Run(s *Sample, in, out []*Tensor) error { return f(s, in, out) }

// Releaser is a Kernel that holds memory beside the tensors, of which it has told the
// pipeline by Sample.Reserve.
type Releaser interface {
	// Release frees that memory. It is called between samples when memory is short,
	// perhaps on another goroutine than Run. It must not wait for a sample.
	Release()
}
