package ops

import (
	"fmt"
	"image"
	"math"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// RandomCropOptions configures DecodeRandomCrop.
type RandomCropOptions struct {
	DecodeOptions

	Area     [2]float64 // share of the picture's area, smallest and largest; default 0.08 … 1
	Aspect   [2]float64 // width / height, smallest and largest; default 3/4 … 4/3
	Attempts int        // draws before the largest fitting centre region is taken; default 10
}

// DecodeRandomCrop decodes a random region of a picture: with a resize behind
// it, the crop that classifiers are trained on (Szegedy et al., "Going deeper
// with convolutions", 2015). Area and aspect ratio are drawn uniformly, the
// latter on a logarithmic scale, then the place. What lies outside the region
// is not decoded where the format allows.
func DecodeRandomCrop(g *pipeline.Graph, encoded pipeline.Value, o RandomCropOptions) pipeline.Value {
	const name = "decoders.image_random_crop"
	return addDecode(g, name, encoded, o.DecodeOptions, newRandomCrop(g, name, o.Area, o.Aspect, o.Attempts), nil)
}

// newRandomCrop fills in the defaults and checks what they replace.
func newRandomCrop(g *pipeline.Graph, op string, area, aspect [2]float64, attempts int) *randomCrop {
	if area == [2]float64{} {
		area = [2]float64{0.08, 1}
	}
	if aspect == [2]float64{} {
		aspect = [2]float64{3. / 4, 4. / 3}
	}
	if attempts == 0 {
		attempts = 10
	}
	switch {
	case !(0 < area[0] && area[0] <= area[1] && area[1] <= 1):
		g.Fail(op, fmt.Errorf("Area is %g … %g; it must lie in (0, 1]", area[0], area[1]))
	case !(0 < aspect[0] && aspect[0] <= aspect[1]):
		g.Fail(op, fmt.Errorf("Aspect is %g … %g; it must be positive and ascending", aspect[0], aspect[1]))
	case attempts < 0:
		g.Fail(op, fmt.Errorf("Attempts is %d; it must not be negative", attempts))
	}
	return &randomCrop{area, aspect, attempts, g.NewRandom()}
}

// randomCrop draws regions.
type randomCrop struct {
	area, aspect [2]float64
	attempts     int
	random       datum.Random
}

func (r *randomCrop) config() string    { return fmt.Sprintf("%+v", *r) }
func (r *randomCrop) known() (h, w int) { return -1, -1 }
func (r *randomCrop) own() cut          { return r }

func (r *randomCrop) region(s *datum.Sample, _ []*datum.Tensor, h, w int) (image.Rectangle, error) {
	return r.draw(s, h, w), nil
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
