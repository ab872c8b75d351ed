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
}

// Plan is a resize of a picture of known size: the two axes.
type Plan struct{ Y, X Axis }

// Resolve applies s to a source of h×w samples. An empty source is an [*ArgumentError].
func (s *ResizeSpec) Resolve(h, w int) (Plan, error) {
	if h < 1 || w < 1 {
		return Plan{}, badArgument("resize", "the source is %d×%d, an empty picture cannot be resized", h, w)
	}
	if s.Mode >= numResizeModes || s.Min >= numFilters || s.Mag >= numFilters {
		return Plan{}, badArgument("resize", "unknown mode or filter: %v, %v, %v", s.Mode, s.Min, s.Mag)
	}
	in := [2]int{h, w}
	var lo, hi, extent [2]float64
	size := s.Size
	for d, n := range in {
		hi[d] = float64(n)
		if s.ROI {
			lo[d], hi[d] = s.ROIStart[d], s.ROIEnd[d]
			if s.ROIRelative {
				lo[d], hi[d] = lo[d]*float64(n), hi[d]*float64(n)
			}
		}
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
		want := math.Abs(size[d])
		if !(want <= maxExtent) {
			return Plan{}, badArgument("resize", "an output of %g samples, at most %d are possible", want, maxExtent)
		}
		out := max(1, int(math.Round(want)))
		a := Axis{Out: out, Lo: lo[d], Hi: hi[d], End: n, Antialias: !s.NoAntialias}
		if !s.WholePixels && want != float64(out) && want > 0 {
			grow := min(float64(out)/want, 10)
			mid, half := (lo[d]+hi[d])/2, (hi[d]-lo[d])/2*grow
			a.Lo, a.Hi = mid-half, mid+half
		}
		a.Filter = s.Mag
		if float64(out) < a.Hi-a.Lo {
			a.Filter = s.Min
		}
		if size[d] < 0 {
			a.Lo, a.Hi = a.Hi, a.Lo
		}
		axes[d] = a
	}
	axes[0].Accumulate = axes[0].Filter == Nearest && axes[1].Filter == Nearest
	return Plan{Y: axes[0], X: axes[1]}, nil
}

// maxExtent bounds the extents of an output and the place of a region, so that sizes stay far from overflow.
const maxExtent = 1 << 20

// adjust returns the wanted extents after the mode and the limits; the signs say which axes are mirrored. As in DALI,
// extents and the scale that is kept are rounded to float32: it decides what becomes of an extent that is half a
// pixel over.
func (s *ResizeSpec) adjust(size, in [2]float64) [2]float64 {
	given, scale := 0, 1.0 // scale: of the axis that is given where only one is
	for d := range size {
		if size[d] != 0 {
			given++
			scale = math.Abs(size[d]) / in[d]
		}
	}
	if given == 0 {
		return in
	}
	if s.Mode == ResizeNotLarger || s.Mode == ResizeNotSmaller {
		return s.keepAspect(size, in, scale, given == 2)
	}
	for d := range size {
		if size[d] == 0 {
			size[d] = in[d]
			if s.Mode == ResizeDefault {
				size[d] = float64(float32(in[d] * scale))
			}
		}
		if limit := s.MaxSize[d]; limit > 0 && math.Abs(size[d]) > limit {
			size[d] = math.Copysign(limit, size[d])
		}
	}
	return size
}

// keepAspect scales both extents by one factor: scale, or the smaller or larger one of the two axes where both are
// given, reduced to what the limits allow.
func (s *ResizeSpec) keepAspect(size, in [2]float64, scale float64, both bool) [2]float64 {
	if both {
		y, x := math.Abs(size[0])/in[0], math.Abs(size[1])/in[1]
		if s.Mode == ResizeNotLarger {
			scale = min(y, x)
		} else {
			scale = max(y, x)
		}
	}
	scale = float64(float32(scale))
	for d, limit := range s.MaxSize {
		if limit > 0 {
			scale = min(scale, limit/in[d])
		}
	}
	for d := range size {
		size[d] = math.Copysign(float64(float32(in[d]*scale)), size[d])
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
