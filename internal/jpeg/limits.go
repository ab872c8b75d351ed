package jpeg

import (
	"context"
	"fmt"
)

// How much work goes by between two looks at the decoder's Context, where it is not a
// row of blocks.
const (
	segmentsPerLook = 1024
	mcusPerLook     = 1024
	rowsPerLook     = 16      // of pixels
	blocksPerLook   = 1 << 15 // that are cleared
)

// ended returns the cause for which a context has ended, or nil.
func ended(ctx context.Context) error {
	if ctx == nil || ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}

// checkSize refuses a picture that is beyond the limits, or larger than the file at
// whose position pos its coded data begin can make it.
func (d *Decoder) checkSize(data []byte, pos int) error {
	h, limit := &d.frame.Header, or(d.Limits.MaxPixels, 1<<28)
	if n := int64(h.Width) * int64(h.Height); n > limit {
		return fmt.Errorf("jpeg: %w: %d×%d is %d pixels, the limit is %d (Limits.MaxPixels)", ErrTooLarge, h.Width, h.Height, n, limit)
	}
	if need, limit := h.coefBytes(), or(d.Limits.MaxBytes, 1<<30); need > limit {
		return fmt.Errorf("jpeg: %w: the coefficients of a progressive picture of %d×%d take %d bytes, the limit is %d (Limits.MaxBytes)",
			ErrTooLarge, h.Width, h.Height, need, limit)
	}
	if need, have := h.leastBytes(), len(data)-pos; have < need {
		return formatErrorf(len(data), "a picture of %d×%d has at least %d bytes of coded data, the file has %d: it is cut short, or its header is damaged",
			h.Width, h.Height, need, have)
	}
	return nil
}

// smallBlocks is how many blocks a picture may have without a look at its file: their
// buffers are hardly larger than what a decoder needs anyway.
const smallBlocks = 1 << 14

// leastBytes returns how many bytes of coded data the picture has at least. A block has a
// code for DC, and one for AC if the file is sequential, of at least one bit each.
func (h *Header) leastBytes() int {
	g := h.layout(imageRect(h), 1)
	blocks, bits := 0, 2
	if h.Progressive {
		bits = 1
	}
	for i := range h.Components {
		blocks += g.comp[i].gridW * g.comp[i].gridH
	}
	if blocks <= smallBlocks {
		return 0
	}
	return blocks * bits / 8
}

// visitsPerBlock is how often a scan may come by a block that has coefficients, on
// average, without reading a bit for it. Encoders make some ten scans of a component.
// Without a bound a file of a few bytes for each scan could make a decoder look at all
// the coefficients of the picture, time and again.
const visitsPerBlock = 64

// visit counts blocks that a scan came by without reading a bit.
func (d *Decoder) visit(blocks int) error {
	d.visits += blocks
	h := &d.frame.Header
	if d.visits <= smallBlocks*visitsPerBlock {
		return nil
	}
	all := 0
	for i := range h.Components {
		all += h.coefBlocks(i)
	}
	if d.visits > all*visitsPerBlock {
		return fmt.Errorf("jpeg: %w: its scans come by each block more than %d times without a bit for it", ErrTooLarge, visitsPerBlock)
	}
	return nil
}
