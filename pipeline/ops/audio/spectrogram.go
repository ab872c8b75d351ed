package audio

import (
	"errors"
	"fmt"
	"math"

	"github.com/planktonml/plankton/internal/arrays"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// SpectrogramOptions configures Spectrogram. Lengths are in samples.
type SpectrogramOptions struct {
	WindowLength int          // of the pieces that are transformed; default 512
	WindowStep   int          // from one piece to the next; default 256
	NFFT         int          // length of the transform, of which there are NFFT/2+1 frequencies; default WindowLength
	Window       []float64    // what pieces are multiplied by; default a Hann window
	Amplitude    bool         // magnitudes; default their squares
	Layout       datum.Layout // "ft" (default) or "tf"

	// NotCentered begins the first piece with the signal and ends with the last one that fits;
	// default pieces whose middles are the multiples of WindowStep, with the signal mirrored
	// beyond its ends.
	NotCentered bool
	ZeroPadding bool // beyond its ends the signal is 0 instead
}

// Spectrogram is the power of a signal of one channel, float32, by frequency and time: the short
// time Fourier transform. A signal of no samples is its sample's error.
func Spectrogram(g *pipeline.Graph, v pipeline.Value, o SpectrogramOptions) pipeline.Value {
	const name = "spectrogram"
	s := signal(g, name, v)
	o.defaults()
	g.Fail(name, o.check(s))
	if g.Err() != nil {
		return pipeline.Value{}
	}
	bins, pieces := o.NFFT/2+1, -1
	if s.Dense() {
		n := 1
		for _, d := range s.Shape {
			n *= d
		}
		pieces = o.pieces(n)
	}
	out := datum.Spec{DType: datum.Float32, Layout: o.Layout, Shape: []int{bins, pieces}}
	if o.Layout == "tf" {
		out.Shape = []int{pieces, bins}
	}
	return g.Add(pipeline.Op{
		Name: name, Inputs: []pipeline.Value{v}, Outputs: []datum.Spec{out}, Expensive: true, Config: fmt.Sprintf("%+v", o),
		New: func() (datum.Kernel, error) {
			k := &spectrogram{o: o, window: make([]float64, o.WindowLength), plan: newRealFFT(o.NFFT), x: make([]float64, o.NFFT)}
			for i := range k.window {
				if k.window[i] = 0.5 * (1 - math.Cos(2*math.Pi*(float64(i)+0.5)/float64(o.WindowLength))); o.Window != nil {
					k.window[i] = o.Window[i]
				}
			}
			return k, nil
		},
	})[0]
}

func (o *SpectrogramOptions) defaults() {
	if o.WindowLength == 0 {
		o.WindowLength = 512
	}
	if o.WindowStep == 0 {
		o.WindowStep = 256
	}
	if o.NFFT == 0 {
		o.NFFT = o.WindowLength
	}
	if o.Layout == "" {
		o.Layout = "ft"
	}
}

func (o *SpectrogramOptions) check(s datum.Spec) error {
	switch {
	case s.DType != datum.Float32:
		return fmt.Errorf("the input is %s; float32 is wanted: decode to it, or cast and scale", s)
	case o.WindowLength < 1 || o.WindowStep < 1:
		return fmt.Errorf("WindowLength is %d and WindowStep %d; they must be positive", o.WindowLength, o.WindowStep)
	case o.NFFT < o.WindowLength:
		return fmt.Errorf("NFFT is %d, less than WindowLength, %d; make it as large at least", o.NFFT, o.WindowLength)
	case o.Window != nil && len(o.Window) != o.WindowLength:
		return fmt.Errorf("Window has %d numbers; WindowLength, %d, are wanted", len(o.Window), o.WindowLength)
	case o.Layout != "ft" && o.Layout != "tf":
		return fmt.Errorf("Layout is %q; ft or tf is wanted", o.Layout)
	case o.NFFT > 1<<24:
		return errors.New("NFFT is above 2²⁴")
	}
	return nil
}

// pieces returns how many pieces a signal of n samples has.
func (o *SpectrogramOptions) pieces(n int) int {
	if !o.NotCentered {
		return n/o.WindowStep + 1
	}
	return max(n-o.WindowLength, 0)/o.WindowStep + 1
}

type spectrogram struct {
	o      SpectrogramOptions
	window []float64
	plan   *realFFT
	x      []float64 // a piece, with zeros behind it
}

func (k *spectrogram) Run(c *datum.Sample, in, out []*datum.Tensor) error {
	if err := mono(in[0]); err != nil {
		return err
	}
	signal := in[0].Float32s()
	pieces, bins := k.o.pieces(len(signal)), k.o.NFFT/2+1
	shape := [2]int{bins, pieces}
	bin, piece := pieces, 1 // steps in the output
	if k.o.Layout == "tf" {
		shape, bin, piece = [2]int{pieces, bins}, 1, bins
	}
	if _, err := out[0].Resize(shape[:]...); err != nil {
		return err
	}
	out[0].SetLayout(k.o.Layout)
	dst := out[0].Float32s()
	for p := range pieces {
		if p%64 == 0 && c.Context().Err() != nil {
			return c.Context().Err()
		}
		k.cut(signal, p)
		re, im := k.plan.transform(k.x)
		for b := range re {
			x := float64(re[b]*re[b]) + float64(im[b]*im[b])
			if k.o.Amplitude {
				x = math.Sqrt(x)
			}
			dst[b*bin+p*piece] = float32(x)
		}
	}
	return nil
}

// cut sets x to piece p of the signal, times the window.
func (k *spectrogram) cut(signal []float32, p int) {
	first := p * k.o.WindowStep
	if !k.o.NotCentered {
		first -= k.o.WindowLength / 2
	}
	for i, w := range k.window {
		at := first + i
		switch {
		case uint(at) < uint(len(signal)):
		case k.o.NotCentered || k.o.ZeroPadding:
			k.x[i] = 0
			continue
		default:
			at = arrays.Reflect101.At(at, len(signal))
		}
		k.x[i] = w * float64(signal[at])
	}
}
