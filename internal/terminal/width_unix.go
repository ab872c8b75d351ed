//go:build unix

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// width returns the columns of a terminal, 0 where f is none.
func width(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	switch {
	case err != nil:
		return 0
	case size.Col == 0: // a terminal that does not tell
		return 80
	}
	return int(size.Col)
}
