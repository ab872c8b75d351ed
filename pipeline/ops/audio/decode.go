package audio

import (
	"errors"
	"fmt"
	"math"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
)

// DecodeOptions configures Decode.
type DecodeOptions struct {
	Mono       bool           // the mean of the channels; default all of them
	SampleRate pipeline.Value // in Hz, to which signals are brought; default that of the file
	DType      datum.DType    // Float32 (default, −1 … 1), Int16 or Int32

	// Quality of the resampling, 0 … 100; nil is 50. See ResampleOptions.
	Quality *float64

	// Formats are decoders of the program's own. They are asked before those that are there.
	Formats []Format
}

// Decode decodes sound files, given by their bytes, such as a reader of files yields: WAV and
// FLAC, and what DecodeOptions.Formats decodes; what the bytes are decides, not the file's name. The
// signal is samples × channels, or of one dimension for Mono; rate is its sampling rate in Hz,
// float32. A file of 0 samples is an error, as one that is cut short.
func Decode(g *pipeline.Graph, file pipeline.Value, o DecodeOptions) (signal, rate pipeline.Value) {
	const name = "decoders.audio"
	s := file.Spec()
	if o.DType == 0 {
		o.DType = datum.Float32
	}
	quality := 50.0
	if o.Quality != nil {
		quality = *o.Quality
	}
	switch {
	case !file.Set():
		g.Fail(name, errors.New("the file is missing"))
	case s.DType != datum.Uint8 || len(s.Shape) != 1:
		g.Fail(name, fmt.Errorf("the input is %s; the bytes of a file are wanted", s))
	case o.DType != datum.Float32 && o.DType != datum.Int16 && o.DType != datum.Int32:
		g.Fail(name, fmt.Errorf("DType is %v; float32, int16 or int32 is wanted", o.DType))
	case !(quality >= 0 && quality <= 100):
		g.Fail(name, fmt.Errorf("Quality is %g; 0 … 100 is wanted", quality))
	default:
		g.Fail(name, checkFormats(o.Formats))
	}
	a := ops.NewArgs(g, name, file)
	k := decoder{rate: a.Number("SampleRate", o.SampleRate, 0), mono: o.Mono, to: o.DType, formats: o.Formats}
	config := fmt.Sprintf("rate=%+v mono=%t %v quality=%g", k.rate, k.mono, k.to, quality)
	for _, f := range o.Formats {
		config += fmt.Sprintf(" %q", f.Name+" "+f.Magic)
	}
	shape := []int{-1, -1}
	if o.Mono {
		shape = shape[:1]
	}
	vs := g.Add(pipeline.Op{
		Name: name, Inputs: a.Inputs(), Expensive: true, Config: config,
		Outputs: []datum.Spec{{DType: o.DType, Shape: shape}, {DType: datum.Float32}},
		New:     func() (datum.Kernel, error) { k := k; k.work = newResampler(quality); return &k, nil },
	})
	return vs[0], vs[1]
}

type decoder struct {
	rate    ops.Number
	mono    bool
	to      datum.DType
	formats []Format

	file     source
	work     *resampler
	src, dst []float32
}

// Release gives up what the decoder keeps from sample to sample.
func (k *decoder) Release() {
	k.file.release()
	k.src, k.dst = nil, nil
}

func (k *decoder) reserved() int64 {
	return k.file.reserved() + 4*int64(cap(k.src)) + 4*int64(cap(k.dst))
}

func (k *decoder) Run(s *datum.Sample, in, out []*datum.Tensor) error {
	if err := s.Reserve(k.reserved()); err != nil { // what was replaced for the last sample is gone
		return err
	}
	w := &k.file
	defer w.close()
	beside := k.reserved() - w.reserved()
	if err := w.open(in[0].Bytes(), k.formats, func(n int64) error { return s.Reserve(beside + n) }); err != nil {
		return err
	}
	rate, err := k.rate.Of(in)
	switch {
	case err != nil:
		return err
	case w.frames == 0:
		return fmt.Errorf("a %s file of 0 samples; leave such files out, or set OnError", w.format)
	case !(rate >= 0 && rate < math.MaxInt32):
		return fmt.Errorf("SampleRate is %g; a rate in Hz is wanted", rate)
	case rate == 0:
		rate = float64(w.rate)
	}
	channels := w.channels
	if k.mono {
		channels = 1
	}
	by := float64(float32(rate)) / float64(w.rate)
	if most := mostOf(w.frames * w.channels); float64(w.frames)*by*float64(channels) > float64(most) {
		return fmt.Errorf("%d samples at %d Hz become %.0f of %d channels at %g Hz; %d numbers are possible",
			w.frames, w.rate, float64(w.frames)*by, channels, rate, most)
	}
	frames := scaled(w.frames, by)
	shape := [2]int{frames, channels}
	dims := 2
	if k.mono {
		dims = 1
	}
	dst, err := out[0].Resize(shape[:dims]...)
	if err != nil {
		return err
	}
	if _, err := out[1].Resize(); err != nil {
		return err
	}
	out[1].Float32s()[0] = float32(rate)
	if by == 1 && channels == w.channels && w.integers() && k.to != datum.Float32 {
		k.copyIntegers(dst, w)
		return nil
	}
	if k.src, err = numbers(s, k, k.src, w.frames*channels); err != nil {
		return err
	}
	k.mix(w, channels)
	signal := k.src
	if by != 1 {
		if k.dst, err = numbers(s, k, k.dst, frames*channels); err != nil {
			return err
		}
		k.work.resample(k.dst, k.src, channels, 1/by)
		signal = k.dst
	}
	return fromFloat(dst, k.to, signal)
}

// copyIntegers writes integers as they are: of wider ones the highest bits.
func (k *decoder) copyIntegers(dst []byte, w *source) {
	if k.to == datum.Int32 {
		for i, d := 0, datum.View[int32](dst); i < len(d); i++ {
			d[i], _ = w.read(i)
		}
		return
	}
	for i, d := 0, datum.View[int16](dst); i < len(d); i++ {
		n, _ := w.read(i)
		d[i] = int16(n >> 16)
	}
}

// mix sets src to the signal, one channel being the mean of all.
func (k *decoder) mix(w *source, channels int) {
	each := w.channels / channels
	for i := range k.src {
		sum := 0.0
		for c := range each {
			x, f := w.read(i*each + c)
			sum += float64(x)/(1<<31) + f
		}
		k.src[i] = float32(sum / float64(each))
	}
}
