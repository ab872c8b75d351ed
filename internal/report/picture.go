package report

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
	"image"
	"image/color"
	"image/png"
	"math"
	"slices"

	"github.com/planktonml/plankton/pipeline/datum"
)

// Normalisation is what an output's pixels went through: (pixel - Mean) / Std,
// one value per channel or one for all. The zero value means that they are as
// they were.
type Normalisation struct {
	Mean, Std []float64
}

// Caption is what stands under a picture.
type Caption struct {
	Label string // the class; empty where there are none
	Name  string // of the file
}

// Picture is one sample of a batch.
type Picture struct {
	Source  template.URL // the picture as a data URI
	Caption Caption
	Width   int
	Height  int
}

// Sample is a copy of one sample of a batch, which outlives the batch.
type Sample struct {
	DType  datum.DType
	Layout datum.Layout
	Shape  []int
	Data   []byte
}

// Copy returns a copy of t.
func Copy(t *datum.Tensor) Sample {
	return Sample{t.DType(), t.Layout(), slices.Clone(t.Shape()), bytes.Clone(t.Bytes())}
}

// NewPicture draws a sample, of one or three channels in the layout HWC or CHW,
// as the network sees it: cropped, mirrored and scaled, with the normalisation
// undone.
func NewPicture(t Sample, undo Normalisation, caption Caption) (Picture, error) {
	shape := t.Shape
	if len(shape) == 2 {
		shape = []int{shape[0], shape[1], 1}
	}
	if len(shape) != 3 {
		return Picture{}, fmt.Errorf("a picture has three dimensions, this sample has shape %v", t.Shape)
	}
	h, w, c := shape[0], shape[1], shape[2]
	pixel := func(y, x, k int) int { return (y*w+x)*c + k }
	if t.Layout == datum.CHW {
		c, h, w = shape[0], shape[1], shape[2]
		pixel = func(y, x, k int) int { return (k*h+y)*w + x }
	}
	if c != 1 && c != 3 {
		return Picture{}, fmt.Errorf("a picture has one channel or three, this one has %d", c)
	}
	at, err := values(t)
	if err != nil {
		return Picture{}, err
	}
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			var p [3]uint8
			for k := range p {
				from := min(k, c-1)
				v := at(pixel(y, x, from))*channel(undo.Std, from, 1) + channel(undo.Mean, from, 0)
				p[k] = uint8(math.Round(min(255, max(0, v))))
			}
			img.SetNRGBA(x, y, color.NRGBA{p[0], p[1], p[2], 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return Picture{}, err
	}
	source := "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
	return Picture{Source: template.URL(source), Caption: caption, Width: w, Height: h}, nil
}

// values returns a function for a sample's elements.
func values(t Sample) (func(i int) float64, error) {
	switch t.DType {
	case datum.Uint8:
		return func(i int) float64 { return float64(t.Data[i]) }, nil
	case datum.Float32:
		v := datum.View[float32](t.Data)
		return func(i int) float64 { return float64(v[i]) }, nil
	}
	return nil, fmt.Errorf("pixels are uint8 or float32, these are %s", t.DType)
}

func channel(list []float64, i int, none float64) float64 {
	switch {
	case len(list) == 0:
		return none
	case len(list) == 1:
		return list[0]
	}
	return list[i]
}

// Label returns a sample's label as text: its class, or the place of the
// greatest element where it is one-hot.
func Label(t Sample, classes []string) string {
	best := 0
	switch {
	case t.DType == datum.Int32 && len(t.Data) == 4:
		best = int(datum.View[int32](t.Data)[0])
	case t.DType == datum.Float32:
		v := datum.View[float32](t.Data)
		for i := range v {
			if v[i] > v[best] {
				best = i
			}
		}
	default:
		return ""
	}
	if best >= 0 && best < len(classes) {
		return classes[best]
	}
	return fmt.Sprint(best)
}
