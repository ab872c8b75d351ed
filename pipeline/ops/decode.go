package ops

import (
	"fmt"
	"image"
	"math"

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
}

// RandomCropOptions configures DecodeRandomCrop.
type RandomCropOptions struct {
	DecodeOptions

	Area     [2]float64 // share of the picture's area, smallest and largest; default 0.08 … 1
	Aspect   [2]float64 // width / height, smallest and largest; default 3/4 … 4/3
	Attempts int        // draws before the largest fitting centre region is taken; default 10
}

// DecodeImage decodes pictures: JPEG and PNG, from a sample that holds the
// file's bytes. The output is uint8 H×W×C.
func DecodeImage(g *pipeline.Graph, encoded pipeline.Value, o DecodeOptions) pipeline.Value {
	return addDecode(g, "decoders.image", encoded, o, nil)
}

// DecodeRandomCrop decodes a random region of a picture: with a resize behind
// it, the crop that classifiers are trained on (Szegedy et al., "Going deeper
// with convolutions", 2015). Area and aspect ratio are drawn uniformly, the
// latter on a logarithmic scale, then the place. What lies outside the region
// is not decoded where the format allows.
func DecodeRandomCrop(g *pipeline.Graph, encoded pipeline.Value, o RandomCropOptions) pipeline.Value {
	const name = "decoders.image_random_crop"
	if o.Area == [2]float64{} {
		o.Area = [2]float64{0.08, 1}
	}
	if o.Aspect == [2]float64{} {
		o.Aspect = [2]float64{3. / 4, 4. / 3}
	}
	if o.Attempts == 0 {
		o.Attempts = 10
	}
	switch {
	case !(0 < o.Area[0] && o.Area[0] <= o.Area[1] && o.Area[1] <= 1):
		g.Fail(name, fmt.Errorf("Area is %g … %g; it must lie in (0, 1]", o.Area[0], o.Area[1]))
	case !(0 < o.Aspect[0] && o.Aspect[0] <= o.Aspect[1]):
		g.Fail(name, fmt.Errorf("Aspect is %g … %g; it must be positive and ascending", o.Aspect[0], o.Aspect[1]))
	case o.Attempts < 0:
		g.Fail(name, fmt.Errorf("Attempts is %d; it must not be negative", o.Attempts))
	}
	return addDecode(g, name, encoded, o.DecodeOptions, &randomCrop{o.Area, o.Aspect, o.Attempts, g.NewRandom()})
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
}

func addDecode(g *pipeline.Graph, name string, encoded pipeline.Value, o DecodeOptions, crop *randomCrop) pipeline.Value {
	o.check(g, name, encoded)
	channels := 3
	switch o.Type {
	case Gray, Indexed:
		channels = 1
	case Any:
		channels = -1
	}
	d := decode{o: o, crop: crop, exact: g.Options().ExactRGB, file: picturefile{ample: g.Options().MemoryBudget == 0}}
	return one(g, pipeline.Op{
		Name: name, Inputs: []pipeline.Value{encoded}, Outputs: []datum.Spec{pictureSpec(datum.Uint8, -1, -1, channels)},
		New:       func() (datum.Kernel, error) { d := d; return &d, nil },
		Expensive: true,
		Config:    d.config(),
		Detail:    d,
	})
}

// randomCrop draws regions.
type randomCrop struct {
	area, aspect [2]float64
	attempts     int
	random       datum.Random
}

// draw returns a region of a picture of h×w pixels.
func (r *randomCrop) draw(s *datum.Sample, h, w int) image.Rectangle {
	rnd := r.random.At(s)
	lo, hi := math.Log(r.aspect[0]), math.Log(r.aspect[1])
	for range r.attempts {
		area := rnd.Range(r.area[0], r.area[1]) * float64(h) * float64(w)
		ratio := math.Exp(rnd.Range(lo, hi))
		cw, ch := int(math.Round(math.Sqrt(area*ratio))), int(math.Round(math.Sqrt(area/ratio)))
		if cw >= 1 && ch >= 1 && cw <= w && ch <= h {
			x, y := rnd.IntN(w-cw+1), rnd.IntN(h-ch+1)
			return image.Rect(x, y, x+cw, y+ch)
		}
	}
	// The largest region in the middle whose aspect ratio is allowed.
	cw, ch := w, h
	if ratio := float64(w) / float64(h); ratio < r.aspect[0] {
		ch = max(1, min(h, int(math.Round(float64(w)/r.aspect[0]))))
	} else if ratio > r.aspect[1] {
		cw = max(1, min(w, int(math.Round(float64(h)*r.aspect[1]))))
	}
	x, y := (w-cw)/2, (h-ch)/2
	return image.Rect(x, y, x+cw, y+ch)
}

// decode is the kernel of the decoders. Between open and the next open it
// stands for one picture.
type decode struct {
	o     DecodeOptions
	crop  *randomCrop
	exact bool
	file  picturefile
}

// config describes the decoder for the pipeline's fingerprint, of which policies on
// errors are no part.
func (d *decode) config() string {
	o := fmt.Sprintf("{Type:%d IgnoreOrientation:%t MaxPixels:%d}", d.o.Type, d.o.IgnoreOrientation, d.o.MaxPixels)
	if d.crop == nil {
		return o
	}
	return fmt.Sprintf("%s %+v", o, *d.crop)
}

func (d *decode) open(s *datum.Sample, data []byte) error { return d.file.open(s, data, &d.o) }

// Release gives up what the decoder keeps from sample to sample.
func (d *decode) Release() { d.file.release() }

// region returns the part of the picture that is wanted for a sample.
func (d *decode) region(s *datum.Sample) image.Rectangle {
	if d.crop == nil {
		return image.Rect(0, 0, d.file.w, d.file.h)
	}
	return d.crop.draw(s, d.file.h, d.file.w)
}

// planar reports whether the open picture may be resized before its colours are
// converted.
func (d *decode) planar() bool {
	return !d.exact && d.file.planar() && (d.o.Type == RGB || d.o.Type == Gray)
}

// pixels decodes a region into memory of its own.
func (d *decode) pixels(s *datum.Sample, r image.Rectangle) (imaging.Image, error) {
	m := imaging.Image{Type: imaging.Uint8, H: r.Dy(), W: r.Dx(), C: d.file.channels(d.o.Type)}
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
	r := d.region(s)
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
