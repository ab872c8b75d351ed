// Package flac decodes FLAC files: RFC 9639, "Free Lossless Audio Codec", 2024.
//
// Every kind of subframe, 1 to 8 channels and 4 to 32 bits are decoded. The checksums of
// headers and frames are compared, and the number of samples; the MD5 sum of all samples is
// not, which repeats what the checksums of the frames say.
package flac

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Magic is what files begin with.
const Magic = "fLaC"

// Info is what the header of a file says.
type Info struct {
	Rate, Channels, Bits int
	Frames               int64 // samples per channel; 0 where the header does not know
}

// Limits of the format.
const (
	maxChannels = 8
	maxBlock    = 1 << 16 // frames of a block
	streamInfo  = 34      // bytes of the block of that name
)

// Decoder decodes one file at a time, and keeps its memory for the next. The zero value is ready.
type Decoder struct {
	info  Info
	bits  bitReader
	block [maxChannels][]int64
	lpc   [32]int64
}

// Reserved returns how many bytes the decoder keeps from file to file.
func (d *Decoder) Reserved() (n int64) {
	for _, b := range d.block {
		n += int64(cap(b)) * 8
	}
	return n
}

// Release gives that memory up, and the file.
func (d *Decoder) Release() { *d = Decoder{} }

// Open reads the header of a file, which must not change before Decode has returned.
func (d *Decoder) Open(file []byte) (Info, error) {
	if len(file) < len(Magic) || string(file[:len(Magic)]) != Magic {
		return Info{}, errors.New("no FLAC file")
	}
	d.info = Info{}
	for at, last := len(Magic), false; !last; {
		if len(file) < at+4 {
			return Info{}, errors.New("the FLAC file ends within its header; fetch it again")
		}
		head := binary.BigEndian.Uint32(file[at:])
		n := int(head & 0xffffff)
		last, at = head>>31 != 0, at+4
		if len(file)-at < n {
			return Info{}, errors.New("the FLAC file ends within its header; fetch it again")
		}
		if kind := head >> 24 & 127; kind == 0 {
			if n != streamInfo {
				return Info{}, fmt.Errorf("a FLAC file whose stream information has %d bytes; %d are wanted", n, streamInfo)
			}
			x := binary.BigEndian.Uint64(file[at+10:])
			d.info = Info{Rate: int(x >> 44), Channels: int(x>>41&7) + 1, Bits: int(x>>36&31) + 1, Frames: int64(x & (1<<36 - 1))}
		}
		at += n
		d.bits = bitReader{data: file, pos: at}
	}
	if d.info.Rate == 0 || d.info.Bits < 4 {
		return Info{}, fmt.Errorf("a FLAC file of %d bits at %d Hz", d.info.Bits, d.info.Rate)
	}
	return d.info, nil
}

// Decode appends the samples of the opened file to dst, channel by channel in each frame, as
// integers whose highest bit is that of 32. More than limit numbers are an error, before there
// is memory for them.
//
// Room, which may be nil, is asked before memory grows. It gets all bytes that are held from then
// on: those of the decoder and of dst, and while dst is copied to a larger one, of both. An error
// of room ends the decoding, and is returned as it is.
func (d *Decoder) Decode(dst []int32, limit int, room func(bytes int64) error) ([]int32, error) {
	start := len(dst)
	if d.info.Frames > int64(limit/d.info.Channels) {
		return dst, tooLong(limit)
	}
	for {
		frames := int64((len(dst) - start) / d.info.Channels)
		if d.info.Frames > 0 && frames == d.info.Frames {
			return dst, nil
		}
		if d.bits.atEnd() {
			if d.info.Frames > 0 {
				return dst, fmt.Errorf("the FLAC file is cut short: %d of %d samples; fetch it again", frames, d.info.Frames)
			}
			return dst, nil
		}
		at := d.bits.align()
		n, assignment, err := d.header(at)
		if err == nil {
			if err := d.grow(n, cap(dst), room); err != nil {
				return dst, err
			}
			err = d.frame(at, n, assignment)
		}
		if err != nil {
			return dst, fmt.Errorf("the FLAC file is damaged behind %d samples: %w", frames, err)
		}
		if d.info.Frames > 0 && frames+int64(n) > d.info.Frames {
			return dst, fmt.Errorf("the FLAC file has more than the %d samples that its header says", d.info.Frames)
		}
		if len(dst)-start+n*d.info.Channels > limit {
			return dst, tooLong(limit)
		}
		if dst, err = d.longer(dst, start, n, limit, room); err != nil {
			return dst, err
		}
		dst = d.interleave(dst, n)
	}
}

func tooLong(limit int) error { return fmt.Errorf("the FLAC file has more than %d numbers", limit) }

// grow makes room for the n samples of a block, beside a result of so many numbers.
func (d *Decoder) grow(n, result int, room func(int64) error) error {
	more := int64(0)
	for c := range d.info.Channels {
		if cap(d.block[c]) < n {
			more += 8 * int64(n)
		}
	}
	if more == 0 {
		return nil
	}
	if room != nil {
		if err := room(d.Reserved() + 4*int64(result) + more); err != nil {
			return err
		}
	}
	for c := range d.info.Channels {
		if cap(d.block[c]) < n {
			d.block[c] = make([]int64, n)
		}
	}
	return nil
}

// believed is for how many numbers a byte of a file is believed that there are so many, as the
// header says. Files of more grow as they are decoded.
const believed = 8

// longer returns dst with room for a block of n samples, and for more of them where it has to grow.
func (d *Decoder) longer(dst []int32, start, n, limit int, room func(int64) error) ([]int32, error) {
	wanted := len(dst) + n*d.info.Channels
	if cap(dst) >= wanted {
		return dst, nil
	}
	most, grown := start+limit, wanted+len(dst)/2
	if d.info.Frames > 0 {
		most = start + int(d.info.Frames)*d.info.Channels
		grown = max(grown, start+believed*len(d.bits.data))
	}
	grown = max(wanted, min(grown, most))
	if room != nil {
		if err := room(d.Reserved() + 4*int64(cap(dst)) + 4*int64(grown)); err != nil {
			return dst, err
		}
	}
	longer := make([]int32, len(dst), grown)
	copy(longer, dst)
	return longer, nil
}

// interleave appends the block at hand, for which there is room.
func (d *Decoder) interleave(dst []int32, n int) []int32 {
	c, shift := d.info.Channels, 32-d.info.Bits
	at := len(dst)
	dst = dst[:at+n*c]
	for ch := range c {
		to := dst[at+ch:]
		for i, x := range d.block[ch][:n] {
			to[i*c] = int32(x << shift)
		}
	}
	return dst
}

// inRange reports whether all numbers of the block at hand fit the bits of a sample.
func (d *Decoder) inRange(n int) bool {
	for ch := range d.info.Channels {
		for _, x := range d.block[ch][:n] {
			if x>>(d.info.Bits-1) != x>>63 {
				return false
			}
		}
	}
	return true
}
