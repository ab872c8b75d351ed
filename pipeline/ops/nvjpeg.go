package ops

import (
	"fmt"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/internal/accel"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/pipeline/datum"
)

// JPEGDecoder is a decoder that works on the device, such as *nvjpeg.Decoder of
// package streams/cuda/nvjpeg.
type JPEGDecoder = accel.JPEGDecoder

// DeviceDecodeOptions configures DeviceDecodeImage.
type DeviceDecodeOptions struct {
	// Type is RGB, BGR or Gray. Damaged counts for the files that the host decodes, of
	// which those that the device's decoder has refused are in no statistics.
	DecodeOptions

	// Height and Width are the size of every picture, upright.
	Height, Width int

	// Decoder decodes on pipeline.Options.Device. Without one, or on a device
	// that has no memory of its own, workers decode on the host. The pipeline does
	// not close it.
	Decoder JPEGDecoder
}

// DeviceDecodeImage is DecodeImage and ToDevice for pictures of one size: JPEG
// files cross the bus, and a decoder on the device makes pictures of them, uint8
// H×W×C. Its pixels may differ from the host's by what docs/operators.md says.
//
// Workers read the headers, so what is seen without decoding is an error of its
// sample: that a file is no picture, one of another size (*datum.ShapeError), or
// cut short. They decode as DecodeImage does what the decoder is not asked to: PNG,
// Exif orientations other than upright, colours other than grey and YCbCr, and files
// with more bytes than the picture. Files that the decoder then refuses are decoded on
// the host, and the stream waits for them. What the host cannot decode either is a
// *DeviceDecodeError, which ends the epoch whatever pipeline.Options.OnError says:
// which rows are valid is settled by then.
func DeviceDecodeImage(g *pipeline.Graph, encoded pipeline.Value, o DeviceDecodeOptions) pipeline.Value {
	const name = deviceDecodeImage
	o.check(g, name, encoded)
	k := deviceDecode{decoder: o.Decoder, h: o.Height, w: o.Width, c: 3, files: decode{o: o.DecodeOptions, exact: g.Options().ExactRGB}}
	var ok bool
	if k.format, ok = jpegOutput[o.Type]; !ok {
		g.Fail(name, fmt.Errorf("Type is %d; RGB, BGR and Gray are possible", o.Type))
	}
	if o.Type == Gray {
		k.c = 1
	}
	if o.Height < 1 || o.Width < 1 || int64(o.Height)*int64(o.Width) > maxPixels {
		g.Fail(name, fmt.Errorf("the size is %d×%d; it must be positive and of at most %d pixels", o.Height, o.Width, maxPixels))
	}
	_, memory := g.Options().Device.(accel.Memory)
	if g.Err() != nil {
		return pipeline.Value{}
	}
	spec := pictureSpec(datum.Uint8, k.h, k.w, k.c)
	if o.Decoder == nil || !memory {
		return ToDevice(g, one(g, pipeline.Op{
			Name: name, Inputs: []pipeline.Value{encoded}, Outputs: []datum.Spec{spec},
			New:       func() (datum.Kernel, error) { d := k.files; return &d, nil },
			Expensive: true,
			Config:    k.files.config(),
		}))
	}
	if g.Options().ExactRGB {
		g.Fail(name, fmt.Errorf("Options.ExactRGB wants the pixels of libjpeg-turbo, which %s does not have: leave Decoder out", o.Decoder.Name()))
		return pipeline.Value{}
	}
	files := one(g, pipeline.Op{
		Name: name + "/files", Inputs: []pipeline.Value{encoded},
		Outputs:   []datum.Spec{{DType: datum.Uint8, Shape: []int{fileHeader + k.bytes()}}},
		New:       func() (datum.Kernel, error) { return &pack{decode: k.files, h: k.h, w: k.w, c: k.c}, nil },
		Expensive: true,
		Config:    k.files.config(),
	})
	return g.AddBatch(pipeline.BatchOp{
		Name: name, Inputs: []pipeline.Value{files}, Outputs: []datum.Spec{spec},
		Backend: executor.Mixed, Command: commandDecode,
		Config: fmt.Sprintf("%s %s", k.files.config(), o.Decoder.Name()),
		New:    func() (batchop.Kernel, error) { k := k; return &k, nil },
	})[0]
}

const deviceDecodeImage = "device_decode_image"

// DeviceDecodeError is a file in a batch that neither the device nor the host can
// decode. It is not a pipeline.SampleError: no error policy applies to it.
type DeviceDecodeError struct {
	Op     string // the operator's name
	Index  int64  // of the sample in the first reader's source
	Row    int    // of the batch
	Device error  // of the decoder on the device
	Host   error  // of the host's
}

func (e *DeviceDecodeError) Error() string {
	return fmt.Sprintf("%s: sample %d, row %d of its batch: %v; on the host: %v: leave the file out, or decode by DecodeImage under an error policy", e.Op, e.Index, e.Row, e.Device, e.Host)
}

// Unwrap returns both errors.
func (e *DeviceDecodeError) Unwrap() []error { return []error{e.Device, e.Host} }
