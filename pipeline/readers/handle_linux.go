package readers

import (
	"io/fs"
	"unsafe"

	"golang.org/x/sys/unix"
)

// handle is an open file. It stands in for os.File, which allocates for each
// file that it opens and registers it with the network poller.
type handle int

// openHandle opens a file. The byte behind the name is written, where there is one.
func openHandle(name []byte) (handle, error) {
	if len(name) >= unix.PathMax {
		return 0, unix.ENAMETOOLONG
	}
	name = append(name, 0)
	// O_NONBLOCK: opening a named pipe would otherwise wait for its writer.
	const flags = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_LARGEFILE
	dir := unix.AT_FDCWD
	for {
		fd, _, errno := unix.Syscall6(unix.SYS_OPENAT, uintptr(dir), uintptr(unsafe.Pointer(&name[0])), flags, 0, 0, 0)
		switch errno {
		case 0:
			return handle(fd), nil
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// size returns the size of a regular file; anything else is an error.
func (h handle) size() (int64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(h), &st); err != nil {
		return 0, err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return st.Size, nil
	case unix.S_IFDIR:
		return 0, notRegular(fs.ModeDir)
	case unix.S_IFIFO:
		return 0, notRegular(fs.ModeNamedPipe)
	}
	return 0, notRegular(fs.ModeDevice)
}

// readAt returns 0 at the end of the file.
func (h handle) readAt(mem []byte, offset int64) (int, error) {
	for {
		n, err := unix.Pread(int(h), mem, offset)
		if err != unix.EINTR {
			return n, err
		}
	}
}

func (h handle) close() { _ = unix.Close(int(h)) }

func isAbs(path []byte) bool { return path[0] == '/' }
