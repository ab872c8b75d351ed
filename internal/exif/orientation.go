// Package exif reads the one thing of Exif that decoders need: how a picture is to
// be turned.
package exif

import "encoding/binary"

const tagOrientation = 0x0112

// Orientation returns the orientation, 1 to 8, that the TIFF file of an Exif block
// says, or 0 if it says none. Exif 2.3 stores it in the first directory as SHORT; some
// writers store LONG or BYTE, which are read alike. In a JPEG file the TIFF file
// stands behind the six bytes "Exif\0\0" of an APP1 segment, in a PNG file it is the
// chunk eXIf.
func Orientation(tiff []byte) int {
	if len(tiff) < 8 {
		return 0
	}
	var order binary.ByteOrder
	switch string(tiff[:4]) {
	case "II*\x00":
		order = binary.LittleEndian
	case "MM\x00*":
		order = binary.BigEndian
	default:
		return 0
	}
	at := int64(order.Uint32(tiff[4:]))
	if at+2 > int64(len(tiff)) {
		return 0
	}
	p := tiff[at:]
	n := int(order.Uint16(p))
	for p = p[2:]; n > 0 && len(p) >= 12; n, p = n-1, p[12:] {
		if order.Uint16(p) == tagOrientation {
			return valid(number(order, order.Uint16(p[2:]), p[8:12]))
		}
	}
	return 0
}

// number returns the value of a directory entry of a type of whole numbers, else 0.
// Values of fewer than four bytes stand at the start of the field.
func number(order binary.ByteOrder, kind uint16, field []byte) uint32 {
	const (
		typeByte  = 1
		typeShort = 3
		typeLong  = 4
	)
	switch kind {
	case typeByte:
		return uint32(field[0])
	case typeShort:
		return uint32(order.Uint16(field))
	case typeLong:
		return order.Uint32(field)
	}
	return 0
}

func valid(orientation uint32) int {
	if orientation > 8 {
		return 0
	}
	return int(orientation)
}
