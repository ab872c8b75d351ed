// Package progress shows on a terminal how far a program is.
package progress

import (
	"fmt"
	"io"
	"os"
	"time"
)

const interval = 100 * time.Millisecond

// Line is one line of a terminal that is written again and again. It belongs to
// one goroutine.
type Line struct {
	terminal io.Writer // nil where there is none
	next     time.Time
}

// On returns a line on out. Where out is no terminal, as in a pipe, the line
// shows nothing.
func On(out io.Writer) *Line {
	f, ok := out.(*os.File)
	if !ok {
		return &Line{}
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return &Line{}
	}
	return &Line{terminal: out}
}

// Printf replaces the line's text, ten times a second at most.
func (l *Line) Printf(format string, args ...any) {
	if l.terminal == nil || time.Now().Before(l.next) {
		return
	}
	l.next = time.Now().Add(interval)
	fmt.Fprintf(l.terminal, "\r\x1b[K"+format, args...)
}

// Clear removes the line's text, so that other output can take its place.
func (l *Line) Clear() {
	if l.terminal != nil {
		fmt.Fprint(l.terminal, "\r\x1b[K")
	}
	l.next = time.Time{}
}
