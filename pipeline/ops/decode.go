package ops

import (
	"fmt"
	"image"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// ColorType is what a decoder makes of a picture.
type ColorType uint8

const (
	RGB   ColorType = iota // three channels; a grey picture fills them alike
	Gray                   // one channel, luma
	BGR                    // RGB with the channels the other way round
	YCbCr                  // ITU-R BT.601 at studio range: luma 16 … 235, chroma 16 … 240
	Any                    // as the file has it: one channel or RGB

	// Indexed is one channel, the numbers that a PNG file stores: the indices of one
	// with a palette, as segmentation masks are kept (of VOC, for example), and the
	// values of a grey one of at most 8 bits (Cityscapes, ADE20K), which are not
	// spread to 0 … 255 where they have fewer bits. A file of another kind is its
	// sample's error. Numbers of classes have no means: resize them with Nearest.
	Indexed
)

// DecodeOptions configures DecodeImage.
type DecodeOptions struct {
	Type ColorType // default RGB

	// IgnoreOrientation leaves a picture as it is stored. By default it is
	// turned upright as its Exif orientation says.
	IgnoreOrientation bool

	// MaxPixels refuses larger pictures before anything is allocated for them;
	// default 1<<28 (268 megapixels).
	MaxPixels int64

	// Damaged says what becomes of JPEG files that are damaged but can be decoded;
	// default Refuse.
	Damaged DamagedPolicy

	// Formats are decoders of the program's own, for files that are neither JPEG nor PNG.
	// They are asked before the decoders of BMP, GIF, TIFF and WebP that are there.
	Formats []Format
}

// DecodeImage decodes pictures: JPEG, PNG, BMP, GIF (the first frame), TIFF and WebP, from
// a sample that holds the file's bytes; what the bytes are decides, not the file's name.
// The output is uint8 H×W×C.
func DecodeImage(g *pipeline.Graph, encoded pipeline.Value, o DecodeOptions) pipeline.Value {
	return addDecode(g, "decoders.image", encoded, o, nil, nil)
}

// check fills in the defaults.
func (o *DecodeOptions) check(g *pipeline.Graph, name string, encoded pipeline.Value) {
	in := encoded.Spec()
	if o.MaxPixels == 0 {
		o.MaxPixels = 1 << 28
	}
	given(g, name, encoded)
	switch {
	case in.DType != datum.Uint8 || len(in.Shape) != 1:
		g.Fail(name, fmt.Errorf("the input is %s; the bytes of a picture file are wanted, uint8 of one dimension", in))
	case o.Type > Indexed:
		g.Fail(name, fmt.Errorf("Type is %d; it must be RGB, Gray, BGR, YCbCr, Any or Indexed", o.Type))
	case o.Damaged > Keep:
		g.Fail(name, fmt.Errorf("Damaged is %v; it must be Refuse or Keep", o.Damaged))
	case o.MaxPixels < 0:
		g.Fail(name, fmt.Errorf("MaxPixels is %d; it must be positive", o.MaxPixels))
	}
	for _, f := range o.Formats {
		if f.Name == "" || f.Magic == "" || f.Decode == nil || f.DecodeConfig == nil {
			g.Fail(name, fmt.Errorf("the format %q lacks a name, the magic that its files begin with, or a function", f.Name))
		}
	}
}

// A cut says which region of a picture is wanted.
type cut interface {
	// region returns it for a picture of h×w pixels and the sample whose inputs are in.
	region(s *datum.Sample, in []*datum.Tensor, h, w int) (image.Rectangle, error)
	config() string
	known() (h, w int) // extents, -1 where they are not known
	own() cut          // for one worker
}

// addDecode adds a decoder of regions, or of pictures where c is nil. The region's
// arguments are those of a, nil where it has none.
func addDecode(g *pipeline.Graph, name string, encoded pipeline.Value, o DecodeOptions, c cut, a *args) pipeline.Value {
	o.check(g, name, encoded)
	channels := 3
	switch o.Type {
	case Gray, Indexed:
		channels = 1
	case Any:
		channels = -1
	}
	d := decode{o: o, cut: c, exact: g.Options().ExactRGB, file: picturefile{ample: g.Options().MemoryBudget == 0, index: g.EntropyIndex(encoded)}}
	h, w := -1, -1
	if c != nil {
		h, w = c.known()
	}
	op := pipeline.Op{
		Name: name, Inputs: []pipeline.Value{encoded}, Outputs: []datum.Spec{pictureSpec(datum.Uint8, h, w, channels)},
		New:       func() (datum.Kernel, error) { return d.own(), nil },
		Expensive: true,
		Config:    d.config(),
	}
	if a == nil {
		op.Detail = d // a resize may take over what has no inputs of its own
	} else {
		op.Inputs = a.inputs
	}
	return one(g, op)
}

// decode is the kernel of the decoders. Between open and the next open it
// stands for one picture.
type decode struct {
	o     DecodeOptions
	cut   cut // nil for all of the picture
	exact bool
	file  picturefile
}

// config describes the decoder for the pipeline's fingerprint, of which policies on
// errors are no part.
func (d *decode) config() string {
	o := fmt.Sprintf("{Type:%d IgnoreOrientation:%t MaxPixels:%d}", d.o.Type, d.o.IgnoreOrientation, d.o.MaxPixels)
	for _, f := range d.o.Formats {
		o += fmt.Sprintf(" %q", f.Name+" "+f.Magic)
	}
	if d.cut != nil {
		o += " " + d.cut.config()
	}
	return o + engineName
}

// own returns a decoder for one worker.
func (d decode) own() *decode {
	if d.cut != nil {
		d.cut = d.cut.own()
	}
	return &d
}

func (d *decode) open(s *datum.Sample, data []byte) error { return d.file.open(s, data, &d.o) }

// Release gives up what the decoder keeps from sample to sample.
func (d *decode) Release() { d.file.release() }

// region returns the part of the picture that is wanted for a sample.
func (d *decode) region(s *datum.Sample, in []*datum.Tensor) (image.Rectangle, error) {
	if d.cut == nil {
		return image.Rect(0, 0, d.file.w, d.file.h), nil
	}
	return d.cut.region(s, in, d.file.h, d.file.w)
}

// planar reports whether the open picture may be resized before its colours are
// converted.
func (d *decode) planar() bool {
	return !d.exact && d.file.planar() && (d.o.Type == RGB || d.o.Type == Gray)
}

// pixels decodes a region into memory of its own.
func (d *decode) pixels(s *datum.Sample, r image.Rectangle) (imaging.Image, error) {
	m := imaging.Image{Type: datum.Uint8, H: r.Dy(), W: r.Dx(), C: d.file.channels(d.o.Type)}
	err := d.file.admit(r)
	if err != nil {
		return m, err
	}
	if m.Pix, err = d.file.room(s, &d.file.region, m.H*m.W*m.C, m.C); err != nil {
		return m, err
	}
	return m, d.file.pixels(s, m.Pix, r, d.o.Type)
}

// Run decodes a sample.
func (d *decode) Run(s *datum.Sample, in, out []*datum.Tensor) error {
	if err := d.open(s, in[0].Bytes()); err != nil {
		return err
	}
	r, err := d.region(s, in)
	if err != nil {
		return err
	}
	if err := d.file.admit(r); err != nil {
		return err
	}
	dst, err := out[0].Resize(r.Dy(), r.Dx(), d.file.channels(d.o.Type))
	if err != nil {
		return err
	}
	out[0].SetLayout(datum.HWC)
	return d.file.pixels(s, dst, r, d.o.Type)
}
