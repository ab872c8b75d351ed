package ops

import (
	"fmt"

	"github.com/planktonml/plankton/executor"
	"github.com/planktonml/plankton/internal/accel"
	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/pipeline/datum"
)

// DeviceDecodeResizeOptions configures DeviceDecodeResize.
type DeviceDecodeResizeOptions struct {
	// Type is RGB, BGR or Gray. Damaged counts for the files that the host decodes.
	RandomCropOptions

	// Whole resizes all of each picture. By default a random region is drawn, as
	// DecodeRandomCrop draws it.
	Whole bool

	// Resize must give one size: Height and Width. DType is Uint8 (the default) or Float32.
	Resize ResizeOptions

	// FileBytes is the room for a file and its weights in a batch, for each row; default
	// 256 KiB. Larger files are decoded on the host.
	FileBytes int

	// Scratch is how many bytes the decoded pictures may take on the device at a time,
	// for each stream; default 256 MiB. A batch that has more is decoded in parts. A picture that
	// alone has more is decoded on the host.
	Scratch int

	// Check decodes on the host first what a file's damage would show in, about half of
	// the work of decoding it there. A damaged file is then an error of its sample, to which
	// pipeline.Options.OnError applies. Without it such a file is a *DeviceDecodeError.
	Check bool

	// Decoder decodes on pipeline.Options.Device. Without one, or on a device
	// that has no memory of its own, workers decode on the host. The pipeline does
	// not close it.
	Decoder JPEGDecoder
}

// DeviceDecodeResize decodes JPEG files of any size on the device and resizes each
// picture, or a random region of it, into its row of the batch: uint8 or float32 H×W×C, on the
// device. DeviceCropMirrorNormalize may follow it. It is what DecodeRandomCrop (or
// DecodeImage), Resize and ToDevice do one after the other, with the same random draws; pixels
// differ from theirs by what the decoder's do, and by nothing where the decoder's are the same.
//
// Workers read the headers, draw the regions and compute the weights of each resize. What is
// seen without decoding is an error of its sample. They decode and resize what the decoder
// is not asked to: other formats, Exif orientations other than upright, colours other than
// grey and YCbCr, files without an end, and what is beyond FileBytes or Scratch. Files that the
// decoder then refuses are decoded on the host, and the stream waits for them; what the host
// cannot decode either is a *DeviceDecodeError, unless Check found it before.
func DeviceDecodeResize(g *pipeline.Graph, encoded pipeline.Value, o DeviceDecodeResizeOptions) pipeline.Value {
	const name = deviceDecodeResize
	k := o.kernel(g, name, encoded)
	if g.Err() != nil {
		return pipeline.Value{}
	}
	spec := pictureSpec(k.to, k.h, k.w, k.c)
	config := fmt.Sprintf("%s %+v", k.files.config(), k.resize)
	if _, memory := g.Options().Device.(accel.Memory); o.Decoder == nil || !memory {
		return ToDevice(g, one(g, pipeline.Op{
			Name: name, Inputs: []pipeline.Value{encoded}, Outputs: []datum.Spec{spec},
			New:       func() (datum.Kernel, error) { return &resizeOnHost{cropper: k.own()}, nil },
			Expensive: true,
			Config:    config,
		}))
	}
	if g.Options().ExactRGB {
		g.Fail(name, fmt.Errorf("Options.ExactRGB wants the pixels of libjpeg-turbo, which %s does not have: leave Decoder out", o.Decoder.Name()))
		return pipeline.Value{}
	}
	rows := one(g, pipeline.Op{
		Name: name + "/files", Inputs: []pipeline.Value{encoded},
		Outputs: []datum.Spec{{DType: datum.Uint8, Shape: []int{k.row()}}},
		New: func() (datum.Kernel, error) {
			return &packRegion{cropper: k.own(), scratch: o.Scratch, check: o.Check}, nil
		},
		Expensive: true,
		Config:    config,
	})
	return g.AddBatch(pipeline.BatchOp{
		Name: name, Inputs: []pipeline.Value{rows}, Outputs: []datum.Spec{spec},
		Backend: executor.Mixed, Command: commandDecode,
		Config: fmt.Sprintf("%s %s %d %d", config, o.Decoder.Name(), k.body, o.Scratch),
		New: func() (batchop.Kernel, error) {
			return &resizeEach{cropper: k.own(), decoder: o.Decoder, format: jpegOutput[o.Type], scratch: o.Scratch}, nil
		},
	})[0]
}

const deviceDecodeResize = "device_decode_resize"

// jpegOutput are the formats in which a decoder writes colours.
var jpegOutput = map[ColorType]accel.JPEGFormat{RGB: accel.JPEGRGB, BGR: accel.JPEGBGR, Gray: accel.JPEGGray}

// kernel fills in the defaults, checks the options and returns what both parts work with.
func (o *DeviceDecodeResizeOptions) kernel(g *pipeline.Graph, name string, encoded pipeline.Value) *cropper {
	if o.FileBytes == 0 {
		o.FileBytes = 256 << 10
	}
	if o.Scratch == 0 {
		o.Scratch = 256 << 20
	}
	o.check(g, name, encoded)
	crop := newRandomCrop(g, name, o.Area, o.Aspect, o.Attempts)
	spec, err := o.Resize.spec()
	g.Fail(name, err)
	if _, ok := jpegOutput[o.Type]; !ok {
		g.Fail(name, fmt.Errorf("Type is %d; RGB, BGR and Gray are possible", o.Type))
	}
	switch {
	case !o.Resize.fixed():
		g.Fail(name, fmt.Errorf("Resize gives no one size: set its Height and Width, without a Mode that keeps aspect ratios"))
	case spec.ROI:
		g.Fail(name, fmt.Errorf("Resize has a region of its own; the region is drawn here"))
	case o.FileBytes < 1<<10 || o.Scratch < 1<<20:
		g.Fail(name, fmt.Errorf("FileBytes is %d and Scratch %d; at least 1 KiB and 1 MiB are wanted", o.FileBytes, o.Scratch))
	}
	if g.Err() != nil {
		return nil
	}
	plan, err := spec.Resolve(1, 1)
	g.Fail(name, plain(err))
	k := &cropper{resize: spec, to: o.Resize.DType, h: plan.Y.Out, w: plan.X.Out, c: 3, files: decode{o: o.DecodeOptions, exact: g.Options().ExactRGB}}
	if k.to == 0 {
		k.to = datum.Uint8
	}
	if o.Type == Gray {
		k.c = 1
	}
	if !o.Whole {
		k.files.cut = crop
	}
	k.files.file.ample = g.Options().MemoryBudget == 0
	k.body = (max(o.FileBytes, k.size()) + 63) &^ 63
	return k
}

// cropper is what all parts of DeviceDecodeResize share: which region of a picture
// becomes what.
type cropper struct {
	files   decode // the host's decoder
	resize  imaging.ResizeSpec
	to      datum.DType
	h, w, c int // of the result
	body    int // bytes of a row behind its head
	work    imaging.Resampler
}

// own returns a cropper for one worker or stream.
func (k *cropper) own() cropper {
	c := *k
	c.files = *k.files.own()
	return c
}

// size returns the bytes of a result.
func (k *cropper) size() int { return k.h * k.w * k.c * k.to.Size() }

// Release gives up what the decoder keeps from sample to sample.
func (k *cropper) Release() { k.files.Release() }

// resizeOnHost is DeviceDecodeResize where the host decodes.
type resizeOnHost struct{ cropper }

func (k *resizeOnHost) Run(s *datum.Sample, in, out []*datum.Tensor) error {
	region, plan, err := k.open(s, in)
	if err != nil {
		return err
	}
	dst, err := out[0].ResizeAs(k.to, k.h, k.w, k.c)
	if err != nil {
		return err
	}
	out[0].SetLayout(datum.HWC)
	return k.onHost(s, dst, region, plan)
}
