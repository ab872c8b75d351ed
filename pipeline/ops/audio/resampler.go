package audio

import "math"

// resampler computes signals at other times by a sinc with a Hann window. The window is a
// function of the quality, and reaches as far when a signal is slowed down as when it is
// quickened: frequencies that the new rate cannot show are folded, as by NVIDIA DALI.
type resampler struct {
	lobes  int
	table  []float32 // 64 values per lobe, from −lobes to lobes, and zeros behind them
	middle float64
}

const perLobe = 64

// newResampler makes one for a quality of 0 (3 lobes) … 50 (16) … 100 (64).
func newResampler(quality float64) *resampler {
	lobes := int(math.Round(0.007*quality*quality - 0.09*quality + 3))
	n := lobes*perLobe + 1
	r := &resampler{lobes: lobes, table: make([]float32, n+5)}
	center := (n - 1) / 2
	r.middle = float64(center + 1)
	for i := range n {
		x := float64(i-center) * 2 * float64(lobes) / float64(n-1)
		y := float64(i-center) * 2 / float64(n)
		w := 0.5 * (1 + math.Cos(y*math.Pi))
		if x != 0 {
			w *= math.Sin(x*math.Pi) / (x * math.Pi)
		}
		r.table[i+1] = float32(w)
	}
	return r
}

// scaled returns how many samples a signal of n has after its rate was multiplied.
func scaled(n int, by float64) int { return int(math.Ceil(float64(n) * by)) }

// resample writes a signal of interleaved channels, at the given number of its samples for one
// of dst, to dst.
func (r *resampler) resample(dst, src []float32, channels int, step float64) {
	n := len(src) / channels
	scale := float64(len(r.table)-6) / (2 * float64(r.lobes))
	for o := range len(dst) / channels {
		at := float64(o) * step
		c := int(math.Ceil(at))
		first, last := max(c-r.lobes, 0), min(c+r.lobes, n)
		out := dst[o*channels:][:channels]
		clear(out)
		for i := first; i < last; i++ {
			f := float64(float64(i)-at)*scale + r.middle
			t := int(math.Floor(f))
			d := float32(f - float64(t))
			w := r.table[t] + float32(d*(r.table[t+1]-r.table[t]))
			for j := range out {
				out[j] += float32(w * src[i*channels+j])
			}
		}
	}
}
