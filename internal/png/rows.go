package png

import (
	"context"
	"fmt"
	"image"
)

const (
	// pieceBytes is how much of a row is made at a time. It is a multiple of the bytes
	// of a pixel, whatever its kind.
	pieceBytes = 24 << 10

	// chunkPixels is how many pixels are converted at a time.
	chunkPixels = 2048

	// margin is how many bytes are in front of a row, those of the pixel to the left of
	// the first one.
	margin = 8
)

// A pass is a part of an interlaced picture: every dx-th pixel from x on of every dy-th
// row from y on (section 8 of the specification).
type pass struct{ x, y, dx, dy int }

var (
	whole = [...]pass{{0, 0, 1, 1}}
	adam7 = [...]pass{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}}
)

// passes returns the parts in which the picture is stored.
func (h *Header) passes() []pass {
	if h.Interlaced {
		return adam7[:]
	}
	return whole[:]
}

// size returns the rows and columns of a pass. Without either it is left out.
func (p pass) size(h *Header) (rows, columns int) {
	rows, columns = (h.Height-p.y+p.dy-1)/p.dy, (h.Width-p.x+p.dx-1)/p.dx
	if rows <= 0 || columns <= 0 {
		return 0, 0
	}
	return rows, columns
}

// A target is where pixels go.
type target struct {
	dst    []byte
	stride int
	region image.Rectangle
	format Format
}

// Decode writes the pixels of a region of the open file, which lies in the picture, to
// dst, whose rows begin stride bytes apart. The whole file is checked. Decode looks at
// the context every few tenths of a millisecond and returns its error when it has ended.
func (d *Decoder) Decode(ctx context.Context, dst []byte, stride int, region image.Rectangle, f Format) error {
	s := &d.file
	if err := f.check(&s.Header); err != nil {
		return err
	}
	if !region.In(image.Rect(0, 0, s.Width, s.Height)) {
		return fmt.Errorf("png: the region %v is not in a picture of %d×%d", region, s.Height, s.Width)
	}
	d.prepare()
	d.scratch.colors.set(s, f)
	stream, err := d.compressed(ctx)
	if err != nil {
		return err
	}
	if err := d.scratch.stream.reset(stream); err != nil {
		return d.damaged(err)
	}
	t := target{dst: dst, stride: stride, region: region, format: f}
	for _, p := range s.passes() {
		if err := d.pass(ctx, p, &t); err != nil {
			return err
		}
	}
	return d.finish(ctx)
}

// take returns the next n bytes of the rows as they are stored, which stay until the next
// call.
func (d *Decoder) take(ctx context.Context, n int) ([]byte, error) {
	for {
		if b := d.scratch.stream.ready(n); b != nil {
			return b, nil
		}
		if err := d.turn(ctx); err != nil {
			return nil, err
		}
	}
}

// finish checks that the compressed data end.
func (d *Decoder) finish(ctx context.Context) error {
	for {
		done, err := d.scratch.stream.finished()
		switch {
		case err != nil:
			return d.damaged(err)
		case done:
			return nil
		}
		if err := d.turn(ctx); err != nil {
			return err
		}
	}
}

// turn looks at the context and inflates for a while.
func (d *Decoder) turn(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := d.scratch.stream.turn(); err != nil {
		return d.damaged(err)
	}
	return nil
}

// damaged says where the inflater failed.
func (d *Decoder) damaged(err error) error {
	return &FormatError{Offset: d.offset(d.scratch.stream.consumed()), Err: err}
}

// pass makes the pixels of a pass.
func (d *Decoder) pass(ctx context.Context, p pass, t *target) error {
	rows, columns := p.size(&d.file.Header)
	n := d.file.rowBytes(columns)
	clear(d.above[:margin+n])
	for y := range rows {
		if err := d.makeRow(ctx, p, t, y, n, columns); err != nil {
			return err
		}
		d.row, d.above = d.above, d.row
	}
	return nil
}

// makeRow makes row y of a pass, n bytes of so many columns.
func (d *Decoder) makeRow(ctx context.Context, p pass, t *target, y, n, columns int) error {
	step := d.file.pixelBytes()
	piece := min(n, pieceBytes)
	raw, err := d.take(ctx, 1+piece)
	if err != nil {
		return err
	}
	filter := raw[0]
	if filter > paeth {
		return formatErrorf(d.file.idat, "row %d has filter %d; there are 0 … 4", p.y+y*p.dy, filter)
	}
	raw = raw[1:]
	for at := 0; ; {
		left := margin + at - step
		unfilter(filter, d.row[left:left+step+piece], d.above[left:], raw, step)
		d.emit(p, t, y, at, piece, columns)
		if at += piece; at == n {
			return nil
		}
		piece = min(n-at, pieceBytes)
		if raw, err = d.take(ctx, piece); err != nil {
			return err
		}
	}
}

// emit writes what the region shows of n bytes of a row of a pass, which begin at
// byte at.
func (d *Decoder) emit(p pass, t *target, y, at, n, columns int) {
	y = p.y + y*p.dy
	if y < t.region.Min.Y || y >= t.region.Max.Y {
		return
	}
	bits := d.file.Color.channels() * d.file.Depth
	first := max(at*8/bits, (t.region.Min.X-p.x+p.dx-1)/p.dx)
	last := min((at+n)*8/bits, columns, (t.region.Max.X-p.x+p.dx-1)/p.dx)
	size := t.format.channels()
	out := t.dst[(y-t.region.Min.Y)*t.stride:]
	for first < last {
		count := min(last-first, chunkPixels)
		px := d.wide(d.row[margin:], first, count)
		to := out[(p.x+first*p.dx-t.region.Min.X)*size:]
		if p.dx == 1 {
			d.scratch.colors.convert(to[:count*size], px)
		} else {
			dense := d.scratch.dense[:count*size]
			d.scratch.colors.convert(dense, px)
			scatter(to, dense, size, p.dx*size)
		}
		first += count
	}
}

// scatter writes pixels of size bytes, 1 or 3, step bytes apart.
func scatter(dst, dense []byte, size, step int) {
	if size == 1 {
		for i, x := range dense {
			dst[i*step] = x
		}
		return
	}
	for at := 0; len(dense) >= 3; at += step {
		*(*[3]byte)(dst[at:]) = [3]byte(dense)
		dense = dense[3:]
	}
}

// wide returns pixels of a row with channels of 8 bits: of numbers with fewer bits
// the same number, of those with 16 the nearest of 255 shades.
func (d *Decoder) wide(row []byte, first, count int) []byte {
	channels, depth := d.file.Color.channels(), d.file.Depth
	switch {
	case depth == 8:
		return row[first*channels:][:count*channels]
	case depth == 16:
		px := d.scratch.wide[:count*channels]
		narrow(px, row[2*first*channels:][:2*len(px)])
		return px
	}
	px := d.scratch.wide[:count]
	spread(px, row, first, depth)
	return px
}

// narrowGeneric makes 8 bits of 16: v*255/65535 to the nearest, as NVIDIA DALI does.
func narrowGeneric(dst, src []byte) {
	src = src[:2*len(dst)]
	for i := range dst {
		v := uint32(src[2*i])<<8 | uint32(src[2*i+1])
		dst[i] = byte((v*255 + 32895) >> 16)
	}
}

// spread makes a byte of each number of depth bits from the given one on.
func spread(dst, src []byte, first, depth int) {
	mask := byte(1<<depth - 1)
	for i := range dst {
		bit := (first + i) * depth
		dst[i] = src[bit/8] >> (8 - depth - bit%8) & mask
	}
}
