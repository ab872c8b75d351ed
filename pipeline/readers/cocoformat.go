package readers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// The parts of a file of annotations that are read.
type (
	cocoImage struct {
		ID   int64  `json:"id"`
		File string `json:"file_name"`
	}
	cocoCategory struct {
		ID   int64  `json:"id"`
		Name string `json:"name"`
	}
	cocoAnnotation struct {
		ID       int64     `json:"id"`
		Image    int64     `json:"image_id"`
		Category int64     `json:"category_id"`
		Box      []float64 `json:"bbox"`
		IsCrowd  int       `json:"iscrowd"`
	}
	cocoRaw struct {
		images      []cocoImage
		categories  []cocoCategory
		annotations []cocoKept
	}
	// cocoKept is an annotation without what is on the heap.
	cocoKept struct {
		ID, Image, Category int64
		Crowd               bool
		box                 [4]float32
	}
)

// readCOCO reads a file element by element: those of large data sets have half a gigabyte
// of outlines, which are passed over.
func readCOCO(r io.Reader, o *COCOOptions) (*cocoFile, error) {
	d := json.NewDecoder(r)
	var raw cocoRaw
	err := eachKey(d, func(key string) error {
		switch key {
		case "images":
			return eachElement(d, func(v cocoImage) error {
				if v.File == "" {
					return fmt.Errorf("image %d has no file_name", v.ID)
				}
				raw.images = append(raw.images, v)
				return nil
			})
		case "categories":
			return eachElement(d, func(v cocoCategory) error {
				raw.categories = append(raw.categories, v)
				return nil
			})
		case "annotations":
			return eachElement(d, raw.annotate)
		}
		var other json.RawMessage
		return d.Decode(&other)
	})
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("the file ends too early: it was cut off; copy it again")
	case err != nil:
		return nil, err
	case len(raw.images) == 0:
		return nil, errors.New("the file names no images; give one with \"images\", \"annotations\" and \"categories\"")
	case raw.annotations == nil:
		return nil, errors.New("the file has no annotations; give one of objects, such as \"instances_val2017.json\"")
	}
	a := &cocoFile{}
	return a, a.resolve(&raw, o)
}

// annotate adds an annotation.
func (raw *cocoRaw) annotate(v cocoAnnotation) error {
	k := cocoKept{ID: v.ID, Image: v.Image, Category: v.Category, Crowd: v.IsCrowd != 0}
	if len(v.Box) != len(k.box) {
		return fmt.Errorf("annotation %d has a bbox of %d numbers; want x, y, width and height", v.ID, len(v.Box))
	}
	for i, x := range v.Box {
		k.box[i] = float32(x)
		if math.IsInf(float64(k.box[i]), 0) || i > 1 && x < 0 {
			return fmt.Errorf("annotation %d has the bbox %v; want x, y, width and height", v.ID, v.Box)
		}
	}
	raw.annotations = append(raw.annotations, k)
	return nil
}

// eachKey calls read for every key of an object; read takes the value.
func eachKey(d *json.Decoder, read func(key string) error) error {
	if err := delimiter(d, '{'); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		if err := read(key.(string)); err != nil {
			return err
		}
	}
	return delimiter(d, '}')
}

// eachElement calls take for every element of an array.
func eachElement[T any](d *json.Decoder, take func(T) error) error {
	if err := delimiter(d, '['); err != nil {
		return err
	}
	for d.More() {
		var v T
		if err := d.Decode(&v); err != nil {
			return err
		}
		if err := take(v); err != nil {
			return err
		}
	}
	return delimiter(d, ']')
}

func delimiter(d *json.Decoder, want json.Delim) error {
	got, err := d.Token()
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("byte %d: %v, where %v is expected", d.InputOffset(), got, want)
	}
	return nil
}
