//go:build !amd64 || noasm

package png

func addLeft(row, raw []byte, step int) { addLeftGeneric(row, raw, step) }

func addBytes(dst, a, b []byte) { addBytesGeneric(dst, a, b) }

func addAverage(row, above, raw []byte, step int) { addAverageGeneric(row, above, raw, step) }

func addPaeth(row, above, raw []byte, step int) { addPaethGeneric(row, above, raw, step) }

func adler32(sum uint32, p []byte) uint32 { return adler32Generic(sum, p) }

func narrow(dst, src []byte) { narrowGeneric(dst, src) }

func (c *colors) shuffle(dst, px []byte) { c.shuffleGeneric(dst, px) }

func (f *inflater) kernel() (why int) { return f.kernelGeneric() }
