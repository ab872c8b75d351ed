//go:build (!amd64 && !arm64) || noasm

package imaging

import "slices"

func horizontal(dst []float32, src []byte, t *taps)        { horizontalGo(dst, src, t) }
func vertical(dst, rows []float32, pitch int, w []float32) { verticalGo(dst, rows, pitch, w) }
func verticalAffine(dst, rows []float32, pitch int, w []float32, scale, bias float32, _ bool) {
	verticalAffineGo(dst, rows, pitch, w, scale, bias)
}
func verticalRound(dst, rows []float32, pitch int, w []float32, scale, bias float32, _ bool) {
	verticalRoundGo(dst, rows, pitch, w, scale, bias)
}
func toRGBAffine(rgb [3][]float32, y, cb, cr []float32, n *norms, _ bool) {
	toRGBAffineGo(rgb, y, cb, cr, n)
}
func twistBytes(dst, src []byte, t *byteTwist) { twistBytesGo(dst, src, t) }
func twistRows(dst, src [3][]float32, t *byteTwist, n *norms, _ bool) {
	twistRowsGo(dst, src, t, n)
}
func toRGB(y, cb, cr []float32)                      { toRGBGo(y, cb, cr) }
func quantise(row []float32)                         { quantiseGo(row) }
func toBytes(dst []byte, src []float32)              { toBytesGo(dst, src) }
func affine(dst, src []float32, scale, bias float32) { affineGo(dst, src, scale, bias) }
func affineBytes(dst []float32, src []byte, scale, bias float32) {
	affineBytesGo(dst, src, scale, bias)
}
func normalize3(rgb [3][]float32, src []byte, s *strip, norm *norms) {
	normalize3Go(rgb, src, s, norm)
}
func reverse(row []float32)      { slices.Reverse(row) }
func split3(a, b, c, src []byte) { split3Go(a, b, c, src) }
func join3(dst, a, b, c []byte)  { join3Go(dst, a, b, c) }

func joinFloats(dst, a, b, c []float32) { joinFloatsGo(dst, a, b, c) }
func canStream([]float32, int) bool     { return false }
func fence()                            {}
func touch([]byte)                      {}

// shuffle is what the assembly needs beside the weights: here nothing.
type shuffle struct{}

func (*shuffle) build(*taps) {}
