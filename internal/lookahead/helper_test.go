package lookahead

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/planktonml/plankton/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// byteAt is the byte of an object at an offset.
func byteAt(object string, off int64) byte { return byte(off*7+off>>8) + object[len(object)-1] }

func bytesOf(object string, off, n int64) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byteAt(object, off+int64(i))
	}
	return b
}

// asked is a range that a store was asked for.
type asked struct {
	object string
	off    int64
	n      int
}

// store is a place whose objects have bytes by byteAt.
type store struct {
	latency time.Duration
	size    int64             // of objects; 0 for no end
	fault   func(asked) error // or nil
	before  func(ctx context.Context)

	mu     sync.Mutex
	asked  []asked
	counts storage.LookAhead
	flying int // requests in flight
	most   int
}

func (s *store) Open(string) (fs.File, error) { return nil, fs.ErrInvalid }

func (s *store) Traffic() storage.Traffic { return storage.Traffic{LookAhead: s.counts} }

func (s *store) CountAhead(c storage.LookAhead) {
	s.mu.Lock()
	s.counts = s.counts.Add(c)
	s.mu.Unlock()
}

var errStore = errors.New("the store fails")

func (s *store) ReadRange(ctx context.Context, name string, off int64, dst []byte) (int, error) {
	a := asked{name, off, len(dst)}
	s.mu.Lock()
	s.asked = append(s.asked, a)
	s.flying++
	s.most = max(s.most, s.flying)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.flying--
		s.mu.Unlock()
	}()
	if s.before != nil {
		s.before(ctx)
	}
	if s.latency > 0 {
		timer := time.NewTimer(s.latency)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	if s.fault != nil {
		if err := s.fault(a); err != nil {
			return 0, err
		}
	}
	if s.size > 0 && off+int64(len(dst)) > s.size {
		n := max(0, s.size-off)
		copy(dst, bytesOf(name, off, n))
		return int(n), io.ErrUnexpectedEOF
	}
	copy(dst, bytesOf(name, off, int64(len(dst))))
	return len(dst), nil
}

// samples are ranges by sample.
type samples [][]Range

func (s samples) AppendRanges(dst []Range, sample int64) []Range { return append(dst, s[sample]...) }

func (s samples) Object(object int64) string { return string(rune('a' + object)) }

// evenly returns samples of one size that lie side by side, so many in an object.
func evenly(objects, each int, size, gap int64) (s samples) {
	for o := range objects {
		for i := range each {
			s = append(s, []Range{{int64(o), int64(i) * (size + gap), size}})
		}
	}
	return s
}
