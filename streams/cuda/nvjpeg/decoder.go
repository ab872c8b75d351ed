package nvjpeg

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/planktonml/plankton/internal/accel"
	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/cuda"
)

// Backend says where the library does the work that is hard to do in parallel, the
// decoding of the Huffman codes. It is an nvjpegBackend_t.
type Backend int32

const (
	Default   Backend = iota // what the library chooses
	Hybrid                   // on the CPU
	GPUHybrid                // on the GPU for large batches of baseline files, else on the CPU
	Hardware                 // on a JPEG engine of the GPU; only baseline files, and not every GPU has one
)

// Options says how a decoder is opened. The zero value is ready.
type Options struct {
	// Library is the library's file or name; default libnvjpeg.so.12,
	// libnvjpeg.so.13 or libnvjpeg.so, whichever the system's loader finds first.
	Library string
	Backend Backend // default Default
}

// What is decoded, and how it lies in memory. The types are those of package
// internal/accel, so that operators need not know this package.
type (
	Format  = accel.JPEGFormat
	Picture = accel.JPEG
)

// The formats. RGB and BGR are H×W×3, Gray is H×W, the planar ones are 3×H×W.
const (
	RGB       = accel.JPEGRGB
	BGR       = accel.JPEGBGR
	Gray      = accel.JPEGGray
	PlanarRGB = accel.JPEGPlanarRGB
	PlanarBGR = accel.JPEGPlanarBGR
)

// Info is what a file says about its picture.
type Info struct {
	H, W       int
	Components int // 1 is grey, 3 is YCbCr or RGB
}

// Decoder is the library on one device. Its methods may be called from any
// goroutine.
type Decoder struct {
	device  *cuda.Device
	library *library
	handle  uintptr

	mu     sync.Mutex
	lanes  map[uintptr]*lane // by the driver's stream
	closed bool
}

var _ accel.JPEGDecoder = (*Decoder)(nil)

// interpolate is NVJPEG_FLAGS_UPSAMPLING_WITH_INTERPOLATION, of version 12.1.
const interpolate = 1 << 5

// Open opens the library for a device. The error matches ErrNoNVJPEG, or is an
// *Error of the library. The decoder must be closed before the device.
func Open(d *cuda.Device, o Options) (*Decoder, error) {
	if o.Backend < Default || o.Backend > Hardware {
		return nil, fmt.Errorf("nvjpeg: Options.Backend is %d; Default, Hybrid, GPUHybrid and Hardware are possible", o.Backend)
	}
	l, err := openLibrary(o.Library)
	if err != nil {
		return nil, err
	}
	flags := uintptr(0)
	if v := l.version; v[0] > 12 || v[0] == 12 && v[1] >= 1 {
		flags = interpolate
	}
	dec := &Decoder{device: d, library: l, lanes: map[uintptr]*lane{}}
	if err := d.Do(func() error {
		return call("nvjpegCreateEx", l.createEx, uintptr(o.Backend), 0, 0, flags, uintptr(unsafe.Pointer(&dec.handle)))
	}); err != nil {
		return nil, dec.explain(err)
	}
	return dec, nil
}

// Name returns the name and the version of the library, such as "nvjpeg 12.4.0".
func (d *Decoder) Name() string {
	v := d.library.version
	return fmt.Sprintf("nvjpeg %d.%d.%d", v[0], v[1], v[2])
}

// Info reads the header of a file. Errors match ErrBadJPEG or
// errors.ErrUnsupported, or are another *Error.
func (d *Decoder) Info(file []byte) (info Info, err error) {
	err = d.device.Do(func() error {
		info, err = d.info(file)
		return err
	})
	return info, err
}

// info is Info where the context is current.
func (d *Decoder) info(file []byte) (Info, error) {
	if len(file) == 0 {
		return Info{}, &Error{Call: "nvjpegGetImageInfo", Status: incompleteBitstream}
	}
	var out struct {
		components, subsampling int32
		widths, heights         [4]int32
	}
	err := call("nvjpegGetImageInfo", d.library.getImageInfo, d.handle, uintptr(unsafe.Pointer(&file[0])), uintptr(len(file)),
		uintptr(unsafe.Pointer(&out.components)), uintptr(unsafe.Pointer(&out.subsampling)),
		uintptr(unsafe.Pointer(&out.widths)), uintptr(unsafe.Pointer(&out.heights)))
	return Info{H: int(out.heights[0]), W: int(out.widths[0]), Components: int(out.components)}, err
}

// Decode launches the decoding of a batch on q, a *cuda.Queue of the decoder's
// device. Files may differ in size. It sets Picture.Err of files that it cannot
// decode: to a *SizeError, or to an *Error that matches ErrBadJPEG or
// errors.ErrUnsupported where the library says why. All others are decoded. The
// library fails batches as a whole, so where it does, files are decoded one by
// one, each of which waits for the one before.
//
// The error is that of the whole batch, of which anything may have been decoded: it
// matches cuda.ErrMemory, cuda.ErrNotCUDA or streams.ErrClosed, or is another
// *Error.
func (d *Decoder) Decode(q accel.Queue, format Format, batch []Picture) error {
	on, ok := q.(*cuda.Queue)
	if !ok {
		return cuda.ErrNotCUDA
	}
	if on.Device() != d.device {
		return fmt.Errorf("nvjpeg: the decoder is for %s and was used on %s", d.device.Name(), on.Device().Name())
	}
	l, err := d.lane(on.Handle())
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s, err := l.turn(d)
	if err != nil {
		return d.explain(err)
	}
	if err := d.fill(s, format, batch); err != nil {
		return err
	}
	if len(s.rows) == 0 {
		return nil
	}
	err = s.decodeBatch(d, on, format)
	if err != nil && ofFile(err) {
		err = s.decodeEach(d, on, format, batch)
	}
	return d.explain(err)
}

// fill lays the batch out as the library wants it, without the files that it does
// not take.
func (d *Decoder) fill(s *state, format Format, batch []Picture) error {
	layout, ok := layouts[format]
	if !ok {
		return fmt.Errorf("nvjpeg: format %d; RGB, BGR, Gray, PlanarRGB and PlanarBGR are possible", format)
	}
	s.reset()
	for i := range batch {
		p := &batch[i]
		pitch := p.Pitch
		if pitch == 0 {
			pitch = p.W * layout.channels
		}
		if p.H < 1 || p.W < 1 || pitch < p.W*layout.channels || len(p.Pixels) < layout.planes*p.H*pitch {
			return fmt.Errorf("nvjpeg: picture %d of %d×%d pixels has %d bytes of memory, %d from row to row; %d planes with rows of %d bytes are wanted",
				i, p.H, p.W, len(p.Pixels), pitch, layout.planes, p.W*layout.channels)
		}
		info, err := d.info(p.File)
		if err == nil && (info.H != p.H || info.W != p.W) {
			err = &SizeError{H: info.H, W: info.W, WantH: p.H, WantW: p.W}
		}
		if p.Err = err; err != nil {
			if !ofFile(err) && !errors.As(err, new(*SizeError)) {
				return d.explain(err)
			}
			continue
		}
		s.add(i, p, pitch, layout.planes)
	}
	return nil
}

// explain adds to a failed allocation what a person wants to know.
func (d *Decoder) explain(err error) error {
	if !errors.Is(err, cuda.ErrMemory) {
		return err
	}
	free, total, infoErr := d.device.FreeMemory()
	if infoErr != nil {
		return err
	}
	return fmt.Errorf("%w: the library takes memory of its own, %d of %d bytes of the GPU are free: use smaller batches, or end what else uses the GPU", err, free, total)
}

// lane returns the states for a stream.
func (d *Decoder) lane(stream uintptr) (*lane, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, fmt.Errorf("nvjpeg: the decoder was closed: %w", streams.ErrClosed)
	}
	l := d.lanes[stream]
	if l == nil {
		l = &lane{}
		d.lanes[stream] = l
	}
	return l, nil
}

// Close waits for what is being decoded and frees the library's memory. Streams must
// not have calls of Decode to come. Closing twice is no error.
func (d *Decoder) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	return d.device.Do(func() error {
		var all []error
		for _, l := range d.lanes {
			all = append(all, l.close(d))
		}
		return errors.Join(append(all, call("nvjpegDestroy", d.library.destroy, d.handle))...)
	})
}
