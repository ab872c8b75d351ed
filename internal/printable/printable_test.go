package printable

import (
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/planktonml/plankton/internal/alloctest"
)

func TestName(t *testing.T) {
	for name, want := range map[string]string{
		"cat/1 of 2.jpg":         "cat/1 of 2.jpg",
		`C:\pictures\1.jpg`:      `C:\pictures\1.jpg`,
		"Bär/犬.png":              "Bär/犬.png",
		"":                       `""`,
		`"quoted".jpg`:           `"\"quoted\".jpg"`,
		"evil\x1b[31m\a.jpg":     `"evil\x1b[31m\a.jpg"`,
		"a\nplankton: all well":  `"a\nplankton: all well"`,
		"gpj.\u202eexe":          `"gpj.\u202eexe"`,
		"latin\xe9.jpg":          `"latin\xe9.jpg"`,
		"replacement\ufffd.jpg":  "replacement\ufffd.jpg",
		"\ufeffcat.jpg":          `"\ufeffcat.jpg"`,
		"zero\x00":               `"zero\x00"`,
		"c1 control\u009b31mred": `"c1 control\u009b31mred"`,
	} {
		require.Equal(t, want, Name(name))
	}
}

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "",
		"open x: no such file":    "open x: no such file",
		"a\nb\tc\r":               `a\nb\tc\r`,
		"x\x1b]0;owned\a \u202ey": `x\x1b]0;owned\a \u202ey`,
		"latin\xe9, 犬":            `latin\xe9, 犬`,
	} {
		require.Equal(t, want, Line(text))
	}
}

// Whatever comes in, what comes out prints, names can be had back, and no two names
// look the same.
func TestEverythingPrints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		shown := Name(in)
		for _, out := range []string{shown, Line(in)} {
			require.Equal(t, -1, strings.IndexFunc(out, func(r rune) bool { return !unicode.IsPrint(r) }), "%q", out)
		}
		if strings.HasPrefix(shown, `"`) {
			back, err := strconv.Unquote(shown)
			require.NoError(t, err)
			shown = back
		}
		require.Equal(t, in, shown)
	})
}

func TestWhatPrintsIsNotCopied(t *testing.T) {
	name := strings.Repeat("cat/犬.jpg", 100)
	alloctest.None(t, 10, func() { Name(name); Line(name) })
}
