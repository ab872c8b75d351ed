package main

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

const (
	width, height = 64, 48 // of the pictures that are made
	side          = 24     // of those that the network sees
	batch         = 16
)

// The classes, which masks have as numbers.
const (
	background = iota
	disc
	square
	classes
)

// scenes are PNG files of pictures and of their masks.
type scenes struct{ pictures, masks [][]byte }

// newScenes makes n pictures of up to three shapes, the same ones for a seed.
func newScenes(seed uint64, n int) (s scenes) {
	random := rand.New(rand.NewPCG(seed, 0))
	bounds := image.Rect(0, 0, width, height)
	palette := color.Palette{color.Black, color.White, color.Gray{128}}
	for range n {
		picture, mask := image.NewRGBA(bounds), image.NewPaletted(bounds, palette)
		for i := range picture.Pix {
			picture.Pix[i] = byte(60 + random.IntN(50))
		}
		for range 1 + random.IntN(3) {
			draw(picture, mask, random)
		}
		s.pictures, s.masks = append(s.pictures, encode(picture)), append(s.masks, encode(mask))
	}
	return s
}

// draw draws a reddish disc or a bluish square, or a green disc that belongs to the background.
func draw(picture *image.RGBA, mask *image.Paletted, random *rand.Rand) {
	class, r := random.IntN(classes), 6+random.IntN(6)
	x0, y0 := random.IntN(width), random.IntN(height)
	bright, dark := byte(170+random.IntN(80)), byte(40+random.IntN(60))
	c := [classes]color.RGBA{{dark, bright, dark, 255}, {bright, dark, dark, 255}, {dark, dark, bright, 255}}[class]
	for y := max(0, y0-r); y < min(height, y0+r); y++ {
		for x := max(0, x0-r); x < min(width, x0+r); x++ {
			if class != square && (x-x0)*(x-x0)+(y-y0)*(y-y0) >= r*r {
				continue
			}
			picture.SetRGBA(x, y, c)
			mask.SetColorIndex(x, y, uint8(class))
		}
	}
}

// encode makes a PNG file.
func encode(m image.Image) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err) // memory does not fail
	}
	return b.Bytes()
}

// open makes a loader of "image", float32 3×24×24, and "mask", one-hot vectors 24×24×3. To train
// with, a picture and its mask are cropped and mirrored alike, and colours change.
func (s scenes) open(train bool) (*iterator.Loader, error) {
	p, err := pipeline.New(pipeline.Options{BatchSize: batch, Seed: 1}, func(g *pipeline.Graph) {
		columns := readers.Slices(g, readers.SlicesOptions{Shuffle: train}, readers.Ragged(s.pictures), readers.Ragged(s.masks))
		img := ops.DecodeImage(g, columns[0], ops.DecodeOptions{})
		mask := ops.MaskOf(g, img, ops.DecodeImage(g, columns[1], ops.DecodeOptions{Type: ops.Indexed}))
		if train {
			// One window and one coin for both.
			size := ops.PeekImageShape(g, columns[0], ops.PeekImageShapeOptions{})
			anchor, extents := ops.RandomWindow(g, size, ops.RandomWindowOptions{Area: [2]float64{0.5, 1}})
			window := ops.SliceOptions{Start: anchor, Shape: extents, AxisNames: "HW"}
			mirror := ops.FlipOptions{Horizontal: ops.CoinFlip(g, 0.5)}
			img = ops.Flip(g, ops.Slice(g, img, window), mirror)
			mask = ops.Flip(g, ops.Slice(g, mask, window), mirror)
		}
		img = ops.Resize(g, img, ops.ResizeOptions{Height: side, Width: side})
		mask = ops.Resize(g, mask, ops.ResizeOptions{Height: side, Width: side, Interp: ops.Nearest}) // classes are not mixed
		if train {
			img = ops.ColorTwist(g, img, ops.ColorTwistOptions{Brightness: ops.Uniform(g, 0.8, 1.2), Hue: ops.Uniform(g, -15, 15)})
		}
		g.Output("image", ops.CropMirrorNormalize(g, img, ops.CropMirrorNormalizeOptions{Mean: []float64{90}, Std: []float64{60}}))
		g.Output("mask", ops.OneHot(g, ops.Squeeze(g, mask, []int{2}, ""), ops.OneHotOptions{Classes: classes}))
	})
	if err != nil {
		return nil, err
	}
	return iterator.New(iterator.Options{}, p)
}
