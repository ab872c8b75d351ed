package nvjpeg

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/cuda"
)

// engine is the library on one device.
type engine struct {
	device  *cuda.Device
	library *library
	handle  uintptr

	use    sync.RWMutex // held for reading by calls of the library, for writing while it is closed; before mu
	closed atomic.Bool  // set under use

	mu    sync.Mutex
	lanes map[uintptr]*lane // by the driver's stream
}

// interpolate is NVJPEG_FLAGS_UPSAMPLING_WITH_INTERPOLATION, of version 12.1.
const interpolate = 1 << 5

func newEngine(d *cuda.Device, l *library, b Backend) (*engine, error) {
	flags := uintptr(0)
	if v := l.version; v[0] > 12 || v[0] == 12 && v[1] >= 1 {
		flags = interpolate
	}
	e := &engine{device: d, library: l, lanes: map[uintptr]*lane{}}
	if err := d.Do(func() error {
		return call("nvjpegCreateEx", l.createEx, uintptr(b), 0, 0, flags, uintptr(unsafe.Pointer(&e.handle)))
	}); err != nil {
		return nil, e.explain(err)
	}
	return e, nil
}

// info is Info where the context is current.
func (e *engine) info(file []byte) (Info, error) {
	if len(file) == 0 {
		return Info{}, &Error{Call: "nvjpegGetImageInfo", Status: incompleteBitstream}
	}
	var out struct {
		components, subsampling int32
		widths, heights         [4]int32
	}
	err := call("nvjpegGetImageInfo", e.library.getImageInfo, e.handle, uintptr(unsafe.Pointer(&file[0])), uintptr(len(file)),
		uintptr(unsafe.Pointer(&out.components)), uintptr(unsafe.Pointer(&out.subsampling)),
		uintptr(unsafe.Pointer(&out.widths)), uintptr(unsafe.Pointer(&out.heights)))
	return Info{H: int(out.heights[0]), W: int(out.widths[0]), Components: int(out.components)}, err
}

// decode is Decoder.Decode.
func (e *engine) decode(q *cuda.Queue, format Format, batch []Picture) error {
	e.use.RLock()
	defer e.use.RUnlock()
	if e.closed.Load() {
		return fmt.Errorf("nvjpeg: the decoder was closed: %w", streams.ErrClosed)
	}
	l := e.lane(q.Handle())
	l.mu.Lock()
	defer l.mu.Unlock()
	s, err := l.turn(e)
	if err != nil {
		return e.explain(err)
	}
	if err := e.fill(s, format, batch); err != nil {
		return err
	}
	if len(s.rows) == 0 {
		return nil
	}
	err = s.decodeBatch(e, q, format)
	if err != nil && ofFile(err) {
		err = s.decodeEach(e, q, format, batch)
	}
	return e.explain(err)
}

// fill lays the batch out as the library wants it, without the files that it does
// not take.
func (e *engine) fill(s *state, format Format, batch []Picture) error {
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
		info, err := e.info(p.File)
		if err == nil && (info.H != p.H || info.W != p.W) {
			err = &SizeError{H: info.H, W: info.W, WantH: p.H, WantW: p.W}
		}
		if p.Err = err; err != nil {
			if !ofFile(err) && !errors.As(err, new(*SizeError)) {
				return e.explain(err)
			}
			continue
		}
		s.add(i, p, pitch, layout.planes)
	}
	return nil
}

// explain adds to a failed allocation what a person wants to know.
func (e *engine) explain(err error) error {
	if !errors.Is(err, cuda.ErrMemory) {
		return err
	}
	free, total, infoErr := e.device.FreeMemory()
	if infoErr != nil {
		return err
	}
	return fmt.Errorf("%w: the library takes memory of its own, %d of %d bytes of the GPU are free: use smaller batches, or end what else uses the GPU", err, free, total)
}

// lane returns the states for a stream.
func (e *engine) lane(stream uintptr) *lane {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := e.lanes[stream]
	if l == nil {
		l = &lane{}
		e.lanes[stream] = l
	}
	return l
}

// close waits for what is being decoded and frees the library's memory.
func (e *engine) close() error {
	e.use.Lock()
	defer e.use.Unlock()
	if e.closed.Swap(true) {
		return nil
	}
	return e.device.Do(func() error {
		var all []error
		for _, l := range e.lanes {
			all = append(all, l.close(e))
		}
		return errors.Join(append(all, call("nvjpegDestroy", e.library.destroy, e.handle))...)
	})
}
