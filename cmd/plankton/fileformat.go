package main

import "bytes"

// format is a kind of picture file.
type format struct {
	name       string
	magic      string
	extensions []string
}

var formats = []format{
	{"jpeg", "\xff\xd8", []string{".jpg", ".jpeg"}},
	{"jpeg progressive", "", []string{".jpg", ".jpeg"}},
	{"png", "\x89PNG", []string{".png"}},
	{"gif", "GIF8", []string{".gif"}},
	{"bmp", "BM", []string{".bmp"}},
	{"tiff", "II*\x00", []string{".tif", ".tiff"}},
	{"tiff", "MM\x00*", []string{".tif", ".tiff"}},
	{"webp", "RIFF", []string{".webp"}},
	{"other", "", nil},
}

// formatOf returns the place of a file's format in formats.
func formatOf(data []byte) int64 {
	for i, f := range formats {
		if f.magic != "" && bytes.HasPrefix(data, []byte(f.magic)) {
			if f.name == "jpeg" && progressive(data) {
				i++
			}
			return int64(i)
		}
	}
	return int64(len(formats) - 1)
}

// progressive reports whether the frame of a JPEG file is progressive (ITU-T
// T.81, B.1.1.3).
func progressive(data []byte) bool {
	for i := 2; i+3 < len(data) && data[i] == 0xff; {
		switch marker := data[i+1]; {
		case marker == 0xff: // fill
			i++
		case marker == 0xc2 || marker == 0xc6:
			return true
		case marker == 0xc0 || marker == 0xc1 || marker == 0xda:
			return false
		default:
			i += 2 + int(data[i+2])<<8 + int(data[i+3])
		}
	}
	return false
}
