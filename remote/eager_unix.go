//go:build unix

package remote

import (
	"net"
	"runtime"
	"syscall"
	"time"
)

// A goroutine that waits for a connection is woken when a processor has nothing else to do, or every 10 ms.
// Processors that make rows have always something to do, so an answer in several pieces would
// come 10 ms for each. An eagerConn looks again whenever a worker gives its processor away, which workers
// do after each row while others make rows, and only then waits.
type eagerConn struct {
	net.Conn
	raw syscall.RawConn
}

const (
	eagerReads = 64                    // how often it looks
	atWork     = 10 * time.Microsecond // as long as others kept the processor, it is not idle
)

// eager returns a connection that reads as soon as it can.
func eager(c net.Conn) net.Conn {
	if s, ok := c.(syscall.Conn); ok {
		if raw, err := s.SyscallConn(); err == nil {
			return &eagerConn{c, raw}
		}
	}
	return c
}

func (c *eagerConn) Read(b []byte) (int, error) {
	for range eagerReads {
		n, again := 0, false
		err := c.raw.Read(func(fd uintptr) (done bool) {
			var err error
			n, err = syscall.Read(int(fd), b)
			again = err == syscall.EAGAIN
			return true
		})
		if err == nil && n > 0 {
			return n, nil
		}
		if err != nil || !again {
			break // Read below knows what it means
		}
		began := time.Now()
		runtime.Gosched()
		if time.Since(began) < atWork {
			break // one that is idle wakes this goroutine at once
		}
	}
	return c.Conn.Read(b)
}
