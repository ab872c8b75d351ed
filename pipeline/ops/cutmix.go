package ops

import (
	"fmt"
	"math"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// CutMix puts a region of another picture of the batch in the place of the same region of every
// picture, and mixes the labels by the areas (Yun and others: CutMix, 2019). The region is one for
// the batch: around a random point, its share of the picture one minus a number of a beta
// distribution, cut off at the border. Pictures are H×W×C, C×H×W or H×W (layouts HWC, CHW, HW);
// for types, labels, draws and worlds see Mixup.
func CutMix(g *pipeline.Graph, pictures, labels pipeline.Value, o MixOptions) (mixed, mixedLabels pipeline.Value) {
	return addMix(g, "cutmix", pictures, labels, o, func(m *mix) error {
		s, size := m.picture.Shape, m.picture.DType.Size()
		if !m.picture.Dense() {
			return nil // which Graph.AddBatch refuses
		}
		m.cut = true
		switch l := m.picture.Layout; {
		case len(s) == 3 && (l == datum.HWC || l == ""):
			m.planes, m.h, m.w, m.pixel = 1, s[0], s[1], s[2]*size
		case len(s) == 3 && l == datum.CHW:
			m.planes, m.h, m.w, m.pixel = s[0], s[1], s[2], size
		case len(s) == 2 && (l == "HW" || l == ""):
			m.planes, m.h, m.w, m.pixel = 1, s[0], s[1], size
		default:
			return fmt.Errorf("the pictures are %s; H×W×C, C×H×W or H×W is wanted", m.picture)
		}
		return nil
	})
}

// rectangle is a region of pixels, without the last row and column.
type rectangle struct{ y0, x0, y1, x1 int }

// region draws what is cut out for a share, and returns the share that is left.
func (k *mix) region(r *datum.Rand, share float64) (rectangle, float64) {
	if share == 1 || k.h == 0 || k.w == 0 {
		return rectangle{}, 1
	}
	x, y, half := r.IntN(k.w), r.IntN(k.h), 0.5*math.Sqrt(1-share)
	dx, dy := int(half*float64(k.w)), int(half*float64(k.h))
	c := rectangle{max(y-dy, 0), max(x-dx, 0), min(y+dy, k.h), min(x+dx, k.w)}
	return c, 1 - float64((c.y1-c.y0)*(c.x1-c.x0))/float64(k.h*k.w)
}

// paste writes a with a region of b.
func (k *mix) paste(dst, a, b []byte, c rectangle) {
	copy(dst, a)
	for p := range k.planes {
		for y := c.y0; y < c.y1; y++ {
			row := (p*k.h + y) * k.w
			from, to := (row+c.x0)*k.pixel, (row+c.x1)*k.pixel
			copy(dst[from:to], b[from:to])
		}
	}
}
