package imaging

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Neutral values leave pixels as they are, also in place; extreme ones stay within 0 … 255.
func TestNeutralTones(t *testing.T) {
	const h, w = 16, 17
	src := make([]byte, 3*h*w)
	for i := range src {
		src[i] = byte(i * i >> 3)
	}
	for name, f := range map[string]func(dst, src []byte){
		"scale":     func(dst, src []byte) { ScaleTones(dst, src, 1) },
		"saturate":  func(dst, src []byte) { SaturateTones(dst, src, 1) },
		"contrast":  func(dst, src []byte) { ContrastTones(dst, src, 1) },
		"sharpen":   func(dst, src []byte) { SharpenTones(dst, src, h, w, 1) },
		"posterize": func(dst, src []byte) { PosterizeTones(dst, src, 8) },
		"solarize":  func(dst, src []byte) { SolarizeTones(dst, src, 256) },
		"inverted twice": func(dst, src []byte) {
			SolarizeTones(dst, src, 0)
			SolarizeTones(dst, dst, 0)
		},
	} {
		dst := make([]byte, len(src))
		f(dst, src)
		require.Equal(t, src, dst, name)
	}
	dst := make([]byte, len(src))
	TurnTones(dst, src, 0)
	for i := range src {
		require.InDelta(t, src[i], dst[i], 1)
	}
	SaturateTones(dst, src, 0)
	for i := 0; i < len(dst); i += 3 {
		require.Equal(t, dst[i], dst[i+1])
		require.Equal(t, dst[i], dst[i+2])
	}
	ScaleTones(dst, src, 1<<20)
	require.Equal(t, byte(255), dst[3*h*w-1])
}

// A third of the circle makes red of blue, green of red and blue of green.
func TestTurnTones(t *testing.T) {
	dst := make([]byte, 9)
	TurnTones(dst, []byte{255, 0, 0, 0, 255, 0, 0, 0, 255}, 1./3)
	for i, want := range []byte{0, 255, 0, 0, 0, 255, 255, 0, 0} {
		require.InDelta(t, want, dst[i], 1)
	}
}
