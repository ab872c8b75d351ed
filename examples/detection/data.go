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
	"github.com/planktonml/plankton/pipeline/ops/boxes"
	"github.com/planktonml/plankton/pipeline/readers"
)

const (
	size  = 48 // height and width of the pictures that are made
	side  = 32 // of those that the network sees
	batch = 16
)

// The classes of anchors.
const (
	nothing = iota
	disc
	square
	classes
)

// scenes are PNG files, the boxes in each picture (left, top, right, bottom, 0 … 1) and their classes.
type scenes struct {
	pictures [][]byte
	boxes    [][]float32
	labels   [][]int32
}

// newScenes makes n pictures of one or two objects, the same ones for a seed.
func newScenes(seed uint64, n int) (s scenes) {
	random := rand.New(rand.NewPCG(seed, 0))
	for range n {
		picture := image.NewRGBA(image.Rect(0, 0, size, size))
		for i := range picture.Pix {
			picture.Pix[i] = byte(40 + random.IntN(60))
		}
		var around []float32
		var labels []int32
		half := random.IntN(2) // the objects stand side by side, or one above the other
		for k := range 1 + random.IntN(2) {
			w, h := 12+random.IntN(8), 12+random.IntN(8)
			x, y := random.IntN(size-w), random.IntN(size-h)
			if half == 0 {
				x = k*size/2 + random.IntN(size/2-w+1)
			} else {
				y = k*size/2 + random.IntN(size/2-h+1)
			}
			class := disc + random.IntN(2)
			draw(picture, class, x, y, w, h, random)
			around = append(around, float32(x)/size, float32(y)/size, float32(x+w)/size, float32(y+h)/size)
			labels = append(labels, int32(class))
		}
		var file bytes.Buffer
		if err := png.Encode(&file, picture); err != nil {
			panic(err) // memory does not fail
		}
		s.pictures, s.boxes, s.labels = append(s.pictures, file.Bytes()), append(s.boxes, around), append(s.labels, labels)
	}
	return s
}

// draw draws a reddish disc or a bluish square.
func draw(picture *image.RGBA, class, x0, y0, w, h int, random *rand.Rand) {
	bright, dark := byte(170+random.IntN(80)), byte(40+random.IntN(60))
	c := color.RGBA{bright, dark, dark, 255}
	if class == square {
		c = color.RGBA{dark, dark, bright, 255}
	}
	for y := range h {
		for x := range w {
			dy, dx := float64(2*y+1-h)/float64(h), float64(2*x+1-w)/float64(w)
			if class == square || dy*dy+dx*dx <= 1 {
				picture.SetRGBA(x0+x, y0+y, c)
			}
		}
	}
}

// cells is how many anchors there are in each direction.
const cells = 4

// newAnchors returns squares of 0.35 of the picture around the middles of cells×cells parts.
func newAnchors() (anchors []float64) {
	const r = 0.35 / 2
	for y := range cells {
		for x := range cells {
			cx, cy := (float64(x)+0.5)/cells, (float64(y)+0.5)/cells
			anchors = append(anchors, cx-r, cy-r, cx+r, cy+r)
		}
	}
	return anchors
}

// deviations are what the offsets of boxes from anchors are divided by: of middles and of extents.
var deviations = [4]float64{0.1, 0.1, 0.2, 0.2}

// open makes a loader of "image", float32 3×32×32. To train with, pictures and boxes are cropped and
// mirrored alike, and "offsets", 16×4, and "classes", 16×3, say what each anchor has. To test with,
// "boxes" and "labels" are what is in the picture, as many as there are.
func (s scenes) open(train bool) (*iterator.Loader, error) {
	p, err := pipeline.New(pipeline.Options{BatchSize: batch, Seed: 1}, func(g *pipeline.Graph) {
		columns := readers.Slices(g, readers.SlicesOptions{Shuffle: train},
			readers.Ragged(s.pictures), readers.Ragged(s.boxes), readers.Ragged(s.labels))
		img := ops.DecodeImage(g, columns[0], ops.DecodeOptions{})
		around := ops.Reshape(g, columns[1], ops.ReshapeOptions{Shape: ops.Constant(g, -1, 4)})
		labels := columns[2]
		if train {
			crop := boxes.RandomCrop(g, around, labels, boxes.RandomCropOptions{Scaling: [2]float64{0.7, 1}, AspectRatio: [2]float64{0.8, 1.25}})
			img = ops.Slice(g, img, ops.SliceOptions{RelStart: crop.Anchor, RelShape: crop.Shape, AxisNames: "WH"})
			mirror := ops.CoinFlip(g, 0.5)
			img = ops.Flip(g, img, ops.FlipOptions{Horizontal: mirror})
			around, labels = boxes.Flip(g, crop.Boxes, boxes.FlipOptions{Horizontal: mirror}), crop.Labels
		}
		img = ops.Resize(g, img, ops.ResizeOptions{Height: side, Width: side})
		if train {
			img = ops.ColorTwist(g, img, ops.ColorTwistOptions{Brightness: ops.Uniform(g, 0.8, 1.2), Hue: ops.Uniform(g, -15, 15)})
			offsets, found := boxes.Encode(g, around, labels, boxes.EncodeOptions{Anchors: newAnchors(), Criteria: 0.4, Offsets: true, Stds: deviations})
			g.Output("offsets", offsets)
			g.Output("classes", ops.OneHot(g, found, ops.OneHotOptions{Classes: classes}))
		} else {
			g.Output("boxes", around)
			g.Output("labels", labels)
		}
		g.Output("image", ops.CropMirrorNormalize(g, img, ops.CropMirrorNormalizeOptions{Mean: []float64{80}, Std: []float64{60}}))
	})
	if err != nil {
		return nil, err
	}
	return iterator.New(iterator.Options{}, p)
}
