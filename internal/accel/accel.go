// Package accel is what operators for whole batches ask of an accelerator. Package
// streams/cuda answers; package pipeline/ops asks. Neither knows the other, so that
// a program without a GPU does not contain its driver binding.
package accel

import "github.com/planktonml/plankton/memstats"

// Memory is a device that has memory of its own. Slices of it are addresses and
// lengths, whose bytes the host cannot reach.
type Memory interface {
	Memory() memstats.Allocator     // of the device
	HostMemory() memstats.Allocator // of the host, page-locked
}

// Queue is Context.Native of a stream of such a device. Its methods launch work
// and return at once; memory is the device's where nothing else is said.
type Queue interface {
	Copy(dst, src []byte) error // of the device or page-locked
	Fill(dst []byte, value byte) error
	Alloc(n int) ([]byte, error) // for what is issued later on this queue
	Free(mem []byte) error       // when what was issued has run
	CropMirrorNormalize(dst, src, windows []byte, p *CropMirrorNormalize) error
	Resize(dst, src, scratch []byte, p *Resize) error
	OneHot(dst, labels, valid []byte, p *OneHot) error
}

// Window is what one sample asks of CropMirrorNormalize, as it lies in memory:
// the row and the column where its region starts, whether it is mirrored, and
// whether the row of the batch is valid. Rows that are not become zero.
type Window struct{ Y, X, Mirror, Valid int32 }

// CropMirrorNormalize describes a batch of pictures that are cropped, mirrored
// and normalised: value·Scale + Bias. Results equal those of package ops on the
// host to the bit.
type CropMirrorNormalize struct {
	N                int  // samples, at most 65,535
	SrcH, SrcW, SrcC int  // of the pictures, uint8 H×W×C, 1 to 4 channels
	H, W, C          int  // of the output, C at most 4; channels that the picture does not have are 0, or Fill where the region reaches beyond the picture
	Planar           bool // output C×H×W, else H×W×C
	Uint8            bool // output uint8, rounded and saturated, else float32

	Scale, Bias [4]float32 // per channel
	Fill        [4]float32 // value of what lies outside of the picture, per channel
}

// Taps are the weights of one resampled axis in memory of the device: output i is
// the sum over k < N of Weight[i·N+k] times source sample First[i]+k.
type Taps struct {
	N             int
	First, Weight []byte // int32 and float32
}

// Resize describes a batch of pictures H×W×C that are resampled along both
// axes. With the weights of package ops, results may differ from those on the
// host by the order of summation: by 1 for uint8, and by a few units in the last
// place for float32.
type Resize struct {
	N          int // samples, at most 65,535
	SrcH, SrcW int
	H, W       int
	C          int
	SrcFloat32 bool // else uint8
	Float32    bool // output, else uint8
	Rows, Cols Taps // across a row, for W outputs; down a column, for H outputs
}

// Scratch returns how many bytes of memory Queue.Resize works in.
func (p *Resize) Scratch() int { return p.N * p.SrcH * p.W * p.C * 4 }

// OneHot describes a batch of labels that become vectors of float32: On at the
// label, Off elsewhere, also for labels outside of the classes.
type OneHot struct {
	N       int // rows of the batch, at most 65,535
	Labels  int // per row
	Classes int
	Int64   bool // labels are int64, else int32
	On, Off float32
}
