package imaging

import "github.com/planktonml/plankton/pipeline/datum"

// Image is an array of h×w pixels of C interleaved channels (H×W×C). The bytes belong to the caller.
type Image struct {
	Pix     []byte
	Type    datum.DType
	H, W, C int
	Stride  int // bytes from one row to the next; 0 means W·C elements, no gap
}

// stride returns the bytes from one row to the next.
func (m *Image) stride() int {
	if m.Stride != 0 {
		return m.Stride
	}
	return m.W * m.C * m.Type.Size()
}

// row returns the bytes of row y.
func (m *Image) row(y int) []byte {
	n := m.W * m.C * m.Type.Size()
	return m.Pix[y*m.stride():][:n]
}

// check reports an image whose bytes do not hold its shape.
func (m *Image) check(op string) error {
	if m.Type.Size() == 0 || min(m.H, m.W, m.C) < 1 || max(m.H, m.W, m.C) > maxExtent {
		return badArgument(op, "%d×%d×%d elements of %v are no picture", m.H, m.W, m.C, m.Type)
	}
	n := m.W * m.C * m.Type.Size()
	if s := m.stride(); s < n || len(m.Pix) < (m.H-1)*s+n {
		return badArgument(op, "%d bytes with rows %d bytes apart do not hold %d×%d×%d elements of %v",
			len(m.Pix), s, m.H, m.W, m.C, m.Type)
	}
	return nil
}

// YCbCr is a picture in planes of full-range bytes, as JPEG files hold it (JFIF). The luma plane has H×W samples, the
// chroma planes ceil(H/SubV)×ceil(W/SubH), centred between the luma samples they stand for. Cb and Cr are empty for
// a grey picture.
type YCbCr struct {
	Y, Cb, Cr        []byte
	YStride, CStride int // bytes from one row to the next
	H, W             int
	SubH, SubV       int // luma samples per chroma sample, 1 for 4:4:4; not used for a grey picture
}

func (p *YCbCr) grey() bool { return len(p.Cb) == 0 && len(p.Cr) == 0 }

func (p *YCbCr) chromaSize() (h, w int) {
	return (p.H + p.SubV - 1) / p.SubV, (p.W + p.SubH - 1) / p.SubH
}

func (p *YCbCr) check(op string) error {
	if p.H < 1 || p.W < 1 || !planeHolds(p.Y, p.YStride, p.H, p.W) {
		return badArgument(op, "a luma plane of %d bytes with rows %d bytes apart does not hold %d×%d samples", len(p.Y), p.YStride, p.H, p.W)
	}
	if p.grey() {
		return nil
	}
	if p.SubH < 1 || p.SubV < 1 {
		return badArgument(op, "chroma subsampling %d×%d, at least 1×1 is needed", p.SubV, p.SubH)
	}
	h, w := p.chromaSize()
	if !planeHolds(p.Cb, p.CStride, h, w) || !planeHolds(p.Cr, p.CStride, h, w) {
		return badArgument(op, "chroma planes of %d and %d bytes with rows %d bytes apart do not hold %d×%d samples",
			len(p.Cb), len(p.Cr), p.CStride, h, w)
	}
	return nil
}

func planeHolds(pix []byte, stride, h, w int) bool {
	return w <= stride && h <= len(pix) && len(pix) >= (h-1)*stride+w
}
