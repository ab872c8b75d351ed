package imaging

import "math"

// taps are the weights of one resampled axis: output i is the sum over k < n of weight[i*n+k]·source[first[i]+k].
// Every window lies inside the source: what a filter would read beyond the border is added to the weight of the border
// sample. first never decreases, or never increases where the axis is mirrored.
type taps struct {
	axis   Axis // what the weights were built for
	n      int
	first  []int32
	weight []float32

	// Of a horizontal axis, depending on nothing else, so that the order of summation does not depend on the processor.
	lanes   bool // the shuffle program holds the axis
	wide    bool // n is a multiple of 8 and sums are formed as horizontalWideGo does
	shuffle shuffle

	// Scratch of build: the weights before the common width is known, where in them the zeros in front end and those
	// behind begin, one window.
	raw        []float32
	lead, last []int32
	window     []float32
}

// buildVertical computes the weights of an axis along which whole rows are summed. Memory is reused, and nothing is
// done where the axis is the same as last time.
func (t *taps) buildVertical(a Axis) {
	if a != t.axis {
		t.build(a)
	}
}

// buildHorizontal is buildVertical for an axis along which the samples of a row are summed.
func (t *taps) buildHorizontal(a Axis) {
	if a == t.axis {
		return
	}
	t.build(a)
	if t.lanes = t.narrow(); t.lanes {
		t.shuffle.build(t)
	} else if n := (t.n + 7) &^ 7; n <= a.End-a.Start {
		t.widen(n)
	}
}

// build computes the weights of a. The arithmetic is that of DALI in float32: positions of samples far from the origin
// carry a rounding error that shows in the weights.
func (t *taps) build(a Axis) {
	t.axis, t.lanes, t.wide = a, false, false
	t.first = grow(t.first, a.Out)
	if a.Filter == Nearest {
		t.buildNearest(a)
	} else {
		t.buildWindows(a)
	}
}

// lane is the number of neighbouring outputs that the assembly takes from one load of laneBytes samples.
const (
	lane      = 4
	laneBytes = 16
)

// laneWindow returns the samples, from lo up to hi, that the lane of outputs from i on reads.
func (t *taps) laneWindow(i int) (lo, hi int) {
	first := t.first[i:min(i+lane, len(t.first))]
	return int(min(first[0], first[len(first)-1])), int(max(first[0], first[len(first)-1])) + t.n
}

// narrow reports whether every lane reads few enough samples for one load.
func (t *taps) narrow() bool {
	if t.axis.End < laneBytes {
		return false
	}
	for i := 0; i < len(t.first); i += lane {
		if lo, hi := t.laneWindow(i); hi-lo > laneBytes {
			return false
		}
	}
	return true
}

// widen gives every window n samples.
func (t *taps) widen(n int) {
	t.raw = grow(t.raw, n*len(t.first))
	clear(t.raw)
	for i, first := range t.first {
		moved := min(first, int32(t.axis.End-n))
		copy(t.raw[i*n+int(first-moved):], t.weight[i*t.n:(i+1)*t.n])
		t.first[i] = moved
	}
	t.raw, t.weight = t.weight, t.raw
	t.n, t.wide = n, true
}

// steps returns where the source region begins, counted from Origin, and the step from output to output.
func (a *Axis) steps() (lo, scale float32) {
	lo = float32(a.Lo)
	return lo - float32(a.Origin), (float32(a.Hi) - lo) / float32(a.Out)
}

func (t *taps) buildNearest(a Axis) {
	t.n = 1
	t.weight = grow(t.weight, a.Out)
	lo, scale := a.steps()
	at := lo + 0.5*scale
	for i := range t.first {
		if !a.Accumulate {
			at = lo + float32((float32(i)+0.5)*scale)
		}
		t.first[i] = int32(min(max(a.Origin+int(math.Floor(float64(at))), a.Start), a.End-1))
		t.weight[i] = 1
		at += scale
	}
}

func (t *taps) buildWindows(a Axis) {
	lo, scale := a.steps()
	w := a.Filter.window(max(scale, -scale), a.Antialias)
	origin := lo + (0.5*scale - 0.5 - w.radius)

	// First the weights as the filter gives them, folded into the source but with windows of their own lengths.
	width := min(w.support, a.End-a.Start)
	t.raw = grow(t.raw, a.Out*width)
	t.lead = grow(t.lead, a.Out)
	t.last = grow(t.last, a.Out)
	t.window = grow(t.window, w.support)
	t.n = 1
	for i := range t.first {
		at := float32(float32(i)*scale) + origin
		left := ceil(at)
		x, sum := float32(float32(left)-at)*w.step, float32(0)
		left += a.Origin
		first := min(max(left, a.Start), a.End-width)
		row := t.raw[i*width : (i+1)*width]
		if first == left && width == w.support {
			sum = w.sample(row, x)
		} else {
			sum = w.sample(t.window, x)
			clear(row)
			for k, c := range t.window {
				row[min(max(left+k, a.Start), a.End-1)-first] += c
			}
		}
		begin, end := 0, width
		for begin < end-1 && row[begin] == 0 {
			begin++
		}
		for end > begin+1 && row[end-1] == 0 {
			end--
		}
		if sum != 0 {
			for k := begin; k < end; k++ {
				row[k] /= sum
			}
		}
		t.first[i], t.lead[i], t.last[i] = int32(first), int32(begin), int32(end)
	}
	t.ascend(scale < 0)
	for i, lead := range t.lead {
		t.n = max(t.n, int(t.last[i]-lead))
	}

	// Then a common length, the shortest that holds every window.
	t.weight = grow(t.weight, a.Out*t.n)
	for i, lead := range t.lead {
		lead = min(lead, int32(width-t.n))
		t.first[i] += lead
		copy(t.weight[i*t.n:(i+1)*t.n], t.raw[i*width+int(lead):])
	}
}

// ascend makes windows begin no later than those that follow them in the source. A filter is zero at some samples inside
// its support: an output that lies exactly on a sample would lose the zeros in front of that sample, and begin later than
// its neighbour, whose first rows the ring would no longer hold.
func (t *taps) ascend(mirrored bool) {
	least := int32(math.MaxInt32)
	for i := range t.first {
		if !mirrored {
			i = len(t.first) - 1 - i
		}
		least = min(least, t.first[i]+t.lead[i])
		t.lead[i] = least - t.first[i]
	}
}

// sample evaluates the filter at x table entries from its left end and at every source sample from there on, and
// returns the sum of the values.
func (w *window) sample(values []float32, x float32) (sum float32) {
	if len(w.table) == len(triangleTable) {
		for k := range values {
			c := x
			if x > 1 {
				c = 2 - x
			}
			if c < 0 {
				c = 0
			}
			values[k] = c
			sum += c
			x += w.step
		}
		return sum
	}
	for k := range values {
		c := w.at(x)
		values[k] = c
		sum += c
		x += w.step
	}
	return sum
}

// at evaluates the filter at x table entries from its left end.
func (w *window) at(x float32) float32 {
	if x <= -1 || x >= float32(len(w.table)) {
		return 0
	}
	i := int(x+1) - 1
	d := x - float32(i)
	var a, b float32
	if i >= 0 {
		a = w.table[i]
	}
	if i+1 < len(w.table) {
		b = w.table[i+1]
	}
	return a + float32(d*(b-a))
}

// ceil returns the smallest integer that is not below x.
func ceil(x float32) int {
	n := int(x)
	if float32(n) < x {
		n++
	}
	return n
}

// grow returns a slice of n elements that reuses the memory of s where it suffices. The contents are not defined.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}
