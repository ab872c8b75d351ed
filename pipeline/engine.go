//go:build !turbojpeg

package pipeline

// engine is what a fingerprint says of the JPEG engine.
const engine = ""
