package imaging

// ScaleBytes stores src·scale + bias, which turns pixels into network inputs at the speed of memory. The slices have
// the same length.
func ScaleBytes(dst []float32, src []byte, scale, bias float32) error {
	if len(dst) != len(src) {
		return badArgument("scale", "%d bytes for %d values, as many are wanted", len(src), len(dst))
	}
	affineBytes(dst, src, scale, bias)
	return nil
}
