package nvjpeg

import (
	"errors"
	"fmt"
	"sync"

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

// Decoder is the library on the devices that it works on. Its methods may be called from any
// goroutine.
type Decoder struct {
	library *library
	backend Backend
	only    *cuda.Device // of Open

	mu     sync.Mutex // taken before a device's locks, and not while it is told of AtClose
	on     map[*cuda.Device]*engine
	closed bool
}

var _ accel.JPEGDecoder = (*Decoder)(nil)

// New opens the library for whatever devices the decoder is used on, such as the one of
// gorgoniaplugin.Device, which exists when a machine is attached. What the decoder has on a device
// ends with the device. The error matches ErrNoNVJPEG, or is an *Error of the library.
func New(o Options) (*Decoder, error) {
	if o.Backend < Default || o.Backend > Hardware {
		return nil, fmt.Errorf("nvjpeg: Options.Backend is %d; Default, Hybrid, GPUHybrid and Hardware are possible", o.Backend)
	}
	l, err := openLibrary(o.Library)
	if err != nil {
		return nil, err
	}
	return &Decoder{library: l, backend: o.Backend, on: map[*cuda.Device]*engine{}}, nil
}

// Open is New for one device, on which what the library cannot do is an error at once.
func Open(d *cuda.Device, o Options) (*Decoder, error) {
	dec, err := New(o)
	if err != nil {
		return nil, err
	}
	dec.only = d
	if _, err := dec.engine(d); err != nil {
		return nil, err
	}
	return dec, nil
}

// engine returns the library on a device.
func (d *Decoder) engine(device *cuda.Device) (*engine, error) {
	e, made, err := d.find(device)
	if !made {
		return e, err
	}
	device.AtClose(func() { d.leave(device) }) // at once where the device has been closed meanwhile
	if e.closed.Load() {
		return nil, fmt.Errorf("nvjpeg: %s was closed: %w", device.Name(), streams.ErrClosed)
	}
	return e, nil
}

// find is engine, and says whether it made the engine.
func (d *Decoder) find(device *cuda.Device) (e *engine, made bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch e := d.on[device]; {
	case d.closed:
		return nil, false, fmt.Errorf("nvjpeg: the decoder was closed: %w", streams.ErrClosed)
	case d.only != nil && device != d.only:
		return nil, false, fmt.Errorf("nvjpeg: the decoder is for %s and was used on %s", d.only.Name(), device.Name())
	case e != nil:
		return e, false, nil
	}
	if e, err = newEngine(device, d.library, d.backend); err == nil {
		d.on[device] = e
	}
	return e, err == nil, err
}

// leave ends the library on a device that is closing.
func (d *Decoder) leave(device *cuda.Device) {
	d.mu.Lock()
	e := d.on[device]
	delete(d.on, device)
	d.mu.Unlock()
	if e != nil {
		_ = e.close() // of a device that is gone there is nobody to tell
	}
}

// Name returns the name and the version of the library, such as "nvjpeg 12.4.0".
func (d *Decoder) Name() string {
	v := d.library.version
	return fmt.Sprintf("nvjpeg %d.%d.%d", v[0], v[1], v[2])
}

// Info reads the header of a file, by a decoder of Open. Errors match ErrBadJPEG or
// errors.ErrUnsupported, or are another *Error.
func (d *Decoder) Info(file []byte) (info Info, err error) {
	if d.only == nil {
		return Info{}, errors.New("nvjpeg: Info needs the device of Open")
	}
	e, err := d.engine(d.only)
	if err != nil {
		return Info{}, err
	}
	e.use.RLock()
	defer e.use.RUnlock()
	if e.closed.Load() {
		return Info{}, fmt.Errorf("nvjpeg: the decoder was closed: %w", streams.ErrClosed)
	}
	err = d.only.Do(func() error {
		info, err = e.info(file)
		return err
	})
	return info, err
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
	e, err := d.engine(on.Device())
	if err != nil {
		return err
	}
	return e.decode(on, format, batch)
}

// Close waits for what is being decoded and frees the library's memory. Streams must
// not have calls of Decode to come. Closing twice is no error.
func (d *Decoder) Close() error {
	d.mu.Lock()
	on := d.on
	d.on, d.closed = nil, true
	d.mu.Unlock()
	var all []error
	for _, e := range on {
		all = append(all, e.close())
	}
	return errors.Join(all...)
}
