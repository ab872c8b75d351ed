// Package terminal writes one line of a terminal again and again, and nothing
// where there is no terminal.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"
)

// Interval is the shortest time between two texts of a Line.
const Interval = 100 * time.Millisecond

// Line is one line of a terminal. It belongs to one goroutine.
type Line struct {
	out   io.Writer // nil where there is no terminal
	width func() int
	next  time.Time
	shown bool
}

// On returns a line on out, which shows nothing where out is no terminal, as in
// a pipe.
func On(out io.Writer) *Line {
	f, ok := out.(*os.File)
	if !ok || width(f) == 0 {
		return &Line{}
	}
	return &Line{out: out, width: func() int { return width(f) }}
}

// To returns a line that writes to out as to a terminal of a fixed width.
func To(out io.Writer, columns int) *Line {
	return &Line{out: out, width: func() int { return columns }}
}

// Due reports whether the line would show a new text now, so that callers need
// not make one in vain.
func (l *Line) Due() bool { return l.out != nil && !time.Now().Before(l.next) }

// Width returns how many characters the line has room for. One column stays free: a
// terminal may break a line that is full.
func (l *Line) Width() int {
	if l.out == nil {
		return 0
	}
	return l.width() - 1
}

// Set replaces the text, cut to the width of the terminal, if it is Due.
func (l *Line) Set(text string) {
	if !l.Due() {
		return
	}
	l.next = time.Now().Add(Interval)
	l.shown = true
	fmt.Fprintf(l.out, "\r\x1b[K%s", cut(text, l.Width()))
}

// Clear removes the text, so that other output can take its place.
func (l *Line) Clear() {
	if l.shown {
		fmt.Fprint(l.out, "\r\x1b[K")
	}
	l.shown, l.next = false, time.Time{}
}

// cut returns the first n characters of a text.
func cut(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// Bar draws a part, 0 to 1, of so many characters.
func Bar(part float64, columns int) string {
	done := int(min(1, max(0, part))*float64(columns) + 0.5)
	return strings.Repeat("█", done) + strings.Repeat("░", columns-done)
}
