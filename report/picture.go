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

// normalisation is what an output's pixels went through: (pixel - Mean) / Std,
// one value per channel or one for all. The zero value means that it is not known: pixels of type
// uint8 are shown as they are, others stretched.
type normalisation struct {
	Mean, Std []float64
}

// check returns an error where there are not as many values as pictures have channels.
func (n normalisation) check(channels int) error {
	for _, list := range []struct {
		name string
		n    int
	}{{"Mean", len(n.Mean)}, {"Std", len(n.Std)}} {
		if list.n > 1 && list.n != channels {
			return fmt.Errorf("%s has %d values for pictures of %d channels; one for each is wanted, or one for all", list.name, list.n, channels)
		}
	}
	return nil
}

// caption is what stands under a picture.
type caption struct {
	Label string // the class; empty where there are none
	Name  string // of the file
}

// picture is one sample of a batch.
type picture struct {
	Source  template.URL // the picture as a data URI
	Caption caption
	Width   int
	Height  int
}

// sample is a copy of one sample of a batch, which outlives the batch.
type sample struct {
	DType  datum.DType
	Layout datum.Layout
	Shape  []int
	Data   []byte
}

// copyOf returns a copy of t.
func copyOf(t *datum.Tensor) sample {
	return sample{t.DType(), t.Layout(), slices.Clone(t.Shape()), bytes.Clone(t.Bytes())}
}

// newPicture draws a sample, of one or three channels in the layout HWC or CHW,
// as the network sees it: cropped, mirrored and scaled, with the normalisation
// undone.
func newPicture(t sample, undo normalisation, under caption) (picture, error) {
	shape := t.Shape
	if len(shape) == 2 {
		shape = []int{shape[0], shape[1], 1}
	}
	if len(shape) != 3 {
		return picture{}, fmt.Errorf("a picture has three dimensions, this sample has shape %v", t.Shape)
	}
	h, w, c := shape[0], shape[1], shape[2]
	pixel := func(y, x, k int) int { return (y*w+x)*c + k }
	if t.Layout == datum.CHW {
		c, h, w = shape[0], shape[1], shape[2]
		pixel = func(y, x, k int) int { return (k*h+y)*w + x }
	}
	if c != 1 && c != 3 {
		return picture{}, fmt.Errorf("a picture has one channel or three, this one has %d", c)
	}
	if err := undo.check(c); err != nil {
		return picture{}, err
	}
	at, err := values(t)
	if err != nil {
		return picture{}, err
	}
	if len(undo.Mean) == 0 && len(undo.Std) == 0 && t.DType == datum.Float32 {
		undo = stretched(h*w*c, at)
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
		return picture{}, err
	}
	source := "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
	return picture{Source: template.URL(source), Caption: under, Width: w, Height: h}, nil
}

// stretched returns what brings n pixels to 0 … 255, from the least to the greatest of them.
func stretched(n int, at func(i int) float64) normalisation {
	low, high := math.Inf(1), math.Inf(-1)
	for i := range n {
		low, high = min(low, at(i)), max(high, at(i))
	}
	if !(high > low) { // also where one is no number
		return normalisation{}
	}
	scale := 255 / (high - low)
	return normalisation{Mean: []float64{-low * scale}, Std: []float64{scale}}
}

// values returns a function for a sample's elements.
func values(t sample) (func(i int) float64, error) {
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

// labelOf returns a sample's label as text: its class, or the place of the
// greatest element where it is one-hot.
func labelOf(t sample, classes []string) string {
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
