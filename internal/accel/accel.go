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

// Near is a device that knows which CPUs have the shortest way to it; none where nobody
// knows.
type Near interface{ NearCPUs() ([]int, error) }

// Queue is Context.Native of a stream of such a device. Its methods launch work
// and return at once; memory is the device's where nothing else is said.
type Queue interface {
	Copy(dst, src []byte) error // of the device or page-locked
	Fill(dst []byte, value byte) error
	Alloc(n int) ([]byte, error) // for what is issued later on this queue
	Free(mem []byte) error       // when what was issued has run
	CropMirrorNormalize(dst, src, windows []byte, p *CropMirrorNormalize) error
	Resize(dst, src []byte, p *Resize) error
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
	H, W, C          int  // of the output, C at most 4; channels that the picture does not have are Fill
	Planar           bool // output C×H×W, else H×W×C
	Uint8            bool // output uint8, rounded and saturated, else float32

	Scale, Bias [4]float32 // per channel
	Fill        [4]float32 // value of what lies outside of the picture, per channel
}

// Taps are the weights of one resampled axis: output i is the sum over k < N of
// Weight[i·N+k] times source sample First[i]+k. They are memory of the host; a
// queue brings them to the device when it meets their address for the first time,
// and keeps them as long as its stream lives, so they must not change.
type Taps struct {
	N      int
	First  []int32
	Weight []float32
	Wide   bool // how bytes are summed: see imaging.Weights
}

// Resize describes a batch of pictures H×W×C that are resampled along both axes.
// With the weights of package imaging, results equal those of package ops on the
// host to the bit. On the way there the queue allocates N×SrcH×W×C float32.
type Resize struct {
	N          int // samples, at most 65,535
	SrcH, SrcW int // at most 65,535 rows
	Pitch      int // pixels from one row of the source to the next, all of them in memory, where N is 1 and the source is a region of a picture; 0 for SrcW
	H, W       int // as SrcH, SrcW
	C          int
	SrcFloat32 bool // else uint8
	Float32    bool // output, else uint8
	Rows, Cols Taps // across a row, for W outputs; down a column, for H outputs

	// Weights is memory of the device with First and Weight of Rows, then those of Cols. With
	// it nothing is brought there and kept, and of Rows and Cols only N and Wide are read.
	Weights []byte
}

// OneHot describes a batch of labels that become vectors of float32: On at the
// label, Off elsewhere, also for labels outside of the classes.
type OneHot struct {
	N       int // rows of the batch, at most 65,535
	Labels  int // per row
	Classes int
	Int64   bool // labels are int64, else int32
	On, Off float32
}

// JPEGDecoder decodes JPEG files on an accelerator. It may be used on several
// queues at a time.
type JPEGDecoder interface {
	// Name tells decoders apart whose pixels may differ.
	Name() string
	// Decode launches the decoding of a batch on q, a queue of the decoder's device.
	// It sets JPEG.Err of files that it cannot decode, whose pixels hold anything;
	// the error is that of the whole batch.
	Decode(q Queue, format JPEGFormat, batch []JPEG) error
}

// JPEGFormat is how a decoded picture lies in memory, in uint8.
type JPEGFormat uint8

const (
	JPEGRGB       JPEGFormat = iota // H×W×3
	JPEGBGR                         // H×W×3
	JPEGGray                        // H×W, luma
	JPEGPlanarRGB                   // 3×H×W
	JPEGPlanarBGR                   // 3×H×W
)

// JPEG is a file and where its picture goes. The memory of both has to stay until
// the decoding is done.
type JPEG struct {
	File   []byte // of the host
	Pixels []byte // of the device
	H, W   int    // of the picture; another size in the file is an error
	Pitch  int    // bytes from one row of a plane to the next; 0 means that there is nothing between them
	Err    error  // set by the decoder
}
