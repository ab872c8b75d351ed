package readdir

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// entryRooms are for what the system tells of folders.
var entryRooms = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// Each calls take for what is in a folder, in the order of the file system. Names are
// valid until take returns. It stands in for os.File.ReadDir, which makes objects
// of all that it finds.
func Each(folder string, take func(name []byte, kind fs.FileMode)) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer d.Close()
	fd := int(d.Fd())
	room := entryRooms.Get().(*[32 << 10]byte)
	defer entryRooms.Put(room)
	for {
		n, err := unix.Getdents(fd, room[:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n <= 0 || err != nil {
			return err
		}
		for rest := room[:n]; len(rest) > 0; {
			// As struct linux_dirent64 of getdents(2) has it.
			const length, kindAt, nameAt = unsafe.Offsetof(unix.Dirent{}.Reclen), unsafe.Offsetof(unix.Dirent{}.Type), unsafe.Offsetof(unix.Dirent{}.Name)
			e := rest[:binary.NativeEndian.Uint16(rest[length:])]
			rest = rest[len(e):]
			name := e[nameAt:]
			name = name[:bytes.IndexByte(name, 0)]
			kind, err := entryKind(fd, e[kindAt], name)
			switch {
			case errors.Is(err, unix.ENOENT): // it was removed meanwhile
			case err != nil:
				return err
			default:
				take(name, kind)
			}
		}
	}
}

// entryKind returns what kind of file an entry of a folder is. File systems may leave it to
// those who ask.
func entryKind(folder int, kind byte, name []byte) (fs.FileMode, error) {
	switch kind {
	case unix.DT_REG:
		return 0, nil
	case unix.DT_DIR:
		return fs.ModeDir, nil
	case unix.DT_LNK:
		return fs.ModeSymlink, nil
	case unix.DT_UNKNOWN:
		var st unix.Stat_t
		err := unix.EINTR
		for err == unix.EINTR { // as file systems of the network may answer a signal
			err, _ = unix.Fstatat(folder, string(name), &st, unix.AT_SYMLINK_NOFOLLOW).(unix.Errno)
		}
		if err != 0 {
			return 0, err
		}
		return entryKind(folder, byte(st.Mode&unix.S_IFMT>>12), name)
	}
	return fs.ModeIrregular, nil
}
