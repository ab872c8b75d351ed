//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

// Package filelock locks files between processes.
package filelock

import (
	"errors"
	"os"
)

// Try would lock a file.
func Try(*os.File, bool) (bool, error) { return false, errors.ErrUnsupported }

// Unlock would end the lock of Try.
func Unlock(*os.File) error { return errors.ErrUnsupported }
