package remote

import (
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// sharedSize is how many bytes a connection has; those that are never written are never there.
const sharedSize = 16 << 20

// sealed says that a file stays as long as it is, so that nobody who has it mapped dies of an access.
const sealed = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW

// newShared returns memory, with the file that another process can map.
func newShared() (*shared, *os.File, error) {
	fd, err := unix.MemfdCreate("plankton-rows", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, nil, err
	}
	f := os.NewFile(uintptr(fd), "plankton-rows")
	var m *shared
	if err = f.Truncate(sharedSize); err == nil {
		if _, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, sealed|unix.F_SEAL_SEAL); err == nil {
			m, err = mapShared(fd, sharedSize, unix.PROT_READ)
		}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return m, f, nil
}

// mapShared maps so many bytes of a file.
func mapShared(fd, size, access int) (*shared, error) {
	b, err := unix.Mmap(fd, 0, size, access, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE) // fewer page faults, where the system has it for such memory
	return &shared{b: b, users: 1, end: func() { _ = unix.Munmap(b) }}, nil
}

// offerConn is a connection of the training program that sends memory with its first bytes.
type offerConn struct {
	net.Conn // reads
	unix     *net.UnixConn
	m        *shared

	mu   sync.Mutex
	file *os.File // of the memory, until it is sent
	end  sync.Once
}

// offering returns a connection that is read as c is, and brings memory with it where it is one of a Unix
// socket.
func offering(raw, c net.Conn) net.Conn {
	u, ok := raw.(*net.UnixConn)
	if !ok {
		return c
	}
	m, f, err := newShared()
	if err != nil {
		return c // all goes over the socket then
	}
	return &offerConn{Conn: c, unix: u, m: m, file: f}
}

func (c *offerConn) memory() *shared { return c.m.use() }

func (c *offerConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	f := c.file
	c.file = nil
	c.mu.Unlock()
	if f == nil || len(b) == 0 {
		return c.Conn.Write(b)
	}
	defer f.Close()
	n, _, err := c.unix.WriteMsgUnix(b, unix.UnixRights(int(f.Fd())), nil)
	if err != nil && n > 0 || n == len(b) {
		return n, err
	}
	more, err := c.Conn.Write(b[n:]) // also where no file may be sent
	return n + more, err
}

func (c *offerConn) Close() error {
	c.end.Do(func() {
		c.mu.Lock()
		if c.file != nil {
			c.file.Close()
			c.file = nil
		}
		c.mu.Unlock()
		c.m.release()
	})
	return c.Conn.Close()
}

// taking has a worker take memory that connections of a Unix socket bring with them.
func taking(l net.Listener) net.Listener {
	if _, ok := l.(*net.UnixListener); ok {
		return takeListener{l}
	}
	return l
}

type takeListener struct{ net.Listener }

func (l takeListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if u, ok := c.(*net.UnixConn); ok {
		return &takeConn{Conn: c, unix: u, fd: -1}, nil
	}
	return c, err
}

// takeConn is a connection of a worker, whose first bytes may bring memory.
type takeConn struct {
	net.Conn
	unix   *net.UnixConn
	looked bool // the first bytes were read; belongs to who reads

	mu     sync.Mutex
	fd     int     // of the memory, -1 for none or when it is mapped
	m      *shared // nil before the first request for rows
	closed bool
}

func (c *takeConn) Read(b []byte) (int, error) {
	if c.looked || len(b) == 0 {
		return c.Conn.Read(b)
	}
	var oob [64]byte
	n, k, _, _, err := c.unix.ReadMsgUnix(b, oob[:])
	c.looked = n > 0
	for _, fd := range rights(oob[:k]) {
		c.mu.Lock()
		if c.fd < 0 && c.m == nil && !c.closed {
			c.fd, fd = fd, -1
		}
		c.mu.Unlock()
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	return n, err
}

// rights returns the files of a control message.
func rights(oob []byte) (fds []int) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	for i := range messages {
		if some, err := unix.ParseUnixRights(&messages[i]); err == nil {
			fds = append(fds, some...)
		}
	}
	return fds
}

// memory maps what the connection has brought, at the first request that may use it. A stranger could have
// sent any file: only one that stays as long as it is and lies in memory is mapped.
func (c *takeConn) memory() *shared {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	if fd := c.fd; fd >= 0 {
		c.fd = -1
		if size := sharedLength(fd); size > 0 {
			c.m, _ = mapShared(fd, size, unix.PROT_READ|unix.PROT_WRITE) // without it all goes over the socket
		}
		unix.Close(fd)
	}
	return c.m.use()
}

// sharedLength returns how much of a file may be mapped, 0 for nothing.
func sharedLength(fd int) int {
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0) // other files than those in memory have none
	if err != nil || seals&sealed != sealed {
		return 0
	}
	var in unix.Statfs_t
	if unix.Fstatfs(fd, &in) != nil || in.Type != unix.TMPFS_MAGIC { // huge pages may run out, which ends who writes there
		return 0
	}
	var s unix.Stat_t
	if unix.Fstat(fd, &s) != nil {
		return 0
	}
	return int(min(s.Size, sharedSize))
}

func (c *takeConn) Close() error {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		if c.fd >= 0 {
			unix.Close(c.fd)
			c.fd = -1
		}
		c.m.release()
	}
	c.mu.Unlock()
	return c.Conn.Close()
}
