//go:build !noasm

package png

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func init() {
	withTwins = func(f func()) {
		defer func(was bool) { useAVX2 = was }(useAVX2)
		useAVX2 = false
		f()
	}
}

// TestLayout checks what the assembly generator takes for granted.
func TestLayout(t *testing.T) {
	var r reader
	require.EqualValues(t, 0, unsafe.Offsetof(r.src))
	require.EqualValues(t, 24, unsafe.Offsetof(r.pos))
	require.EqualValues(t, 32, unsafe.Offsetof(r.bits))
	require.EqualValues(t, 40, unsafe.Offsetof(r.n))
	require.Equal(t, [...]int{11, 4096, 9, 1024, 63, 3 << 6, 1 << 12, 1 << 13, 16, 0, 1, 2, 3}, [...]int{
		litBits, litTable, distBits, distTable, bitsMask, literals, isRare, isEnd, aheadBytes,
		ranOut, blockEnded, badCode, badDistance,
	})
}
