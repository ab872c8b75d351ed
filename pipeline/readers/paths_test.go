package readers

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Paths come in the order of their bytes, whatever they have in common.
func TestPathsAreSorted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.SampledFrom([]string{"", "a", "class/picture_"}).Draw(t, "prefix")
		var list pathList
		want := rapid.SliceOf(rapid.StringMatching(`[ab\x01\xc3\xa4/]{0,12}`)).Draw(t, "names")
		for i, name := range want {
			want[i] = prefix + strings.ToValidUTF8(name, "?")
			list.add(prefix, want[i][len(prefix):])
		}
		slices.Sort(want)
		list.sort()
		got := make([]string, list.len())
		for i := range got {
			got[i] = string(list.at(i))
		}
		require.Equal(t, append([]string{}, want...), got)
	})
}
