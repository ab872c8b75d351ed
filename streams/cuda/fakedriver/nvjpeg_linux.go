package fakedriver

import (
	"testing"
	"unsafe"
)

// The library stands in for nvJPEG, too: Driver.Library is both. It knows files that
// were declared, and calls all others damaged.

// JPEG is a file for the fake nvJPEG.
type JPEG struct {
	File        []byte
	H, W        int
	Components  int    // 1 or 3
	RGB         []byte // H×W×3; what is decoded as grey is the first channel
	Status      int    // what decoding the file returns, an nvjpegStatus_t
	BatchStatus int    // what decoding it in a batch returns, if Status is 0
}

// Declare tells the fake nvJPEG about a file, in place of what was declared of it
// before. Nothing may be decoding meanwhile.
func (d *Driver) Declare(t testing.TB, j JPEG) {
	t.Helper()
	if len(j.File) == 0 || len(j.RGB) == 0 || len(j.RGB) != j.H*j.W*3 {
		t.Fatalf("a file of %d bytes with %d bytes of pixels for %d×%d×3", len(j.File), len(j.RGB), j.H, j.W)
	}
	d.call("fakePicture", uintptr(unsafe.Pointer(&j.File[0])), uintptr(len(j.File)), uintptr(j.H), uintptr(j.W), uintptr(j.Components),
		uintptr(unsafe.Pointer(&j.RGB[0])), uintptr(j.Status), uintptr(j.BatchStatus))
}
