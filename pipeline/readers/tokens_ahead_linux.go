package readers

import (
	"context"
	"os"

	"golang.org/x/sys/unix"
)

var page = int64(os.Getpagesize())

// Prefetch implements datum.Prefetcher: it asks the system to bring a sequence into the page
// cache, and does not wait for that. A worker that touches mapped memory which is not there holds its processor
// until it is.
func (s *tokenSource) Prefetch(_ context.Context, index int64) (fetched bool) {
	for next := (place{}); ; {
		var p part
		if p, next = s.layout.part(index, next); p.n == 0 {
			return fetched
		}
		f := s.files[p.file]
		h, first, n := handle(f.data.Fd()), p.first*f.width, int64(p.n)*f.width
		if last := first + n - 1; !h.cached(first) || first/page != last/page && !h.cached(last) {
			fetched = unix.Fadvise(int(h), first, n, unix.FADV_WILLNEED) == nil || fetched
		}
	}
}

// ReadAhead implements datum.Prefetcher.
func (s *tokenSource) ReadAhead() int { return 128 }
