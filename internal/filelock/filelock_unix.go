//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

// Package filelock locks files between processes.
package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Try locks a file for this process alone, or shared, unless another process has it.
// A lock ends with the process.
func Try(f *os.File, alone bool) (bool, error) {
	how := unix.LOCK_SH
	if alone {
		how = unix.LOCK_EX
	}
	err := flock(f, how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// Unlock ends the lock of Try.
func Unlock(f *os.File) error { return flock(f, unix.LOCK_UN) }

func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if err != unix.EINTR {
			return err
		}
	}
}
