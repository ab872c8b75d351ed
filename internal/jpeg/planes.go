package jpeg

import "image"

// Planes receives the components of a picture. Its buffers grow as needed and are
// used again by the next call; they belong to the caller.
type Planes struct {
	Header Header
	// Region is the part of the picture that was asked for, clipped to it.
	Region image.Rectangle
	// Plane holds the first Header.Components entries.
	Plane [maxComponents]Plane
}

// A Plane holds the samples of one component that lie in the blocks covering the
// region, cut off at the edge of the picture.
type Plane struct {
	// Pix holds rows of samples, Stride apart, from the upper left corner of Rect on.
	Pix    []uint8
	Stride int
	// Rect is the part of the component's own grid that is in Pix. Sample (x, y)
	// of the grid covers the pixels from (x·StepX, y·StepY) to
	// ((x+1)·StepX, (y+1)·StepY) of the full-size picture.
	Rect         image.Rectangle
	StepX, StepY int
}

// Row returns the samples of row y of the component's grid, from column Rect.Min.X
// on.
func (p *Plane) Row(y int) []uint8 {
	o := (y - p.Rect.Min.Y) * p.Stride
	return p.Pix[o : o+p.Rect.Dx()]
}

// Reduce returns the largest of 1, 2, 4 and 8 by which a region can be reduced
// while staying at least width × height.
func Reduce(region image.Rectangle, width, height int) int {
	reduce := 1
	for reduce < 8 && region.Dx() >= 2*reduce*width && region.Dy() >= 2*reduce*height {
		reduce *= 2
	}
	return reduce
}

// geometry is where the blocks and samples of a region lie.
type geometry struct {
	mcus image.Rectangle // the MCUs of an interleaved scan that cover the region
	comp [maxComponents]componentGeometry
}

type componentGeometry struct {
	blocks       image.Rectangle // blocks of the MCUs
	gridW, gridH int             // blocks of the whole component, without the padding of MCUs
	size         int             // samples per block in each direction: 8, 4, 2 or 1
	rect         image.Rectangle // samples of the blocks that are in the picture
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// layout computes the geometry of a region that is not empty and inside the
// picture. As in libjpeg, a subsampled component of a reduced picture keeps more of
// its own resolution, up to that of the others.
func (h *Header) layout(region image.Rectangle, reduce int) (g geometry) {
	mh, mv := h.maxSampling()
	g.mcus = image.Rect(region.Min.X/(8*mh), region.Min.Y/(8*mv), ceilDiv(region.Max.X, 8*mh), ceilDiv(region.Max.Y, 8*mv))
	for i, s := range h.Sampling[:h.Components] {
		c := &g.comp[i]
		c.size = 8 / reduce
		for c.size < 8 && (mh*8/reduce)%(2*c.size*s.H) == 0 && (mv*8/reduce)%(2*c.size*s.V) == 0 {
			c.size *= 2
		}
		c.blocks = image.Rect(g.mcus.Min.X*s.H, g.mcus.Min.Y*s.V, g.mcus.Max.X*s.H, g.mcus.Max.Y*s.V)
		c.gridW, c.gridH = ceilDiv(h.Width*s.H, 8*mh), ceilDiv(h.Height*s.V, 8*mv)
		b := c.blocks
		c.rect = image.Rect(b.Min.X*c.size, b.Min.Y*c.size, b.Max.X*c.size, b.Max.Y*c.size).
			Intersect(image.Rect(0, 0, ceilDiv(h.Width*s.H*c.size, 8*mh), ceilDiv(h.Height*s.V*c.size, 8*mv)))
	}
	return g
}

// strideAlign keeps rows apart by whole vector registers.
const strideAlign = 32

func (c *componentGeometry) stride() int {
	return ceilDiv(c.blocks.Dx()*c.size, strideAlign) * strideAlign
}

func (c *componentGeometry) pixBytes() int {
	return c.stride() * c.blocks.Dy() * c.size
}

// Bytes returns how many bytes of buffers [Decoder.Planes] needs for a region, in
// the Planes and in the Decoder: those of the samples and, for progressive files,
// of the coefficients of the whole picture. [Decoder.Pixels] needs the same at
// reduce 1, for a region that is two pixels larger on each side.
func (h *Header) Bytes(region image.Rectangle, reduce int) int64 {
	region = region.Intersect(imageRect(h))
	if region.Empty() {
		return 0
	}
	g := h.layout(region, reduce)
	var n int64
	for i := range h.Components {
		n += int64(g.comp[i].pixBytes())
	}
	return n + h.coefBytes()
}

// coefBytes returns how many bytes the coefficients of a progressive file take, else 0.
func (h *Header) coefBytes() int64 {
	if !h.Progressive {
		return 0
	}
	var n int64
	for i := range h.Components {
		n += int64(h.coefBlocks(i)) * blockBytes
	}
	return n
}

// blockBytes is what the coefficients of a block take, and the word that says which are not
// zero.
const blockBytes = blockSize*2 + 8

func imageRect(h *Header) image.Rectangle { return image.Rect(0, 0, h.Width, h.Height) }

// coefBlocks returns the number of blocks of a component with the padding of MCUs.
func (h *Header) coefBlocks(i int) int {
	mh, mv := h.maxSampling()
	return ceilDiv(h.Width, 8*mh) * h.Sampling[i].H * ceilDiv(h.Height, 8*mv) * h.Sampling[i].V
}

// Prepare sets everything but the samples for a region and a reduction as
// [Decoder.Planes] has them, and makes room for the samples.
func (p *Planes) Prepare(h *Header, region image.Rectangle, reduce int) {
	region = region.Intersect(imageRect(h))
	g := h.layout(region, reduce)
	p.prepare(h, region, &g)
}

// prepare points the planes to buffers for the geometry.
func (p *Planes) prepare(h *Header, region image.Rectangle, g *geometry) {
	p.Header, p.Region = *h, region
	mh, mv := h.maxSampling()
	for i, s := range h.Sampling[:h.Components] {
		c, out := &g.comp[i], &p.Plane[i]
		n := c.pixBytes()
		if cap(out.Pix) < n {
			out.Pix = make([]uint8, n, n+n/8)
		}
		out.Pix, out.Stride, out.Rect = out.Pix[:n], c.stride(), c.rect
		out.StepX, out.StepY = 8*mh/(s.H*c.size), 8*mv/(s.V*c.size)
	}
}
