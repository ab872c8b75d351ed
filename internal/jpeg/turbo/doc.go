// Package turbo decodes JPEG with libjpeg-turbo through cgo, for the build tag
// turbojpeg alone: as a second engine to set beside package jpeg, and as the oracle
// that its tests compare with.
//
// It needs the header and library of libjpeg-turbo's libjpeg API, 2.1 or later
// (Debian: libjpeg62-turbo-dev). Memory for a picture comes from the C heap; nothing
// is allocated in Go.
package turbo
