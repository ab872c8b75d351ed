//go:build !turbojpeg

package ops

import "github.com/planktonml/plankton/internal/jpeg"

// enginePlanes says that planes can be decoded region by region.
const enginePlanes = true

// engineName tells in a decoder's Op.Config that pixels are not those of package jpeg.
const engineName = ""

// jpegEngine decodes JPEG files.
type jpegEngine struct{ jpeg.Decoder }
