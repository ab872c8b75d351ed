package boxes

import (
	"errors"
	"fmt"
	"slices"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
)

// RandomCropOptions configures RandomCrop.
type RandomCropOptions struct {
	Layout Layout // of the boxes; default LTRB

	// Thresholds are least overlaps of boxes with the crop, one of which is drawn for each
	// crop; default 0. As one more of them counts no crop at all, unless AlwaysCrop is set.
	Thresholds []float64
	// Covered takes the part of a box's own area that is inside the crop for the overlap, as
	// DALI's threshold_type "overlap"; default the IoU of box and crop.
	Covered    bool
	AnyBox     bool // one box above the threshold suffices; default all boxes must be
	AlwaysCrop bool

	Scaling     [2]float64 // range of the crop's width and height, 0 … 1; default 1, 1
	AspectRatio [2]float64 // range of width by height; default 1, 1

	// InputShape is width and height of the picture, for AspectRatio and CropShape; two numbers
	// per sample. Without it aspect ratios are relative to the picture's.
	InputShape pipeline.Value
	// CropShape is width and height of the crop in pixels, in place of Scaling and AspectRatio.
	CropShape pipeline.Value
	// HeightFirst says that InputShape and CropShape, and the results, are height before width.
	HeightFirst bool

	// Prune keeps the boxes of which at least this part is in the crop; nil keeps those whose
	// center is.
	Prune *float64

	Attempts      int // crops drawn for one threshold before another one is drawn; default 1
	TotalAttempts int // in all, after which the best one so far is taken; default 1000
}

// Crop is what RandomCrop yields.
type Crop struct {
	Anchor, Shape pipeline.Value // float32, two numbers each: where the crop begins, and its extents; relative without CropShape, else in pixels
	Boxes         pipeline.Value // float32 M×4: the boxes that are left, relative to the crop
	Labels        pipeline.Value // their labels, of the type of the labels; not set without labels
	Indices       pipeline.Value // int32 M: their numbers among the boxes that were given
}

// RandomCrop draws a part of a picture that keeps its boxes in view, as SSD's training does
// (Liu et al., "SSD: Single Shot MultiBox Detector", 2016): DALI's random_bbox_crop. Crop the
// picture with ops.Slice, RelStart being Anchor and RelShape being Shape. Labels may be missing.
// A crop in which no box is left is not taken, unless there was none.
func RandomCrop(g *pipeline.Graph, boxes, labels pipeline.Value, o RandomCropOptions) (c Crop) {
	const name = "random_bbox_crop"
	boxSpec(g, name, boxes, o.Layout)
	o.defaults()
	g.Fail(name, o.check(labels))
	if g.Err() != nil {
		return Crop{}
	}
	data := []pipeline.Value{boxes}
	four := datum.Spec{DType: datum.Float32, Shape: []int{-1, 4}}
	two := datum.Spec{DType: datum.Float32, Shape: []int{2}}
	outputs := []datum.Spec{two, two, four, {DType: datum.Int32, Shape: []int{-1}}}
	if labels.Set() {
		data = append(data, labels)
		outputs = append(outputs, datum.Spec{DType: labels.Spec().DType, Shape: []int{-1}})
	}
	a := ops.NewArgs(g, name, data...)
	k := cropper{
		o: o, labels: labels.Set(), input: a.Numbers("InputShape", o.InputShape, 1, 1),
		crop: a.Numbers("CropShape", o.CropShape), fixed: o.CropShape.Set(), random: g.NewRandom(),
	}
	prune := "center"
	if o.Prune != nil {
		prune = fmt.Sprint(*o.Prune)
	}
	o.Prune, o.InputShape, o.CropShape = nil, pipeline.Value{}, pipeline.Value{}
	vs := g.Add(pipeline.Op{
		Name: name, Inputs: a.Inputs(), Outputs: outputs, Config: fmt.Sprintf("%+v %s %t %+v", o, prune, k.fixed, k.random),
		New: func() (datum.Kernel, error) { k := k; return &k, nil },
	})
	c = Crop{Anchor: vs[0], Shape: vs[1], Boxes: vs[2], Indices: vs[3]}
	if labels.Set() {
		c.Labels = vs[4]
	}
	return c
}

func (o *RandomCropOptions) defaults() {
	if o.Thresholds == nil {
		o.Thresholds = []float64{0}
	}
	if o.Scaling == [2]float64{} {
		o.Scaling = [2]float64{1, 1}
	}
	if o.AspectRatio == [2]float64{} {
		o.AspectRatio = [2]float64{1, 1}
	}
	if o.Attempts == 0 {
		o.Attempts = 1
	}
	if o.TotalAttempts == 0 {
		o.TotalAttempts = 1000
	}
}

func (o *RandomCropOptions) check(labels pipeline.Value) error {
	for _, t := range o.Thresholds {
		if !(t >= 0 && t <= 1) {
			return fmt.Errorf("a threshold is %g; 0 … 1 is wanted", t)
		}
	}
	s, a := o.Scaling, o.AspectRatio
	l := labels.Spec()
	switch {
	case !(s[0] > 0 && s[0] <= s[1] && s[1] <= 1):
		return fmt.Errorf("Scaling is %g … %g; a range within 0 … 1 is wanted", s[0], s[1])
	case !(a[0] > 0 && a[0] <= a[1]):
		return fmt.Errorf("AspectRatio is %g … %g; a range above 0 is wanted", a[0], a[1])
	case o.CropShape.Set() && !o.InputShape.Set():
		return errors.New("CropShape is given without InputShape; set both")
	case o.CropShape.Set() && (s != [2]float64{1, 1} || a != [2]float64{1, 1}):
		return errors.New("CropShape is given beside Scaling or AspectRatio; leave one of them out")
	case o.Prune != nil && !(*o.Prune >= 0 && *o.Prune <= 1):
		return fmt.Errorf("Prune is %g; 0 … 1 is wanted", *o.Prune)
	case o.Attempts < 0 || o.TotalAttempts < 0:
		return fmt.Errorf("Attempts is %d and TotalAttempts %d; they must be positive", o.Attempts, o.TotalAttempts)
	case labels.Set() && (l.DType == 0 || len(l.Shape) < 1):
		return fmt.Errorf("the labels are %s; one per box is wanted", l)
	}
	return nil
}

// cropper is the kernel. Crops are boxes relative to the picture.
type cropper struct {
	o           RandomCropOptions
	labels      bool
	input, crop ops.Numbers
	fixed       bool // crop is given
	random      datum.Random

	boxes []box
	kept  []int // the boxes that are left in the crop
	size  [2]float64
	shape [2]float64 // of a fixed crop, in pixels
}

func (k *cropper) Run(c *datum.Sample, in, out []*datum.Tensor) error {
	src, err := boxesOf(in[0], k.o.Layout)
	if err != nil {
		return err
	}
	k.boxes = k.boxes[:0]
	for i := 0; i < len(src); i += 4 {
		k.boxes = append(k.boxes, edges(src[i:i+4], k.o.Layout))
	}
	if k.labels && in[1].Len() != len(k.boxes) {
		return fmt.Errorf("%d labels for %d boxes; one for each is wanted", in[1].Len(), len(k.boxes))
	}
	if err := k.read(in); err != nil {
		return err
	}
	r := k.random.At(c)
	chosen := k.find(&r)
	k.keep(chosen)
	return k.write(chosen, in, out)
}

// read sets size and shape, width first.
func (k *cropper) read(in []*datum.Tensor) error {
	read := func(to *[2]float64, from *ops.Numbers, name string) error {
		xs, err := from.Of(in)
		if err != nil {
			return err
		}
		if len(xs) != 2 || !(xs[0] > 0 && xs[1] > 0) {
			return fmt.Errorf("%s is %v; two positive extents are wanted", name, slices.Clone(xs))
		}
		copy(to[:], xs)
		if k.o.HeightFirst {
			to[0], to[1] = to[1], to[0]
		}
		return nil
	}
	if err := read(&k.size, &k.input, "InputShape"); err != nil || !k.fixed {
		return err
	}
	if err := read(&k.shape, &k.crop, "CropShape"); err != nil {
		return err
	}
	if k.shape[0] > k.size[0] || k.shape[1] > k.size[1] {
		return fmt.Errorf("a crop of %g×%g does not fit into a picture of %g×%g (width × height); make it smaller, or resize first", k.shape[0], k.shape[1], k.size[0], k.size[1])
	}
	return nil
}

// find draws crops until one fits.
func (k *cropper) find(r *datum.Rand) box {
	whole := box{0, 0, 1, 1}
	best, most := whole, -1.0
	options := len(k.o.Thresholds)
	if !k.o.AlwaysCrop && !k.fixed {
		options++
	}
	for total := 0; total < k.o.TotalAttempts; {
		option := r.IntN(options)
		if option == len(k.o.Thresholds) {
			return whole
		}
		for range k.o.Attempts {
			total++
			crop, ok := k.draw(r)
			if !ok {
				continue
			}
			if k.keep(crop); len(k.kept) == 0 && len(k.boxes) > 0 {
				continue
			}
			overlap := k.overlap(crop)
			if overlap >= k.o.Thresholds[option] {
				return crop
			}
			if overlap > most {
				best, most = crop, overlap
			}
		}
	}
	if most < 0 && k.fixed { // the extents are asked for: the middle
		best, _ = k.place(0.5, 0.5)
	}
	return best
}

// draw returns a crop, false if its aspect ratio is out of range.
func (k *cropper) draw(r *datum.Rand) (box, bool) {
	if k.fixed {
		return k.place(r.Float64(), r.Float64())
	}
	w, h := k.between(r), k.between(r)
	if a := w * k.size[0] / (h * k.size[1]); !(a >= k.o.AspectRatio[0] && a <= k.o.AspectRatio[1]) {
		return box{}, false
	}
	x, y := (1-w)*r.Float64(), (1-h)*r.Float64()
	return box{float32(x), float32(y), float32(x + w), float32(y + h)}, true
}

func (k *cropper) between(r *datum.Rand) float64 {
	if k.o.Scaling[0] == k.o.Scaling[1] {
		return k.o.Scaling[0]
	}
	return r.Range(k.o.Scaling[0], k.o.Scaling[1])
}

// place returns the fixed crop at a relative position, in whole pixels.
func (k *cropper) place(x, y float64) (box, bool) {
	left := float64(int(x*(k.size[0]-k.shape[0]) + 0.5))
	top := float64(int(y*(k.size[1]-k.shape[1]) + 0.5))
	return box{
		float32(left / k.size[0]), float32(top / k.size[1]),
		float32((left + k.shape[0]) / k.size[0]), float32((top + k.shape[1]) / k.size[1]),
	}, true
}

// overlap returns the overlap of a crop with the box for which it is least, or, for AnyBox,
// most; 1 without boxes.
func (k *cropper) overlap(crop box) float64 {
	result := 1.0
	for i, b := range k.boxes {
		o := float64(b.iou(crop))
		if k.o.Covered {
			o = float64(b.inside(crop))
		}
		if i == 0 || (o > result) == k.o.AnyBox {
			result = o
		}
	}
	return result
}

// inside returns the part of a box that is inside another one.
func (b box) inside(o box) float32 {
	if a := b.area(); a > 0 {
		return b.overlap(o) / a
	}
	return 0
}

// keep sets kept.
func (k *cropper) keep(crop box) {
	k.kept = k.kept[:0]
	for i, b := range k.boxes {
		x, y := (b.left+b.right)/2, (b.top+b.bottom)/2
		in := x >= crop.left && x <= crop.right && y >= crop.top && y <= crop.bottom
		if k.o.Prune != nil {
			in = float64(b.inside(crop)) >= *k.o.Prune
		}
		if in {
			k.kept = append(k.kept, i)
		}
	}
}

func (k *cropper) write(crop box, in, out []*datum.Tensor) error {
	w, h := crop.right-crop.left, crop.bottom-crop.top
	place := [2][2]float32{{crop.left, crop.top}, {w, h}}
	if k.fixed {
		place = [2][2]float32{
			{float32(float64(crop.left)*k.size[0] + 0.5), float32(float64(crop.top)*k.size[1] + 0.5)},
			{float32(k.shape[0]), float32(k.shape[1])},
		}
		place[0][0], place[0][1] = float32(int(place[0][0])), float32(int(place[0][1]))
	}
	for i, p := range place {
		if k.o.HeightFirst {
			p[0], p[1] = p[1], p[0]
		}
		if _, err := out[i].Resize(2); err != nil {
			return err
		}
		copy(out[i].Float32s(), p[:])
	}
	if _, err := out[2].Resize(len(k.kept), 4); err != nil {
		return err
	}
	if _, err := out[3].Resize(len(k.kept)); err != nil {
		return err
	}
	unit := func(x float32) float32 { return min(max(x, 0), 1) }
	for i, n := range k.kept {
		b, d := k.boxes[n], out[2].Float32s()[i*4:i*4+4]
		d[0], d[1] = unit((b.left-crop.left)/w), unit((b.top-crop.top)/h)
		d[2], d[3] = unit((b.right-crop.left)/w), unit((b.bottom-crop.top)/h)
		if k.o.Layout == XYWH {
			d[2], d[3] = d[2]-d[0], d[3]-d[1]
		}
		out[3].Int32s()[i] = int32(n)
	}
	if !k.labels {
		return nil
	}
	dst, err := out[4].ResizeAs(in[1].DType(), len(k.kept))
	if err != nil {
		return err
	}
	size := in[1].DType().Size()
	for i, n := range k.kept {
		copy(dst[i*size:(i+1)*size], in[1].Bytes()[n*size:])
	}
	return nil
}
