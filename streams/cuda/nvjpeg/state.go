package nvjpeg

import (
	"context"
	"sync"
	"unsafe"

	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/cuda"
)

// layouts says what the library calls the formats, nvjpegOutputFormat_t, and how
// they lie in memory.
var layouts = map[Format]struct {
	output           uintptr
	channels, planes int
}{
	RGB:       {5, 3, 1},
	BGR:       {6, 3, 1},
	Gray:      {2, 1, 1},
	PlanarRGB: {3, 1, 3},
	PlanarBGR: {4, 1, 3},
}

// lane is the states of one stream, which take turns. A later stream may have the
// handle of one that has ended, and then takes over its states.
type lane struct {
	mu     sync.Mutex
	states [2]*state
	next   int
}

// state is memory that the library works in, and a batch as the library wants it:
// element i of each list is one file.
type state struct {
	handle uintptr
	busy   streams.Event // behind the last work in the memory; nil before the first
	size   int           // what nvjpegDecodeBatchedInitialize was told, 0 after a failure
	format Format

	rows    []int // of the caller's batch
	files   []*byte
	lengths []uint64
	images  []image
}

// image is where a picture goes, an nvjpegImage_t: planes of the device's memory.
type image struct {
	channel [4]*byte
	pitch   [4]uint64
}

// turn returns the state that is next. The library's functions return before the GPU
// is done, so a state is used again only when it is.
func (l *lane) turn(e *engine) (*state, error) {
	s := l.states[l.next]
	if s == nil {
		s = &state{}
		if err := call("nvjpegJpegStateCreate", e.library.jpegStateCreate, e.handle, uintptr(unsafe.Pointer(&s.handle))); err != nil {
			return nil, err
		}
		l.states[l.next] = s
	}
	l.next = (l.next + 1) % len(l.states)
	return s, s.wait()
}

func (l *lane) close(e *engine) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var first error
	for _, s := range l.states {
		if s == nil {
			continue
		}
		_ = s.wait() // its stream has the error, too
		if err := call("nvjpegJpegStateDestroy", e.library.jpegStateDestroy, s.handle); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// wait waits until the GPU is done with the state.
func (s *state) wait() error {
	if s.busy == nil {
		return nil
	}
	return s.busy.Wait(context.Background())
}

func (s *state) reset() {
	s.rows = s.rows[:0]
	clear(s.files) // which need not stay any longer
	s.files, s.lengths, s.images = s.files[:0], s.lengths[:0], s.images[:0]
}

// add appends a file. Planes lie one behind the other.
func (s *state) add(row int, p *Picture, pitch, planes int) {
	var m image
	for i := range planes {
		m.channel[i], m.pitch[i] = &p.Pixels[i*p.H*pitch], uint64(pitch)
	}
	s.rows = append(s.rows, row)
	s.files = append(s.files, &p.File[0])
	s.lengths = append(s.lengths, uint64(len(p.File)))
	s.images = append(s.images, m)
}

// decodeBatch decodes all files in one call, or fails as a whole.
func (s *state) decodeBatch(e *engine, q *cuda.Queue, format Format) error {
	const threads = 1 // of the CPU: the others are the pipeline's
	n := len(s.rows)
	if n != s.size || format != s.format {
		s.size = 0
		if err := call("nvjpegDecodeBatchedInitialize", e.library.decodeBatchedInitialize, e.handle, s.handle,
			uintptr(n), threads, layouts[format].output); err != nil {
			return err
		}
		s.size, s.format = n, format
	}
	err := call("nvjpegDecodeBatched", e.library.decodeBatched, e.handle, s.handle,
		uintptr(unsafe.Pointer(&s.files[0])), uintptr(unsafe.Pointer(&s.lengths[0])), uintptr(unsafe.Pointer(&s.images[0])), q.Handle())
	if err != nil {
		s.size = 0 // a state that failed has to be initialised anew
	}
	s.busy = q.Record() // a failed call may have launched something
	return err
}

// decodeEach decodes the files one by one and notes which ones fail.
func (s *state) decodeEach(e *engine, q *cuda.Queue, format Format, batch []Picture) error {
	for i, row := range s.rows {
		if err := s.wait(); err != nil {
			return err
		}
		err := call("nvjpegDecode", e.library.decode, e.handle, s.handle,
			uintptr(unsafe.Pointer(s.files[i])), uintptr(s.lengths[i]), layouts[format].output, uintptr(unsafe.Pointer(&s.images[i])), q.Handle())
		s.busy = q.Record()
		if err != nil && !ofFile(err) {
			return err
		}
		batch[row].Err = err
	}
	return nil
}
