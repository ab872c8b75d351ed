// Package filelock locks files between processes.
package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// locked is the byte of a file that is locked: far behind its end, since nobody can read
// what is locked.
const locked = 1 << 30

// Try locks a file for this process alone, or shared, unless another process has it.
// A lock ends with the process.
func Try(f *os.File, alone bool) (bool, error) {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if alone {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{Offset: locked})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// Unlock ends the lock of Try.
func Unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{Offset: locked})
}
