package png

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/planktonml/plankton/internal/exif"
)

const signature = "\x89PNG\r\n\x1a\n"

// A chunk is length, kind, body and checksum.
const (
	chunkHead = 8
	chunkTail = 4
)

// ColorType is what the channels of a file mean, in the file's own numbers.
type ColorType uint8

// The colour types of PNG files.
const (
	Gray      ColorType = 0
	RGB       ColorType = 2
	Paletted  ColorType = 3
	GrayAlpha ColorType = 4
	RGBA      ColorType = 6
)

// String returns the name of a colour type.
func (c ColorType) String() string {
	switch c {
	case Gray:
		return "grey"
	case RGB:
		return "RGB"
	case Paletted:
		return "a palette"
	case GrayAlpha:
		return "grey with alpha"
	case RGBA:
		return "RGB with alpha"
	}
	return fmt.Sprintf("colour type %d", uint8(c))
}

// channels returns the number of values of a pixel in the file.
func (c ColorType) channels() int {
	return [...]int{Gray: 1, RGB: 3, Paletted: 1, GrayAlpha: 2, RGBA: 4}[c]
}

// A Header is what a file says about its picture.
type Header struct {
	Width, Height int
	Color         ColorType
	Depth         int // bits of a channel or index: 1, 2, 4, 8 or 16
	Interlaced    bool
	Transparent   bool // a gray or RGB file names a colour that is transparent
	Orientation   int  // Exif's, how the picture is to be turned: 1 to 8, 1 is upright
}

// The stages of a file: which chunk was seen last, of those whose order matters.
const (
	start = iota
	seenIHDR
	seenPLTE
	seenTRNS
	seenIDAT
)

// lookBytes is how much of a file is read between two looks at the context, and
// chunkWork what a chunk costs beside its bytes, in bytes.
const (
	lookBytes = 4 << 20
	chunkWork = 512
)

// scanner goes through the chunks of a file.
type scanner struct {
	data  []byte
	ctx   context.Context // of Open
	work  int             // since it was looked at
	stage int
	Header
	turned  bool         // the orientation is read
	palette [256][3]byte // black beyond the file's
	idat    int          // where the chunks with the pixels begin
	end     int          // and where they end
}

// next returns the chunk at pos and the position behind it. The checksum of a critical
// chunk is right. An ancillary chunk with a wrong one, whose contents nobody can trust
// and the pixels do not need, is returned as one that does not matter.
func (s *scanner) next(pos int) (kind string, body []byte, end int, err error) {
	left := len(s.data) - pos
	if left < chunkHead+chunkTail {
		return "", nil, 0, cutShort(len(s.data))
	}
	n := binary.BigEndian.Uint32(s.data[pos:])
	switch {
	case n > math.MaxInt32:
		return "", nil, 0, formatErrorf(pos, "a chunk has %d bytes; 2147483647 is the most", n)
	case int64(n) > int64(left-chunkHead-chunkTail):
		return "", nil, 0, cutShort(len(s.data))
	}
	end = pos + chunkHead + int(n)
	summed := s.data[pos+4 : end]
	sum, err := s.checksum(summed)
	if err != nil {
		return "", nil, 0, err
	}
	if sum != binary.BigEndian.Uint32(s.data[end:]) {
		if ancillary := summed[0]&0x20 != 0; ancillary {
			return "", nil, end + chunkTail, nil
		}
		return "", nil, 0, formatErrorf(end, "the checksum of chunk %q is wrong", summed[:4])
	}
	return kindOf(summed[:4]), summed[4:], end + chunkTail, nil
}

// checksum returns that of a chunk, and an error if the context ends.
func (s *scanner) checksum(summed []byte) (sum uint32, err error) {
	s.work += chunkWork
	for {
		if s.work >= lookBytes {
			s.work = 0
			if err := s.ctx.Err(); err != nil {
				return 0, err
			}
		}
		n := min(len(summed), lookBytes)
		sum = crc32.Update(sum, crc32.IEEETable, summed[:n])
		s.work += n
		if summed = summed[n:]; len(summed) == 0 {
			return sum, nil
		}
	}
}

// kindOf returns the kind of a chunk if it is one that matters, without allocating.
func kindOf(b []byte) string {
	for _, k := range [...]string{"IDAT", "IHDR", "PLTE", "tRNS", "eXIf", "IEND"} {
		if string(b) == k {
			return k
		}
	}
	return ""
}

// header reads up to the header and returns the position behind it.
func (s *scanner) header() (pos int, err error) {
	if len(s.data) < len(signature) {
		return 0, cutShort(len(s.data))
	}
	if string(s.data[:len(signature)]) != signature {
		return 0, formatErrorf(0, "not a PNG file")
	}
	for pos = len(signature); s.stage == start; {
		if pos, err = s.chunk(pos); err != nil {
			return 0, err
		}
	}
	return pos, nil
}

// rest reads what follows the header, to the end.
func (s *scanner) rest(pos int) (err error) {
	for pos >= 0 {
		if pos, err = s.chunk(pos); err != nil {
			return err
		}
	}
	return nil
}

// chunk reads the chunk at pos and returns the position behind it, -1 behind the
// last one.
func (s *scanner) chunk(pos int) (end int, err error) {
	kind, body, end, err := s.next(pos)
	if err != nil {
		return 0, err
	}
	allowed, length := true, true
	switch kind {
	case "IHDR":
		allowed, length = s.stage == start, len(body) == 13
		if allowed && length {
			s.stage = seenIHDR
			return end, s.readHeader(pos+chunkHead, body)
		}
	case "PLTE":
		n := len(body) / 3
		allowed = s.stage == seenIHDR && s.Color != Gray && s.Color != GrayAlpha
		length = len(body)%3 == 0 && n > 0 && n <= min(256, 1<<s.Depth)
		if allowed && length {
			s.stage = seenPLTE
			for i := range n {
				s.palette[i] = [3]byte(body[3*i:])
			}
		}
	case "tRNS":
		switch s.Color {
		case Gray:
			allowed, length = s.stage == seenIHDR, len(body) == 2
		case RGB:
			allowed, length = s.stage == seenIHDR || s.stage == seenPLTE, len(body) == 6
		case Paletted:
			allowed, length = s.stage == seenPLTE, len(body) <= 256
		default:
			allowed = false
		}
		s.stage, s.Transparent = seenTRNS, s.Color != Paletted
	case "IDAT":
		allowed = s.stage >= seenIHDR && (s.stage > seenIHDR || s.Color != Paletted)
		switch {
		case s.stage != seenIDAT:
			s.stage, s.idat, s.end = seenIDAT, pos, end
		case s.end == pos: // others are left out
			s.end = end
		}
	case "eXIf":
		if o := exif.Orientation(body); o != 0 && !s.turned {
			s.Orientation, s.turned = o, true
		}
	case "IEND":
		allowed, length = s.stage == seenIDAT, len(body) == 0
		end = -1
	}
	switch {
	case !allowed:
		return 0, formatErrorf(pos, "chunk %s is out of place", kind)
	case !length:
		return 0, formatErrorf(pos, "chunk %s has %d bytes, which it cannot", kind, len(body))
	}
	return end, nil
}

// readHeader reads the body of IHDR, which begins at pos.
func (s *scanner) readHeader(pos int, body []byte) error {
	w, h := binary.BigEndian.Uint32(body), binary.BigEndian.Uint32(body[4:])
	depth, color := body[8], ColorType(body[9])
	switch {
	case w == 0 || h == 0 || w > math.MaxInt32 || h > math.MaxInt32:
		return formatErrorf(pos, "the picture is %d×%d; both are 1 … 2147483647", w, h)
	case !possible(depth, color):
		return formatErrorf(pos+8, "%d bits of colour type %d do not exist", depth, color)
	case body[10] != 0 || body[11] != 0 || body[12] > 1:
		return formatErrorf(pos+10, "compression %d, filter %d and interlacing %d do not all exist", body[10], body[11], body[12])
	}
	s.Header = Header{Width: int(w), Height: int(h), Depth: int(depth), Color: color, Interlaced: body[12] == 1, Orientation: 1}
	return nil
}

// possible reports whether the specification allows a depth for a colour type.
func possible(depth byte, c ColorType) bool {
	switch c {
	case Gray:
		return depth == 1 || depth == 2 || depth == 4 || depth == 8 || depth == 16
	case Paletted:
		return depth == 1 || depth == 2 || depth == 4 || depth == 8
	case RGB, GrayAlpha, RGBA:
		return depth == 8 || depth == 16
	}
	return false
}
