// Package printable makes text that comes from outside, such as the names of files,
// fit for an error message, a log and a terminal: it stays on one line, and cannot
// carry escape sequences or turn the direction of what is written around it.
package printable

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Name returns a name as it is to be shown: as it is, if it consists of characters
// that print, and else quoted and escaped as Go source text has it, from which it can
// be had back with strconv.Unquote. A name that is empty or begins with a quotation
// mark is quoted as well, so that no name looks like another one that was quoted.
func Name(name string) string {
	if name == "" || name[0] == '"' || !prints(name) {
		return strconv.Quote(name)
	}
	return name
}

// Line returns a text with all that does not print escaped in its place, line breaks
// and tabs included: "a\nb" becomes the four characters a, \, n, b.
func Line(text string) string {
	if prints(text) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if part := text[i : i+n]; shows(r, n) {
			b.WriteString(part)
		} else {
			quoted := strconv.Quote(part)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		i += n
	}
	return b.String()
}

func prints(s string) bool {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !shows(r, n) {
			return false
		}
		i += n
	}
	return true
}

// shows reports whether a character of n bytes prints. A byte that is no part of a
// character decodes as utf8.RuneError of one byte.
func shows(r rune, n int) bool {
	return strconv.IsPrint(r) && (r != utf8.RuneError || n > 1)
}
