package ops

import (
	"bytes"
	"fmt"

	"github.com/planktonml/plankton/internal/magic"
)

// foreignFormats are files that people take for pictures which can be decoded, by what they
// begin with; a question mark stands for any byte.
var foreignFormats = []struct{ begin, name string }{
	{"????ftypavif", "an AVIF picture"},
	{"????ftypheic", "a HEIC picture"},
	{"????ftypheix", "a HEIC picture"},
	{"????ftypmif1", "a HEIF picture"},
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

// notAPicture says what a file is that no decoder knows, where that can be told.
func notAPicture(data []byte) error {
	const none = "neither JPEG nor PNG, and no GIF, BMP, TIFF or WebP picture"
	begin := data[:min(8, len(data))]
	for _, f := range foreignFormats {
		if magic.Begins(data, f.begin) {
			return fmt.Errorf("%s: it is %s (it begins with %q); convert it, leave it out, or give a decoder with DecodeOptions.Formats", none, f.name, begin)
		}
	}
	if len(bytes.Trim(data, "\x00")) == 0 {
		return fmt.Errorf("%s: the file is nothing but zeros, as downloads that broke off are; fetch it again", none)
	}
	return fmt.Errorf("%s: the file begins with %q", none, begin)
}
