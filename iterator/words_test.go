package iterator

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestWordsThatDiffer(t *testing.T) {
	for _, c := range [][4]string{
		{"{Mean:[1 2 3] Std:[1]}", "{Mean:[1 2 4] Std:[1]}", "Mean:[1 2 3]", "Mean:[1 2 4]"},
		{"{A:{Height:8 Width:8} Mean:[1]}", "{A:{Height:9 Width:8} Mean:[1]}", "Height:8", "Height:9"},
		{"{A:{Height:8 Width:8}}", "{A:{Height:8 Width:9}}", "Width:8", "Width:9"},
		{`name="a b" x`, `name="a c" x`, `name="a b"`, `name="a c"`},
		{"a b c", "a c", "b", "nothing"},
		{"a", "a b c", "nothing", "b c"},
		{"a=1 b=1 c=1", "a=2 b=1 c=2", "a=1 c=1", "a=2 c=2"},
		{"", "x", "nothing", "x"},
		{"{T:{A:1}}", "{T:{B:1}}", "A:1", "B:1"},
		{`q="\" [" x`, `q="\" [" y`, "x", "y"},
	} {
		was, now := differ(c[0], c[1])
		require.Equal(t, c[2:], []string{was, now}, "%q and %q", c[0], c[1])
	}
}

// Whatever differs is shown, and no more than there was.
func TestAnyWordsThatDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune(`ab {}[]"\:`)), 0, 20, -1)
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		was, now := differ(a, b)
		if strings.Join(words(a), " ") != strings.Join(words(b), " ") {
			require.NotEqual(t, was, now)
		}
		require.LessOrEqual(t, len(was), max(len(a), len("nothing")))
		require.LessOrEqual(t, len(now), max(len(b), len("nothing")))
	})
}
