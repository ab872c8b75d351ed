package terminal

import (
	"os"

	"golang.org/x/sys/windows"
)

// width returns the columns of a terminal that understands escape sequences, 0
// where f is none.
func width(f *os.File) int {
	var mode uint32
	h := windows.Handle(f.Fd())
	if windows.GetConsoleMode(h, &mode) != nil || mode&windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING == 0 {
		return 0
	}
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(h, &info) != nil {
		return 0
	}
	return int(info.Window.Right-info.Window.Left) + 1
}
