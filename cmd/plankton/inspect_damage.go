package main

import (
	"os"

	"github.com/planktonml/plankton/internal/jpeg"
)

// decodable reports whether a file that pipelines refuse is a JPEG of which a picture can
// be had all the same (--damaged keep).
func decodable(path string) bool {
	data, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	var d jpeg.Decoder
	damage, err := d.Examine(data)
	return err == nil && damage != nil
}
