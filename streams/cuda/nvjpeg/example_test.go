package nvjpeg_test

import (
	"errors"
	"fmt"

	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/nvjpeg"
)

// The same pipeline decodes on the host where there is no GPU or no library.
func Example() {
	o := ops.DeviceDecodeOptions{Height: 224, Width: 224}
	device, err := cuda.OpenWith(0, cuda.Options{Library: "libcuda-is-not-here.so.1"})
	if err == nil {
		defer device.Close()
		decoder, err := nvjpeg.Open(device, nvjpeg.Options{})
		switch {
		case err == nil:
			defer decoder.Close()
			o.Decoder = decoder
		case !errors.Is(err, nvjpeg.ErrNoNVJPEG):
			fmt.Println(err)
			return
		}
	}
	fmt.Println("decodes on the GPU:", o.Decoder != nil)
	// Output: decodes on the GPU: false
}
