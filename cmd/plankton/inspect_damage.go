package main

import (
	"image"
	"os"

	"github.com/planktonml/plankton/internal/jpeg"
)

// decodable reports whether a file that pipelines refuse is a JPEG of which a picture can
// be had all the same: its coded data are damaged, and libjpeg, on which other libraries
// rest, decodes it with a warning.
func decodable(path string) bool {
	data, err := os.ReadFile(path)
	if err != nil || len(data) < 2 || string(data[:2]) != "\xff\xd8" {
		return false
	}
	d := jpeg.Decoder{Tolerant: true}
	h, err := d.Header(data)
	if err != nil {
		return false
	}
	var planes jpeg.Planes
	err = d.Planes(&planes, data, image.Rect(0, 0, h.Width, h.Height), 8)
	return err == nil && d.Damage() != nil
}
