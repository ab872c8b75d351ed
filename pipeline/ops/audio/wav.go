package audio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// wav is a RIFF WAVE file: Microsoft, "Multimedia Programming Interface and Data
// Specifications", 1991, and the format tags of mmreg.h.
type wav struct {
	rate, channels int
	bits           int // of a sample in the file
	float          bool
	law            byte // 'a' or 'u' for A-law and µ-law
	data           []byte
}

// parseWAV reads the headers of a file.
func parseWAV(file []byte) (w wav, err error) {
	le := binary.LittleEndian
	if len(file) < 12 || string(file[:4]) != "RIFF" || string(file[8:12]) != "WAVE" {
		return w, errors.New("no RIFF WAVE file")
	}
	for rest := file[12:]; len(rest) >= 8; {
		name, size := string(rest[:4]), int64(le.Uint32(rest[4:]))
		body := rest[8:]
		whole := size <= int64(len(body))
		body = body[:min(size, int64(len(body)))]
		switch name {
		case "fmt ":
			if !whole {
				return w, errors.New("the WAV file ends within its format; fetch it again")
			}
			if err := w.format(body); err != nil {
				return w, err
			}
		case "data":
			if w.rate == 0 {
				return w, errors.New("a WAV file without a format before its data")
			}
			// A recorder that was cut off leaves a length of 0 or of the largest number behind.
			if !whole && size != math.MaxUint32 {
				return w, fmt.Errorf("the WAV file is cut short: %d of %d bytes of data; fetch it again", len(body), size)
			}
			w.data = body
			return w, nil
		}
		rest = rest[8+min(size+size%2, int64(len(rest)-8)):]
	}
	return w, errors.New("a WAV file without data")
}

// format reads the chunk "fmt ".
func (w *wav) format(b []byte) error {
	if len(b) < 16 {
		return fmt.Errorf("a WAV format of %d bytes; 16 at least are wanted", len(b))
	}
	le := binary.LittleEndian
	tag := le.Uint16(b)
	w.channels, w.rate, w.bits = int(le.Uint16(b[2:])), int(le.Uint32(b[4:])), int(le.Uint16(b[14:]))
	if tag == 0xfffe && len(b) >= 26 { // extensible: the first two bytes of the sub-format are the tag
		tag = le.Uint16(b[24:])
	}
	ok := false
	switch tag {
	case 1:
		ok = w.bits == 8 || w.bits == 16 || w.bits == 24 || w.bits == 32
	case 3:
		w.float = true
		ok = w.bits == 32 || w.bits == 64
	case 6, 7:
		w.law = map[uint16]byte{6: 'a', 7: 'u'}[tag]
		ok = w.bits == 8
	}
	switch {
	case !ok:
		return fmt.Errorf("a WAV file of format %d with %d bits; PCM of 8, 16, 24 and 32 bits, floating point of 32 and 64, A-law and µ-law are possible: convert it", tag, w.bits)
	case w.channels < 1 || w.rate < 1:
		return fmt.Errorf("a WAV file of %d channels at %d Hz", w.channels, w.rate)
	}
	return nil
}

// frames returns the number of samples per channel.
func (w *wav) frames() int { return len(w.data) / (w.bits / 8) / w.channels }

// read returns sample i of all channels: as an integer whose highest bit is that of 32, or as
// floating point.
func (w *wav) read(i int) (n int32, f float64) {
	size := w.bits / 8
	b := w.data[i*size:][:size]
	switch {
	case w.law == 'a':
		return int32(aLaw(b[0])) << 16, 0
	case w.law == 'u':
		return int32(muLaw(b[0])) << 16, 0
	case w.float && size == 4:
		return 0, float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case w.float:
		return 0, math.Float64frombits(binary.LittleEndian.Uint64(b))
	case size == 1:
		return (int32(b[0]) - 128) << 24, 0
	}
	var u uint32
	for j, x := range b {
		u |= uint32(x) << (8*j + 32 - 8*size)
	}
	return int32(u), 0
}

// aLaw and muLaw expand the bytes of ITU-T G.711.
func aLaw(b byte) int16 {
	b ^= 0x55
	x := int16(b&0x0f)<<4 + 8
	if e := b >> 4 & 7; e > 0 {
		x = (x + 0x100) << (e - 1)
	}
	if b&0x80 == 0 {
		x = -x
	}
	return x
}

func muLaw(b byte) int16 {
	b = ^b
	x := (int16(b&0x0f)<<3+0x84)<<(b>>4&7) - 0x84
	if b&0x80 != 0 {
		x = -x
	}
	return x
}
