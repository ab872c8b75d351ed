package pipeline

import (
	"github.com/planktonml/plankton/internal/run"
	"github.com/planktonml/plankton/pipeline/datum"
)

// Batch is one batch of a pipeline. Its memory is the pipeline's: it is valid
// until it is released, and then used again for another batch. Its holder may
// overwrite it.
//
// Methods that take the name of an output panic if there is none of that name,
// or if it has another element type than the method returns. After the release they
// panic with ErrReleased, as long as the memory is not in use for another batch; what
// they returned before shows what that holds then. Builds with the tag
// invariants overwrite it at the release, floats with NaN. The end of the run, such as
// an iterator's Close, frees the memory of batches that are still held as well: methods
// that take the name of an output panic with ErrClosed then, and what they returned
// before must not be used any more. Page-locked memory and that of a device are gone.
type Batch run.Flight

func (b *Batch) flight() *run.Flight { return (*run.Flight)(b) }

// Retain keeps the batch from being used again until Release is called once
// more. It occupies one of the pipeline's PrefetchDepth + 1 batches meanwhile,
// of DevicePrefetchDepth + 1 where that is set. Close does not wait for the release.
func (b *Batch) Retain() { b.flight().Retain() }

// Release gives the batch back; a loop over an epoch does it by itself. It may
// be called from any goroutine.
func (b *Batch) Release() { b.flight().Release() }

// Epoch returns the number of the batch's epoch, from 0.
func (b *Batch) Epoch() int64 { return b.flight().Epoch() }

// Step returns the number of the batch in its epoch, from 0.
func (b *Batch) Step() int64 { return b.flight().Step() }

// Size returns the number of rows, valid or not: the pipeline's batch size.
func (b *Batch) Size() int { return len(b.flight().Mask()) }

// NumValid returns the number of valid rows: the first ones, unless samples were
// skipped (Mask). Rows that are not valid are zero.
func (b *Batch) NumValid() int { return b.flight().NumValid() }

// Mask says of every row whether it is valid.
func (b *Batch) Mask() []bool { return b.flight().Mask() }

// IDs returns the number of every row's sample in the first reader, -1 where the row is
// not valid and has none. With a Split it counts in the part that the reader shows, and
// in a Graph.Mix through the sources; see Reader.WholeIndex and Reader.Locate.
func (b *Batch) IDs() []int64 { return b.flight().IDs() }

// Errors returns the errors of the samples of this batch that were skipped or
// replaced, by row; nil for good ones.
func (b *Batch) Errors() []*SampleError { return b.flight().Errors() }

// Names returns the names of the outputs.
func (b *Batch) Names() []string { return b.flight().Names() }

// Dense reports whether every sample of an output has the same shape, so that
// the batch is one array.
func (b *Batch) Dense(name string) bool { return b.flight().Dense(name) }

// Shape returns the shape of an output: the batch size, then the shape of a
// sample with -1 where it differs.
func (b *Batch) Shape(name string) []int { return b.flight().Shape(name) }

// DType returns the element type of an output.
func (b *Batch) DType(name string) datum.DType { return b.flight().DType(name) }

// OnDevice reports whether an output is in the memory of Options.Device: what
// Bytes and the typed methods return are then an address and a length, whose
// bytes the host cannot reach. What made the output has finished.
func (b *Batch) OnDevice(name string) bool { return b.flight().OnDevice(name) }

// Bytes returns the memory of a dense output; see OnDevice.
func (b *Batch) Bytes(name string) []byte { return b.flight().Bytes(name) }

// Take makes the memory of a dense output on the host the caller's for good: it returns what
// Bytes shows, and puts other memory in its place, from where the output's memory comes from
// (Options.OutputMemory, Options.Allocator). Bytes shows that from then on, which holds
// anything. Options.MemoryBudget counts what was taken no more. The caller frees it, or leaves
// memory of the Go heap to the garbage collector.
//
// It is for consumers that keep a batch or hand it on; they need no Retain then. The error
// is a *MemoryError where there is no other memory, and the batch is as it was.
func (b *Batch) Take(name string) ([]byte, error) { return b.flight().Take(name) }

// Sample returns row i of an output, dense or ragged. It allocates for a dense
// one, and panics if there is no such row.
func (b *Batch) Sample(name string, i int) *datum.Tensor { return b.flight().Sample(name, i) }

// Float32s returns the elements of a dense float32 output, rows one after the
// other; the other typed methods do the same for their types.
func (b *Batch) Float32s(name string) []float32 { return typed[float32](b, name, datum.Float32) }

func (b *Batch) Float64s(name string) []float64 { return typed[float64](b, name, datum.Float64) }
func (b *Batch) Uint8s(name string) []uint8     { return typed[uint8](b, name, datum.Uint8) }
func (b *Batch) Int32s(name string) []int32     { return typed[int32](b, name, datum.Int32) }
func (b *Batch) Int64s(name string) []int64     { return typed[int64](b, name, datum.Int64) }

func typed[T datum.Element](b *Batch, name string, is datum.DType) []T {
	return datum.View[T](b.flight().Elements(name, is))
}
