package imaging

import (
	"math"

	"github.com/planktonml/plankton/pipeline/datum"
)

// A Displacement says where the pixel x, y of a result comes from.
type Displacement interface {
	Place(x, y int) (px, py float32)
}

// Water moves pixels in waves: those of a row to the side, those of a column up and down.
type Water struct {
	AmplitudeX, AmplitudeY, FrequencyX, FrequencyY, PhaseX, PhaseY float32
}

// Place implements Displacement.
func (m *Water) Place(x, y int) (px, py float32) {
	sin := math.Sin(float64(float32(m.FrequencyX*float32(y)) + m.PhaseX))
	cos := math.Cos(float64(float32(m.FrequencyY*float32(x)) + m.PhaseY))
	return float32(x) + float32(m.AmplitudeX*float32(sin)), float32(y) + float32(m.AmplitudeY*float32(cos))
}

// Sphere moves pixels towards the middle of a picture of H×W pixels, those near to it the most.
type Sphere struct{ H, W int }

// Place implements Displacement.
func (m *Sphere) Place(x, y int) (px, py float32) {
	cx, cy := float32(m.W)/2, float32(m.H)/2
	dx, dy := float32(x)+0.5-cx, float32(y)+0.5-cy
	r := float32(math.Sqrt(float64(float32(dx*dx)+float32(dy*dy)))) / float32(max(1, m.H/2, m.W/2))
	return cx + float32(r*dx), cy + float32(r*dy)
}

// Displace writes the source's pixels where d takes them from: the pixel that a place lies in, or the mean of the four
// around it, whose middles lie half a pixel from their places. The spec's M is not used.
func (k *Warper) Displace(dst []byte, src *Image, s *WarpSpec, d Displacement) error {
	if err := src.check("displace"); err != nil {
		return err
	}
	n := src.C * src.Type.Size()
	if len(dst) != src.H*src.W*n || src.Type == datum.Float16 || src.Stride != 0 {
		return badArgument("displace", "%d bytes for %d×%d×%d elements of %v", len(dst), src.H, src.W, src.C, src.Type)
	}
	k.fillWith(s.Fill, src)
	sampled := src
	wide := !s.Nearest && src.Type != datum.Uint8
	if wide {
		sampled = k.widened(src)
	}
	for y := range src.H {
		for x := range src.W {
			px, py := d.Place(x, y)
			if !(px > -maxPlace && px < maxPlace && py > -maxPlace && py < maxPlace) {
				px, py = -maxPlace, -maxPlace
			}
			at := path{x: int64(float64(px) * (1 << placeBits)), y: int64(float64(py) * (1 << placeBits))}
			to := dst[(y*src.W+x)*n:][:n]
			switch {
			case s.Nearest:
				k.pick(to, src, px, py, s.Constant)
			case !wide:
				k.linearBytes(to, src, at, s.Constant)
			default:
				k.row = grow(k.row, src.C)
				k.linearFloats(k.row, sampled, at, s.Constant)
				convert(to, src.Type, datum.BytesOf(k.row), datum.Float32)
			}
		}
	}
	return nil
}
