package readers

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// COCOOptions configures [COCO]. Pictures and Annotations must be given.
type COCOOptions struct {
	// Pictures is the reader of the pictures, which drives: its folder, place, order and
	// name, which must be given. The pictures are those of the annotations, so that there
	// is no List, and no Files.
	Pictures FileOptions

	// Annotations is a file of annotations of objects in the form of the COCO data sets
	// (cocodataset.org, "Data format"), in the FS of the pictures where there is one.
	Annotations string

	// Crowds keeps objects that are marked as crowds (iscrowd). Without it they are left
	// out.
	Crowds bool
	// NoEmpty leaves out pictures without objects.
	NoEmpty bool
}

// COCO reads pictures and the objects in them, as two readers of which that of the
// objects follows the other. The pictures are in the order of the file.
//
// Encoded is the picture's file. Boxes has a row per object, float32 N×4: x and y of the
// upper left corner, width and height, in pixels, as the file has them. Labels is int32
// with N elements: the places of the objects' categories among the categories in the order
// of their ids, from 0 on, since ids have gaps. Their names are the classes of the reader
// "NAME objects", where NAME is that of the pictures. N is 0 for a picture without objects.
func COCO(g *pipeline.Graph, o COCOOptions) (encoded, boxes, labels pipeline.Value) {
	if g.Err() != nil {
		return
	}
	objects, err := o.open()
	if err != nil {
		fail(g, "readers.COCO", o.Pictures.Name, err)
		return
	}
	encoded, _ = File(g, o.Pictures)
	if g.Err() != nil {
		return
	}
	v := g.Read(pipeline.ReaderOptions{Name: o.Pictures.Name + " objects", Follow: o.Pictures.Name}, objects)
	return encoded, v[0], v[1]
}

// open reads the annotations and makes the pictures those of them.
func (o *COCOOptions) open() (*cocoSource, error) {
	switch {
	case o.Pictures.Name == "":
		return nil, errors.New("the reader of the pictures has no Name; give one, which the objects follow")
	case o.Annotations == "":
		return nil, errors.New("Annotations is not given; name the file, such as \"instances_val2017.json\"")
	case o.Pictures.List != "" || o.Pictures.Files != nil || o.Pictures.Extensions != nil:
		return nil, errors.New("Pictures has a List, Files or Extensions; the pictures are those of the Annotations")
	}
	f, err := openIn(o.Pictures.FS, o.Annotations)
	if err != nil {
		return nil, fmt.Errorf("Annotations: %w", err)
	}
	defer f.Close()
	a, err := readCOCO(f, o)
	if err != nil {
		return nil, fmt.Errorf("Annotations %s: %w", shown(o.Annotations), err)
	}
	o.Pictures.Files = a.files
	o.Pictures.Labels = make([]int, len(a.files))
	return newCOCOSource(a), nil
}

// cocoSource has the objects of every picture.
type cocoSource struct {
	files  []string
	first  []int // of each picture, its first object; one more at the end
	boxes  [][4]float32
	labels []int32
	meta   datum.Meta
}

var _ datum.Source = (*cocoSource)(nil)

func newCOCOSource(a *cocoFile) *cocoSource {
	s := &cocoSource{files: a.files, first: make([]int, 1, len(a.files)+1), meta: datum.Meta{Classes: a.classes}}
	h := sha256.New()
	for i := range a.files {
		for len(s.boxes) < len(a.objects) && a.objects[len(s.boxes)].picture == i {
			object := &a.objects[len(s.boxes)]
			s.boxes, s.labels = append(s.boxes, object.box), append(s.labels, object.class)
			_ = binary.Write(h, binary.LittleEndian, object.box)
			_ = binary.Write(h, binary.LittleEndian, [2]int32{int32(i), object.class})
		}
		s.first = append(s.first, len(s.boxes))
	}
	s.meta.Fingerprint = binary.LittleEndian.Uint64(h.Sum(nil))
	return s
}

func (s *cocoSource) Len() int64       { return int64(len(s.files)) }
func (s *cocoSource) Meta() datum.Meta { return s.meta }

func (s *cocoSource) Outputs() []datum.Spec {
	return []datum.Spec{
		{DType: datum.Float32, Shape: []int{-1, 4}},
		{DType: datum.Int32, Shape: []int{-1}, Classes: len(s.meta.Classes)},
	}
}

func (s *cocoSource) Read(_ context.Context, picture int64, out []*datum.Tensor) error {
	from, to := s.first[picture], s.first[picture+1]
	boxes, err := out[0].Resize(to-from, 4)
	if err != nil {
		return err
	}
	for i, box := range s.boxes[from:to] {
		copy(boxes[16*i:], datum.BytesOf(box[:]))
	}
	labels, err := out[1].Resize(to - from)
	if err != nil {
		return err
	}
	copy(labels, datum.BytesOf(s.labels[from:to]))
	return nil
}

// Describe returns the name of the picture.
func (s *cocoSource) Describe(picture int64) string { return s.files[picture] }

// cocoFile is what is read of a file of annotations.
type cocoFile struct {
	files   []string
	classes []string
	objects []cocoObject // by their pictures, in the order of the file
}

type cocoObject struct {
	picture int
	class   int32
	box     [4]float32
}

// resolve makes places of ids.
func (a *cocoFile) resolve(raw *cocoRaw, o *COCOOptions) error {
	slices.SortFunc(raw.categories, func(x, y cocoCategory) int { return cmp.Compare(x.ID, y.ID) })
	class := make(map[int64]int32, len(raw.categories))
	for i, c := range raw.categories {
		if _, twice := class[c.ID]; twice {
			return fmt.Errorf("two categories have the id %d", c.ID)
		}
		class[c.ID] = int32(i)
		a.classes = append(a.classes, c.Name)
	}
	picture := make(map[int64]int, len(raw.images))
	for i, image := range raw.images {
		if _, twice := picture[image.ID]; twice {
			return fmt.Errorf("two images have the id %d", image.ID)
		}
		picture[image.ID] = i
	}
	counts := make([]int, len(raw.images))
	for _, an := range raw.annotations {
		place, known := picture[an.Image]
		label, classed := class[an.Category]
		switch {
		case !known:
			return fmt.Errorf("annotation %d is of image %d, which is not among the images", an.ID, an.Image)
		case !classed:
			return fmt.Errorf("annotation %d has category %d, which is not among the categories", an.ID, an.Category)
		case an.Crowd && !o.Crowds:
			continue
		}
		counts[place]++
		a.objects = append(a.objects, cocoObject{place, label, an.box})
	}
	kept := make([]int, len(raw.images)) // the places of those that are kept
	for i, image := range raw.images {
		kept[i] = len(a.files)
		if !o.NoEmpty || counts[i] > 0 {
			a.files = append(a.files, image.File)
		}
	}
	for i := range a.objects {
		a.objects[i].picture = kept[a.objects[i].picture]
	}
	slices.SortStableFunc(a.objects, func(x, y cocoObject) int { return x.picture - y.picture })
	if len(a.files) == 0 {
		return errors.New("there are no images with objects; give another file, or leave NoEmpty out")
	}
	return nil
}
