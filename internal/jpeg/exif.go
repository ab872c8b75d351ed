package jpeg

import (
	"bytes"
	"encoding/binary"
)

// exifOrientation returns the orientation (1 to 8) of an APP1 payload, or 0 if it
// holds none. Exif 2.3 stores it as tag 0x0112 of the first directory of a TIFF
// file behind the six bytes "Exif\0\0".
func exifOrientation(p []byte) int {
	p, ok := bytes.CutPrefix(p, []byte("Exif\x00\x00"))
	if !ok || len(p) < 8 {
		return 0
	}
	var order binary.ByteOrder
	switch string(p[:4]) {
	case "II*\x00":
		order = binary.LittleEndian
	case "MM\x00*":
		order = binary.BigEndian
	default:
		return 0
	}
	dir := int64(order.Uint32(p[4:]))
	if dir+2 > int64(len(p)) {
		return 0
	}
	p = p[dir:]
	n := int(order.Uint16(p))
	for p = p[2:]; n > 0 && len(p) >= 12; n, p = n-1, p[12:] {
		const tagOrientation, typeShort = 0x0112, 3
		if order.Uint16(p) != tagOrientation {
			continue
		}
		v := int(order.Uint16(p[8:]))
		if order.Uint16(p[2:]) != typeShort || v < 1 || v > 8 {
			return 0
		}
		return v
	}
	return 0
}
