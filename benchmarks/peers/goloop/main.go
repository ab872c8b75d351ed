//go:build linux

// Command goloop is an input pipeline as Go programs write it without a library:
// the standard library decodes, x/image resizes, a loop normalises, and the
// goroutines share the samples of a batch, whose memory is used again. It is
// measured beside the other peers and prints the JSON of plankton bench.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/jpeg"
	"io/fs"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/image/draw"
)

var (
	mean = [3]float32{0.485 * 255, 0.456 * 255, 0.406 * 255}
	std  = [3]float32{0.229 * 255, 0.224 * 255, 0.225 * 255}
)

// side is the height and width of the pictures of train and eval.
const side = 224

// maker fills rows of batches. It belongs to one goroutine.
type maker struct {
	workload string
	files    []string
	digits   digits
	rnd      *rand.Rand
	square   *image.RGBA // of side × side pixels
}

// sample writes sample i into row: float32 of 3×H×W, or 784 pixels and 10 labels.
func (m *maker) sample(row []float32, i int) error {
	if m.workload == "mnist" {
		m.digits.sample(row, i)
		return nil
	}
	raw, err := os.ReadFile(m.files[i])
	if err != nil {
		return err
	}
	img, err := jpeg.Decode(bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("%s: %w", m.files[i], err)
	}
	b := img.Bounds()
	switch m.workload {
	case "train":
		draw.BiLinear.Scale(m.square, m.square.Rect, img, m.crop(b.Dx(), b.Dy()), draw.Src, nil)
		normalise(row, m.square, m.rnd.IntN(2) == 1)
	case "eval":
		// Only the middle of the resized picture is made.
		s := 256 / float64(min(b.Dx(), b.Dy()))
		w, h := int(math.Round(float64(b.Dx())*s)), int(math.Round(float64(b.Dy())*s))
		at := image.Rect(0, 0, w, h).Sub(image.Pt((w-side)/2, (h-side)/2))
		draw.BiLinear.Scale(m.square, at, img, b, draw.Src, nil)
		normalise(row, m.square, false)
	default:
		rgba := image.NewRGBA(b)
		draw.Draw(rgba, b, img, b.Min, draw.Src)
		if m.workload == "cifar" {
			normalise(row, rgba, false)
		}
	}
	return nil
}

// crop draws a region of 8 … 100 % of the area and 3/4 … 4/3 in shape.
func (m *maker) crop(w, h int) image.Rectangle {
	for range 10 {
		area, ratio := float64(w*h)*(0.08+0.92*m.rnd.Float64()), math.Exp((2*m.rnd.Float64()-1)*math.Log(4./3))
		cw, ch := int(math.Round(math.Sqrt(area*ratio))), int(math.Round(math.Sqrt(area/ratio)))
		if cw > 0 && ch > 0 && cw <= w && ch <= h {
			x, y := m.rnd.IntN(w-cw+1), m.rnd.IntN(h-ch+1)
			return image.Rect(x, y, x+cw, y+ch)
		}
	}
	s := min(w, h)
	return image.Rect(0, 0, s, s).Add(image.Pt((w-s)/2, (h-s)/2))
}

// normalise writes a picture into row as float32 of 3×H×W.
func normalise(row []float32, img *image.RGBA, mirror bool) {
	w, h := img.Rect.Dx(), img.Rect.Dy()
	for c := range 3 {
		for y := range h {
			out := row[(c*h+y)*w:][:w]
			for x := range out {
				from := x
				if mirror {
					from = w - 1 - x
				}
				out[x] = (float32(img.Pix[y*img.Stride+4*from+c]) - mean[c]) / std[c]
			}
		}
	}
}

func jpegs(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if ext := strings.ToLower(filepath.Ext(path)); err == nil && !d.IsDir() && (ext == ".jpg" || ext == ".jpeg") {
			files = append(files, path)
		}
		return err
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no JPEG files in %s", dir)
	}
	return files, err
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("goloop: ")
	workload := flag.String("workload", "train", "train, eval, decode, mnist or cifar")
	data := flag.String("data", "", "folder of JPEG files; for mnist, of the IDX files")
	threads := flag.Int("threads", 2, "goroutines")
	batch := flag.Int("batch", 64, "samples in a batch")
	seconds := flag.Float64("seconds", 2, "least time that is measured")
	flag.Parse()

	l, err := newLoop(*workload, *data, *threads, *batch)
	if err != nil {
		log.Fatal(err)
	}
	result, err := l.measure(*seconds)
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		log.Fatal(err)
	}
}
