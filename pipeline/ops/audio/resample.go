package audio

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
)

// ResampleOptions configures Resample. The new rate is given in one of three ways.
type ResampleOptions struct {
	InRate, OutRate pipeline.Value // of the input and of the result, in the same unit
	Scale           pipeline.Value // OutRate / InRate
	Length          pipeline.Value // samples of the result

	Quality *float64    // 0 … 100, for 3 … 64 lobes of the sinc; nil is 50, 16 lobes
	DType   datum.DType // default that of the input; ranges are converted
}

// Resample changes the rate of a signal, of shape N or N×C: DALI's audio_resample. The result
// has ⌈N · OutRate / InRate⌉ samples. It is not low-pass filtered: remove what the new rate
// cannot show before, where there may be such.
func Resample(g *pipeline.Graph, v pipeline.Value, o ResampleOptions) pipeline.Value {
	const name = "audio_resample"
	s := v.Spec()
	if o.DType == 0 {
		o.DType = s.DType
	}
	quality := 50.0
	if o.Quality != nil {
		quality = *o.Quality
	}
	ways := 0
	for _, set := range []bool{o.InRate.Set() || o.OutRate.Set(), o.Scale.Set(), o.Length.Set()} {
		if set {
			ways++
		}
	}
	switch {
	case !v.Set():
		g.Fail(name, errors.New("the signal is missing"))
	case len(s.Shape) < 1 || len(s.Shape) > 2 || !isSample(s.DType):
		g.Fail(name, fmt.Errorf("the input is %s; a signal N or N×C of integers or float32 is wanted", s))
	case !isSample(o.DType):
		g.Fail(name, fmt.Errorf("DType is %v; integers or float32 are wanted", o.DType))
	case ways != 1 || o.InRate.Set() != o.OutRate.Set():
		g.Fail(name, errors.New("give InRate and OutRate, or Scale, or Length, and no two of these"))
	case !(quality >= 0 && quality <= 100):
		g.Fail(name, fmt.Errorf("Quality is %g; 0 … 100 is wanted", quality))
	}
	if g.Err() != nil {
		return pipeline.Value{}
	}
	a := ops.NewArgs(g, name, v)
	k := resample{
		in: a.Number("InRate", o.InRate, 1), out: a.Number("OutRate", o.OutRate, 1), scale: a.Number("Scale", o.Scale, 1),
		length: a.Number("Length", o.Length, -1), to: o.DType,
	}
	out := datum.Spec{DType: o.DType, Layout: s.Layout, Shape: slices.Clone(s.Shape)}
	out.Shape[0] = -1
	return g.Add(pipeline.Op{
		Name: name, Inputs: a.Inputs(), Outputs: []datum.Spec{out}, Expensive: true, Config: fmt.Sprintf("%+v %g", k, quality),
		New: func() (datum.Kernel, error) { k := k; k.work = newResampler(quality); return &k, nil },
	})[0]
}

type resample struct {
	in, out, scale, length ops.Number
	to                     datum.DType
	work                   *resampler
	src, dst               []float32
}

// mostSamples is the length above which a result is taken for a mistake.
const mostSamples = 1 << 31

// mostOf returns how many numbers may be made of n bytes of a file, or of n of its numbers: some 270
// million, 1 GiB, and more only where the file is large itself. A block of silence takes a few
// bytes, and a header can say that there is one sample in a second, so that a small file could be
// of any length.
func mostOf(n int) int { return int(min(mostSamples, max(1<<28, 16*int64(n)))) }

// holder is a kernel that keeps memory from sample to sample.
type holder interface {
	datum.Releaser
	reserved() int64
}

// numbers returns buf, which k keeps, or a larger one, with n numbers. It asks before it allocates.
func numbers[E float32 | float64](s *datum.Sample, k holder, buf []E, n int) ([]E, error) {
	if cap(buf) < n {
		if err := s.Reserve(k.reserved() + int64(n)*int64(unsafe.Sizeof(E(0)))); err != nil {
			return buf, err
		}
		buf = make([]E, n)
	}
	return buf[:n], nil
}

// lengthOf returns the samples of the result, and of the input for one of them.
func (k *resample) lengthOf(in []*datum.Tensor, n int) (m int, step float64, err error) {
	get := func(a ops.Number) float64 {
		x, wrong := a.Of(in)
		if err == nil {
			err = wrong
		}
		return x
	}
	from, to, scale, length := get(k.in), get(k.out), get(k.scale), get(k.length)
	switch {
	case err != nil:
		return 0, 0, err
	case length >= 0:
		if m = int(length); float64(m) != length || m > mostSamples {
			return 0, 0, fmt.Errorf("Length is %g; a number of samples is wanted", length)
		}
		return m, float64(n) / max(length, 1), nil
	case !(from > 0 && to >= 0 && scale >= 0) || math.IsInf(to*scale/from, 0):
		return 0, 0, fmt.Errorf("the rates are %g and %g and the scale %g; they must be positive", from, to, scale)
	}
	by := float64(float32(scale)) * to / from
	if !(float64(n)*by <= mostSamples) {
		return 0, 0, fmt.Errorf("%d samples become %g; 2³¹ are possible", n, float64(n)*by)
	}
	return scaled(n, by), 1 / max(by, math.SmallestNonzeroFloat32), nil
}

// Release gives up what the kernel keeps from sample to sample.
func (k *resample) Release() { k.src, k.dst = nil, nil }

func (k *resample) reserved() int64 { return 4 * int64(cap(k.src)+cap(k.dst)) }

func (k *resample) Run(s *datum.Sample, in, out []*datum.Tensor) error {
	if err := s.Reserve(k.reserved()); err != nil {
		return err
	}
	shape, channels := in[0].Shape(), 1
	if len(shape) == 2 {
		channels = shape[1]
	}
	n := shape[0]
	m, step, err := k.lengthOf(in, n)
	if err != nil {
		return err
	}
	both := [2]int{m, channels}
	dst, err := out[0].Resize(both[:len(shape)]...)
	if err != nil {
		return err
	}
	out[0].SetLayout(in[0].Layout())
	if k.src, err = numbers(s, k, k.src, n*channels); err != nil {
		return err
	}
	if err := toFloat(k.src, in[0].Bytes(), in[0].DType()); err != nil {
		return err
	}
	if k.dst, err = numbers(s, k, k.dst, m*channels); err != nil {
		return err
	}
	if len(k.dst) > 0 {
		k.work.resample(k.dst, k.src, channels, step)
	}
	return fromFloat(dst, k.to, k.dst)
}
