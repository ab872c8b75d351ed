package audio

import (
	"fmt"
	"math"
	"slices"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// MelOptions configures MelFilterBank. Frequencies are in Hz.
type MelOptions struct {
	Filters      int     // default 128
	SampleRate   float64 // of the signal; default 44100
	Low, High    float64 // the range of the filters; default 0 and SampleRate/2
	HTK          bool    // the scale of the Hidden Markov Toolkit, 2595·log₁₀(1 + f/700); default Slaney's
	Unnormalized bool    // filters have the peak 1; default the integral 1
}

// MelFilterBank makes the frequencies of a spectrogram, float32, bands of the mel scale. The
// frequencies are the layout's dimension f, or the last but one dimension. Slaney's scale is linear up to 1 kHz and
// logarithmic above ("Auditory Toolbox", 1998), as in librosa.
func MelFilterBank(g *pipeline.Graph, v pipeline.Value, o MelOptions) pipeline.Value {
	const name = "mel_filter_bank"
	s := float32Input(g, name, v)
	if o.Filters == 0 {
		o.Filters = 128
	}
	if o.SampleRate == 0 {
		o.SampleRate = 44100
	}
	if o.High == 0 {
		o.High = o.SampleRate / 2
	}
	switch {
	case o.Filters < 1 || o.Filters > 1<<20:
		g.Fail(name, fmt.Errorf("Filters is %d; it must be positive", o.Filters))
	case !(o.SampleRate > 0) || !(o.Low >= 0 && o.Low < o.High && o.High <= o.SampleRate/2):
		g.Fail(name, fmt.Errorf("the range is %g … %g Hz; one within 0 … %g, half the sample rate, is wanted", o.Low, o.High, o.SampleRate/2))
	}
	if g.Err() != nil {
		return pipeline.Value{}
	}
	axis := spectrumAxis(s)
	out := datum.Spec{DType: datum.Float32, Layout: s.Layout, Shape: slices.Clone(s.Shape)}
	out.Shape[axis] = o.Filters
	return g.Add(pipeline.Op{
		Name: name, Inputs: []pipeline.Value{v}, Outputs: []datum.Spec{out}, Config: fmt.Sprintf("%+v %d", o, axis),
		New: func() (datum.Kernel, error) { return &mel{o: o, axis: axis}, nil },
	})[0]
}

// toMel and toHertz are the scale and its inverse.
func (o *MelOptions) toMel(f float64) float64 {
	switch {
	case o.HTK:
		return 1127 * math.Log(1+f/700)
	case f < slaneyKnee:
		return f / slaneyStep
	}
	return slaneyKnee/slaneyStep + math.Log(f/slaneyKnee)/slaneyLog
}

func (o *MelOptions) toHertz(m float64) float64 {
	switch {
	case o.HTK:
		return 700 * (math.Exp(m/1127) - 1)
	case m < slaneyKnee/slaneyStep:
		return m * slaneyStep
	}
	return slaneyKnee * math.Exp((m-slaneyKnee/slaneyStep)*slaneyLog)
}

const slaneyKnee, slaneyStep = 1000, 200. / 3

var slaneyLog = math.Log(6.4) / 27

type mel struct {
	o    MelOptions
	axis int
	bins int // for which the following is

	interval []int     // by frequency: the filter that falls there, -1 before the first one; the next one rises; -2 outside
	down     []float64 // the weight of the falling one; the rising one has the rest
	norm     []float64 // by filter
	sums     []float64
}

// prepare sets what depends on the number of frequencies.
func (k *mel) prepare(bins int) {
	if k.bins == bins {
		return
	}
	o := &k.o
	k.bins = bins
	k.interval, k.down = make([]int, bins), make([]float64, bins)
	k.norm, k.sums = make([]float64, o.Filters), make([]float64, o.Filters)
	edges := make([]float64, o.Filters+2)
	lo, hi := o.toMel(o.Low), o.toMel(o.High)
	for i := range edges {
		edges[i] = o.toHertz(lo + (hi-lo)/float64(o.Filters+1)*float64(i))
	}
	edges[len(edges)-1] = o.High
	for i := range k.norm {
		if k.norm[i] = 1; !o.Unnormalized {
			k.norm[i] = 2 / (edges[i+2] - edges[i])
		}
	}
	step := o.SampleRate / float64(2*(bins-1))
	first, last := int(math.Ceil(o.Low/step)), min(int(math.Floor(o.High/step)), bins-1)
	for b := range k.interval {
		f := float64(b) * step
		k.interval[b] = -2
		for i := 0; b >= first && b <= last && i <= o.Filters; i++ {
			if f < edges[i+1] {
				k.interval[b], k.down[b] = i-1, (edges[i+1]-f)/(edges[i+1]-edges[i])
				break
			}
		}
	}
}

func (k *mel) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	outer, bins, inner := lines(in[0].Shape(), k.axis)
	if bins < 2 {
		return fmt.Errorf("a spectrum of %d frequencies; two at least are wanted", bins)
	}
	k.prepare(bins)
	var shape [datum.MaxDims]int
	dims := copy(shape[:], in[0].Shape())
	shape[k.axis] = k.o.Filters
	if _, err := out[0].Resize(shape[:dims]...); err != nil {
		return err
	}
	out[0].SetLayout(in[0].Layout())
	src, dst := in[0].Float32s(), out[0].Float32s()
	for o := range outer {
		for i := range inner {
			clear(k.sums)
			for b, at := range k.interval {
				x := float64(src[(o*bins+b)*inner+i])
				if at >= 0 {
					k.sums[at] += float64(k.down[b] * x)
				}
				if at >= -1 && at+1 < len(k.sums) {
					k.sums[at+1] += float64((1 - k.down[b]) * x)
				}
			}
			for m, x := range k.sums {
				dst[(o*len(k.sums)+m)*inner+i] = float32(x * k.norm[m])
			}
		}
	}
	return nil
}
