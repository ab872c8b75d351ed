package flac

import (
	"errors"
	"fmt"
)

var (
	errEnd      = errors.New("it ends within a frame")
	errSync     = errors.New("a frame does not begin where the last one ends")
	errReserved = errors.New("a frame uses what the format reserves")
)

// channel assignments of two channels
const (
	leftSide = 8 + iota
	sideRight
	midSide
)

// frame decodes the frame that begins at start, of which the header has been read, to d.block. There
// is room for its n samples per channel.
func (d *Decoder) frame(start, n, assignment int) error {
	r := &d.bits
	for c := range d.info.Channels {
		d.block[c] = d.block[c][:n]
		width := uint(d.info.Bits)
		if assignment == leftSide && c == 1 || assignment == sideRight && c == 0 || assignment == midSide && c == 1 {
			width++
		}
		if err := d.subframe(d.block[c], width); err != nil {
			return err
		}
	}
	end := r.align()
	if sum := uint16(r.read(16)); r.over {
		return errEnd
	} else if crc16(r.data[start:end]) != sum {
		return errors.New("the checksum of a frame is wrong")
	}
	d.join(assignment)
	if !d.inRange(n) {
		return fmt.Errorf("a sample has more than %d bits", d.info.Bits)
	}
	return nil
}

// rates are the sampling rates that have a number of their own.
var rates = [...]int{1: 88200, 176400, 192000, 8000, 16000, 22050, 24000, 32000, 44100, 48000, 96000}

// header reads the header of a frame that begins at start.
func (d *Decoder) header(start int) (n, assignment int, err error) {
	r := &d.bits
	if r.read(15) != 0x7ffc {
		if r.over {
			return 0, 0, errEnd
		}
		return 0, 0, errSync
	}
	r.read(1) // whether blocks have different sizes, which only their numbers depend on
	size, rate := r.read(4), r.read(4)
	assignment = int(r.read(4))
	width := [8]int{d.info.Bits, 8, 12, -1, 16, 20, 24, 32}[r.read(3)]
	reserved := r.read(1)
	d.number()
	switch {
	case size == 1:
		n = 192
	case size == 6:
		n = int(r.read(8)) + 1
	case size == 7:
		n = int(r.read(16)) + 1
	case size >= 8:
		n = 256 << (size - 8)
	default: // 0 is reserved
		n = 576 << size >> 2
	}
	hz := d.info.Rate
	switch {
	case rate == 12:
		hz = 1000 * int(r.read(8))
	case rate == 13:
		hz = int(r.read(16))
	case rate == 14:
		hz = 10 * int(r.read(16))
	case rate > 0 && rate < 12:
		hz = rates[rate]
	}
	end := r.align()
	sum := byte(r.read(8))
	channels := assignment + 1
	if assignment >= leftSide {
		channels = 2
	}
	switch {
	case r.over:
		return 0, 0, errEnd
	case crc8(r.data[start:end]) != sum:
		return 0, 0, errors.New("the checksum of a frame's header is wrong")
	case size == 0 || rate == 15 || assignment > midSide || width < 0 || reserved != 0:
		return 0, 0, errReserved
	case channels != d.info.Channels || width != d.info.Bits || hz != d.info.Rate:
		return 0, 0, fmt.Errorf("a frame has %d channels of %d bits at %d Hz, the header says %d of %d at %d; such files are not decoded",
			channels, width, hz, d.info.Channels, d.info.Bits, d.info.Rate)
	}
	return n, assignment, nil
}

// number passes over the number of a frame, which is written as UTF-8 writes up to 36 bits.
func (d *Decoder) number() {
	first := d.bits.read(8)
	for mask := uint64(0x40); first&0x80 != 0 && first&mask != 0; mask >>= 1 {
		d.bits.read(8)
	}
}

// join makes channels of what was stored instead of them.
func (d *Decoder) join(assignment int) {
	if assignment < leftSide {
		return
	}
	a, b := d.block[0], d.block[1]
	b = b[:len(a)]
	switch assignment {
	case leftSide:
		for i, x := range a {
			b[i] = x - b[i]
		}
	case sideRight:
		for i, x := range b {
			a[i] += x
		}
	case midSide:
		for i, side := range b {
			mid := a[i]<<1 | side&1
			a[i], b[i] = (mid+side)>>1, (mid-side)>>1
		}
	}
}

// crc8 is the checksum of headers, of the polynomial x⁸ + x² + x + 1.
func crc8(b []byte) (sum byte) {
	for _, x := range b {
		sum = table8[sum^x]
	}
	return sum
}

// crc16 is the checksum of frames, of the polynomial x¹⁶ + x¹⁵ + x² + 1.
func crc16(b []byte) (sum uint16) {
	for _, x := range b {
		sum = sum<<8 ^ table16[byte(sum>>8)^x]
	}
	return sum
}

var table8, table16 = tables()

func tables() (t8 [256]byte, t16 [256]uint16) {
	for i := range t8 {
		a, b := byte(i), uint16(i)<<8
		for range 8 {
			a, b = a<<1^0x07*(a>>7), b<<1^0x8005*(b>>15)
		}
		t8[i], t16[i] = a, b
	}
	return t8, t16
}
