package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
)

// printJSON writes a value as a line of JSON. In strings all that does not print is
// escaped, so that a terminal shows names of files as they are.
func printJSON(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if bytes.ContainsFunc(text, hidden) {
		var b bytes.Buffer
		for _, r := range string(text) {
			if !hidden(r) {
				b.WriteRune(r)
				continue
			}
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		}
		text = b.Bytes()
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// hidden reports whether a character does not print. Those below 0x20 have been escaped
// by package json.
func hidden(r rune) bool { return r >= 0x7f && !unicode.IsPrint(r) }
