//go:build !turbojpeg

package ops

import "github.com/planktonml/plankton/internal/jpeg"

// enginePlanes says that planes can be decoded region by region.
const enginePlanes = true

// jpegEngine decodes JPEG files.
type jpegEngine struct{ jpeg.Decoder }
