package ops

import (
	"bytes"
	"fmt"
)

// foreign are files that people take for pictures which can be decoded, by what they
// begin with; a dot stands for any byte.
var foreign = []struct{ begin, name string }{
	{"GIF8", "a GIF"},
	{"RIFF....WEBP", "a WebP picture"},
	{"....ftypavif", "an AVIF picture"},
	{"....ftypheic", "a HEIC picture"},
	{"....ftypmif1", "a HEIF picture"},
	{"II*\x00", "a TIFF"},
	{"MM\x00*", "a TIFF"},
	{"BM", "a BMP"},
	{"\x00\x00\x00\x0cjP  ", "a JPEG 2000 picture"},
	{"\xff\x0a", "a JPEG XL picture"},
	{"\x00\x00\x00\x0cJXL ", "a JPEG XL picture"},
	{"8BPS", "a Photoshop file"},
	{"%PDF", "a PDF"},
	{"<svg", "an SVG"},
	{"<?xml", "XML, perhaps an SVG"},
	{"<!DOCTYPE", "a page of HTML, as servers send in the place of a picture"},
	{"<!doctype", "a page of HTML, as servers send in the place of a picture"},
	{"<html", "a page of HTML, as servers send in the place of a picture"},
	{"PK\x03\x04", "a ZIP archive"},
	{"\x1f\x8b", "compressed with gzip"},
}

// notAPicture says what a file is that is neither JPEG nor PNG, where that can be told.
func notAPicture(data []byte) error {
	begin := data[:min(8, len(data))]
	for _, f := range foreign {
		if beginsWith(data, f.begin) {
			return fmt.Errorf("neither JPEG nor PNG: it is %s (it begins with %q); convert it, or leave it out", f.name, begin)
		}
	}
	if len(bytes.Trim(data, "\x00")) == 0 {
		return fmt.Errorf("neither JPEG nor PNG: the file is nothing but zeros, as downloads that broke off are; fetch it again")
	}
	return fmt.Errorf("neither JPEG nor PNG: the file begins with %q", begin)
}

func beginsWith(data []byte, begin string) bool {
	if len(data) < len(begin) {
		return false
	}
	for i := range len(begin) {
		if begin[i] != '.' && begin[i] != data[i] {
			return false
		}
	}
	return true
}
