package iterator

import (
	"slices"
	"strings"
)

// differ returns the words in which two descriptions differ. Where they have as many words,
// these are the words that are not equal at their places; else what is left when the words
// that are equal at the beginning and at the end are taken away. No word is "nothing".
func differ(a, b string) (was, now string) {
	as, bs := words(a), words(b)
	if len(as) != len(bs) {
		for len(as) > 0 && len(bs) > 0 && as[0] == bs[0] {
			as, bs = as[1:], bs[1:]
		}
		for len(as) > 0 && len(bs) > 0 && as[len(as)-1] == bs[len(bs)-1] {
			as, bs = as[:len(as)-1], bs[:len(bs)-1]
		}
		return join(as), join(bs)
	}
	var x, y []string
	for i := range as {
		if as[i] != bs[i] {
			v, w := trim(as[i], bs[i])
			x, y = append(x, v), append(y, w)
		}
	}
	return join(x), join(y)
}

// words cuts a description at its blanks, but for those in brackets and quotes, which
// are within one value: {Mean:[1 2] Layout:"a b"} has two words.
func words(s string) (all []string) {
	depth, quoted, begin := 0, false, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == ' ' && depth <= 0:
			all, begin = append(all, s[begin:i]), i+1
		}
	}
	all = append(all, s[begin:])
	return slices.DeleteFunc(all, func(w string) bool { return w == "" })
}

// trim leaves out the braces that a word has around the name and the value that differ,
// and the names before them: {at:{Height:8}} is Height:8.
func trim(a, b string) (string, string) {
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	if open := strings.LastIndexByte(a[:same], '{') + 1; open > 0 {
		a, b = a[open:], b[open:]
	}
	for strings.HasSuffix(a, "}") && strings.HasSuffix(b, "}") && !strings.Contains(a, "{") && !strings.Contains(b, "{") {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b
}

func join(words []string) string {
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, " ")
}
