package imaging

import (
	"fmt"
	"math"
)

// ResizeMode says how the wanted extents become the extents of the output.
type ResizeMode uint8

// The resize modes of DALI.
const (
	ResizeDefault    ResizeMode = iota // the extents as given; a missing one is scaled by the mean scale of the others
	ResizeStretch                      // the extents as given; a missing one stays as it is
	ResizeNotLarger                    // aspect ratio kept, no extent above the wanted one
	ResizeNotSmaller                   // aspect ratio kept, no extent below the wanted one
	numResizeModes
)

// String returns DALI's name of m.
func (m ResizeMode) String() string {
	names := [numResizeModes]string{"default", "stretch", "not_larger", "not_smaller"}
	if m >= numResizeModes {
		return fmt.Sprintf("ResizeMode(%d)", uint8(m))
	}
	return names[m]
}

// ResizeSpec is what a user wants of a resize, under DALI's rules. Pairs are in the order height, width. The zero value
// keeps the size. Fractional extents are allowed: the output has the rounded extent, and unless WholePixels is set the
// part of the source that is read grows or shrinks about its centre so that the scale stays as asked.
type ResizeSpec struct {
	Size        [2]float64 // wanted extents; 0 leaves one open, a negative one mirrors the axis
	Mode        ResizeMode
	MaxSize     [2]float64 // upper limits of the output; 0 means none
	WholePixels bool       // map exactly the source region to the rounded output (DALI: subpixel_scale=false)
	Min, Mag    Filter     // for axes that shrink and for those that do not; default Linear
	NoAntialias bool       // keep the filters' natural width when they shrink a picture

	ROI         bool       // read only the region from ROIStart to ROIEnd, in the edge coordinates of the source
	ROIStart    [2]float64 // where it starts; beyond the end, the axis is mirrored
	ROIEnd      [2]float64
	ROIRelative bool // the region is given as fractions of the source
}

// Axis describes how one axis is resampled.
type Axis struct {
	Out        int     // samples of the output
	Lo, Hi     float64 // edges of the source region that the output shows; Lo > Hi mirrors
	Start, End int     // samples that may be read; beyond them the nearest of them repeats
	Filter     Filter
	Antialias  bool // the filter widens where the axis shrinks
	Accumulate bool // Nearest: positions are summed up, not multiplied
	Origin     int  // positions are counted from this sample, which shows in their rounding to float32
}

// Plan is a resize of a picture of known size: the two axes.
type Plan struct{ Y, X Axis }

// Resolve applies s to a source of h×w samples. An empty source is an [*ArgumentError]. As in DALI, extents and edges
// are float32 and scales float64: their rounding decides what becomes of an extent that is half a pixel over, and which
// of two samples Nearest takes where both are as near.
func (s *ResizeSpec) Resolve(h, w int) (Plan, error) {
	if h < 1 || w < 1 {
		return Plan{}, badArgument("resize", "the source is %d×%d, an empty picture cannot be resized", h, w)
	}
	if s.Mode >= numResizeModes || s.Min >= numFilters || s.Mag >= numFilters {
		return Plan{}, badArgument("resize", "unknown mode or filter: %v, %v, %v", s.Mode, s.Min, s.Mag)
	}
	in := [2]int{h, w}
	var lo, hi, extent [2]float32
	size := [2]float32{float32(s.Size[0]), float32(s.Size[1])}
	for d, n := range in {
		lo[d], hi[d] = s.region(d, n)
		if lo[d] > hi[d] {
			lo[d], hi[d] = hi[d], lo[d]
			size[d] = -size[d]
		}
		extent[d] = hi[d] - lo[d]
		if !(extent[d] > 0) {
			return Plan{}, badArgument("resize", "the region from %v to %v of a %d×%d picture is empty", s.ROIStart, s.ROIEnd, h, w)
		}
	}
	size = s.adjust(size, extent)
	var axes [2]Axis
	for d, n := range in {
		want := math.Abs(float64(size[d]))
		if !(want <= maxExtent) {
			return Plan{}, badArgument("resize", "an output of %g samples, at most %d are possible", want, maxExtent)
		}
		out := max(1, int(math.Round(want)))
		if !s.WholePixels && want != float64(out) && want > 0 {
			grow := min(float64(out)/want, 10)
			mid := float64(lo[d]+hi[d]) * 0.5
			lo[d], hi[d] = float32(mid+float64((float64(lo[d])-mid)*grow)), float32(mid+float64((float64(hi[d])-mid)*grow))
		}
		a := Axis{Out: out, Lo: float64(lo[d]), Hi: float64(hi[d]), End: n, Filter: s.Mag, Antialias: !s.NoAntialias}
		if float32(out) < hi[d]-lo[d] {
			a.Filter = s.Min
		}
		if size[d] < 0 {
			a.Lo, a.Hi = a.Hi, a.Lo
		}
		axes[d] = a
	}
	axes[0].Accumulate = axes[0].Filter == Nearest
	p := Plan{Y: axes[0], X: axes[1]}
	p.setOrigin()
	return p, nil
}

// setOrigin does what DALI's order of the passes does to positions: the cheaper order is taken, the first pass makes
// only what the second one reads, and the second one counts from the first sample of that.
func (p *Plan) setOrigin() {
	const store = 3 // the cost of an intermediate value, in taps
	y0, rows, yTaps := p.Y.reach()
	x0, cols, xTaps := p.X.reach()
	all := float32(p.Y.Out * p.X.Out)
	vertical := float32(cols * p.Y.Out)
	horizontal := float32(p.X.Out * rows)
	// Conversions keep products from being fused with sums: other processors would break ties otherwise.
	verticalFirst := float32(vertical*float32(store+yTaps)) + float32(all*float32(xTaps))
	if verticalFirst < float32(horizontal*float32(store+xTaps))+float32(all*float32(yTaps)) {
		p.X.Origin = x0
	} else {
		p.Y.Origin = y0
	}
}

// reach returns the first sample that the axis reads and how many there are, as DALI bounds them, and the taps of the
// filter.
func (a *Axis) reach() (first, n, taps int) {
	lo, hi := float32(a.Lo), float32(a.Hi)
	radius, taps := float32(0), 1
	if a.Filter != Nearest {
		scale := (hi - lo) / float32(a.Out)
		w := a.Filter.window(max(scale, -scale), a.Antialias)
		radius, taps = w.radius, w.support
	}
	clip := func(x float32) int { return min(max(int(math.Floor(float64(x))), 0), a.End) }
	first = clip(min(lo, hi) - radius)
	return first, clip(max(lo, hi)-radius+float32(taps)) - first, taps
}

// region returns the edges of the part of an axis of n samples that is read.
func (s *ResizeSpec) region(d, n int) (lo, hi float32) {
	if !s.ROI {
		return 0, float32(n)
	}
	a, b := float64(float32(s.ROIStart[d])), float64(float32(s.ROIEnd[d]))
	if s.ROIRelative {
		a, b = a*float64(n), b*float64(n)
	}
	return float32(a), float32(b)
}

// maxExtent bounds the extents of an output and the place of a region, so that sizes stay far from overflow.
const maxExtent = 1 << 20

// adjust returns the wanted extents after the mode and the limits; the signs say which axes are mirrored.
func (s *ResizeSpec) adjust(size, in [2]float32) [2]float32 {
	var scale [2]float64 // of the axes that are given
	given := 0
	for d := range size {
		if size[d] != 0 {
			scale[d] = math.Abs(float64(size[d] / in[d]))
			given++
		}
	}
	switch {
	case given == 0:
		return in
	case s.Mode == ResizeNotLarger || s.Mode == ResizeNotSmaller:
		return s.keepAspect(size, in, scale)
	}
	for d := range size {
		if size[d] == 0 {
			size[d] = in[d]
			if s.Mode == ResizeDefault {
				size[d] = float32(float64(in[d]) * scale[1-d])
			}
		}
		if limit := float32(s.MaxSize[d]); limit > 0 && max(size[d], -size[d]) > limit {
			size[d] = copySign(limit, size[d])
		}
	}
	return size
}

func copySign(x, sign float32) float32 { return float32(math.Copysign(float64(x), float64(sign))) }

// keepAspect scales both extents by one factor: the scale that is given, or the smaller or larger one of the two axes
// where both are given, reduced to what the limits allow.
func (s *ResizeSpec) keepAspect(size, in [2]float32, scale [2]float64) [2]float32 {
	both := max(scale[0], scale[1])
	if s.Mode == ResizeNotLarger && min(scale[0], scale[1]) > 0 {
		both = min(scale[0], scale[1])
	}
	for d, limit := range s.MaxSize {
		if limit := float32(limit); limit > 0 {
			both = min(both, float64(limit)/float64(in[d]))
		}
	}
	for d := range size {
		if scale[d] != both {
			size[d] = copySign(float32(float64(in[d])*both), size[d])
		}
	}
	return size
}

// Crop returns the axis that yields only the n output samples from the given one on. They have the values they have
// within the whole, up to the rounding of positions.
func (a Axis) Crop(from, n int) Axis {
	scale := (a.Hi - a.Lo) / float64(a.Out)
	a.Hi = a.Lo + float64(from+n)*scale
	a.Lo += float64(from) * scale
	a.Out = n
	return a
}

// Mirror returns the axis that yields the output samples of a in reverse order.
func (a Axis) Mirror() Axis {
	a.Lo, a.Hi = a.Hi, a.Lo
	return a
}

// check reports an axis that cannot be resampled: what the caller built, not what a user asked for.
func (a *Axis) check(n int) error {
	if a.Out < 1 || a.Out > maxExtent || a.Start < 0 || a.End > n || a.Start >= a.End || a.Lo == a.Hi || a.Filter >= numFilters ||
		!(math.Abs(a.Lo) < maxExtent) || !(math.Abs(a.Hi) < maxExtent) {
		return badArgument("resize", "axis %+v does not fit a source of %d samples", *a, n)
	}
	return nil
}
