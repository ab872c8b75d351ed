package jpeg

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// At quality 100 nothing is lost of grey pictures but what the transforms round, and a
// lower quality loses more.
func TestDistorterLosesWhatTheQualitySays(t *testing.T) {
	var d Distorter
	for _, size := range [][2]int{{1, 1}, {7, 3}, {8, 8}, {17, 30}, {16, 2}} {
		h, w := size[0], size[1]
		src, dst := make([]byte, 3*h*w), make([]byte, 3*h*w)
		for i := range src {
			src[i] = byte(i / 3 * 37 % 251)
		}
		lost := func(quality int) (sum int) {
			require.NoError(t, d.RGB(dst, src, h, w, quality))
			for i := range src {
				n := int(src[i]) - int(dst[i])
				if quality >= 100 {
					require.LessOrEqual(t, n*n, 4, "%d×%d, element %d", h, w, i)
				}
				sum += n * n
			}
			return sum
		}
		lost(100)
		if h*w > 16 {
			require.Greater(t, lost(10), lost(90))
		}
		require.Equal(t, lost(1), lost(-5), "clamped")
		require.Zero(t, d.Growth(h, w))
		require.Positive(t, d.Growth(2*h+40, w))
	}
	require.Error(t, d.RGB(make([]byte, 3), make([]byte, 6), 1, 1, 50))
	d.Release()
	require.Zero(t, d.Reserved())
}
