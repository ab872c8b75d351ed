package audio_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/ops/audio"
	"github.com/planktonml/plankton/pipeline/readers"
)

// result is a sample of an output.
type result struct {
	dtype datum.DType
	shape []int
	bytes []byte
}

func (r result) float32s() []float32 { return datum.View[float32](r.bytes) }

// run makes the first sample of a pipeline over one column.
func run(t *testing.T, column readers.Column, define func(g *pipeline.Graph, v pipeline.Value) []pipeline.Value) (got []result, err error) {
	t.Helper()
	names := []string{"a", "b"}
	p, err := pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
		for i, v := range define(g, readers.Slices(g, readers.SlicesOptions{}, column)[0]) {
			g.Output(names[i], v)
		}
	})
	if err != nil {
		return nil, err
	}
	l, err := iterator.New(iterator.Options{}, p)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	for b, err := range l.Epoch(t.Context()) {
		if err != nil {
			return nil, err
		}
		for _, name := range p.Outputs() {
			x := b.Sample(name, 0)
			got = append(got, result{x.DType(), append([]int{}, x.Shape()...), append([]byte{}, x.Bytes()...)})
		}
	}
	return got, nil
}

// wav is a WAV file of 16 bits.
func wav(rate, channels int, samples ...int16) []byte {
	var b []byte
	le := binary.LittleEndian
	b = append(b, "RIFF"...)
	b = le.AppendUint32(b, uint32(36+2*len(samples)))
	b = append(b, "WAVEfmt \x10\x00\x00\x00\x01\x00"...)
	b = le.AppendUint16(b, uint16(channels))
	b = le.AppendUint32(b, uint32(rate))
	b = le.AppendUint32(b, uint32(2*rate*channels))
	b = le.AppendUint16(b, uint16(2*channels))
	b = append(b, "\x10\x00LIST\x03\x00\x00\x00abc\x00data"...)
	b = le.AppendUint32(b, uint32(2*len(samples)))
	for _, s := range samples {
		b = le.AppendUint16(b, uint16(s))
	}
	return b
}

func decode(o audio.DecodeOptions) func(g *pipeline.Graph, v pipeline.Value) []pipeline.Value {
	return func(g *pipeline.Graph, v pipeline.Value) []pipeline.Value {
		signal, rate := audio.Decode(g, v, o)
		return []pipeline.Value{signal, rate}
	}
}

func TestDecode(t *testing.T) {
	file := readers.Ragged([][]byte{wav(8000, 2, 0, 16384, -32768, 32767, 8, -8)})
	for _, c := range []struct {
		o     audio.DecodeOptions
		dtype datum.DType
		shape []int
		want  any
	}{
		{audio.DecodeOptions{}, datum.Float32, []int{3, 2}, []float32{0, 0.5, -1, 32767. / 32768, 1. / 4096, -1. / 4096}},
		{audio.DecodeOptions{Mono: true}, datum.Float32, []int{3}, []float32{0.25, -1. / 65536, 0}},
		{audio.DecodeOptions{DType: datum.Int16}, datum.Int16, []int{3, 2}, []int16{0, 16384, -32768, 32767, 8, -8}},
		{audio.DecodeOptions{DType: datum.Int32}, datum.Int32, []int{3, 2}, []int32{0, 1 << 30, -1 << 31, 32767 << 16, 8 << 16, -8 << 16}},
	} {
		got, err := run(t, file, decode(c.o))
		require.NoError(t, err)
		require.Equal(t, c.dtype, got[0].dtype)
		require.Equal(t, c.shape, got[0].shape)
		var want []byte
		switch x := c.want.(type) {
		case []float32:
			want = datum.BytesOf(x)
		case []int16:
			want = datum.BytesOf(x)
		case []int32:
			want = datum.BytesOf(x)
		}
		require.Equal(t, want, got[0].bytes)
		require.Equal(t, []float32{8000}, got[1].float32s())
	}
	got, err := run(t, file, func(g *pipeline.Graph, v pipeline.Value) []pipeline.Value {
		signal, rate := audio.Decode(g, v, audio.DecodeOptions{SampleRate: ops.Constant(g, 16000)})
		return []pipeline.Value{signal, rate}
	})
	require.NoError(t, err)
	require.Equal(t, []int{6, 2}, got[0].shape)
	require.Equal(t, []float32{16000}, got[1].float32s())
}

// What cannot be decoded is one line that names the sample and what to do.
func TestDecodeErrors(t *testing.T) {
	good := wav(8000, 1, 1, 2, 3)
	for want, file := range map[string][]byte{
		"a WAV file of 0 samples; leave such files out, or set OnError":   wav(8000, 1),
		"the WAV file is cut short: 5 of 6 bytes of data; fetch it again": good[:len(good)-1],
		`neither a WAV nor a FLAC file: it begins with "RIFF1234"`:        []byte("RIFF1234WAVX"),
		"a WAV file without data":                                         good[:40],
		"the WAV file ends within its format; fetch it again":             good[:30],
		"a WAV file of 0 channels at 8000 Hz":                             wav(8000, 0),
	} {
		_, err := run(t, readers.Ragged([][]byte{file}), decode(audio.DecodeOptions{}))
		require.ErrorContains(t, err, "readers.Slices[0]: decoders.audio: "+want)
	}
}

// A tone is one line of its spectrogram, and of its mel spectrogram the filter around it.
func TestATone(t *testing.T) {
	const rate, n, nfft = 8000, 4000, 400
	tone := make([]float32, n)
	for i := range tone {
		tone[i] = float32(math.Sin(2 * math.Pi * 1000 * float64(i) / rate))
	}
	for _, layout := range []datum.Layout{"ft", "tf"} {
		got, err := run(t, readers.Rows(tone, n), func(g *pipeline.Graph, v pipeline.Value) []pipeline.Value {
			s := audio.Spectrogram(g, v, audio.SpectrogramOptions{WindowLength: nfft, WindowStep: 100, Layout: layout})
			return []pipeline.Value{s, audio.MelFilterBank(g, s, audio.MelOptions{Filters: 20, SampleRate: rate})}
		})
		require.NoError(t, err)
		bins, pieces := nfft/2+1, n/100+1
		at := func(r result, rows, f, p int) float32 {
			if layout == "tf" {
				return r.float32s()[p*rows+f]
			}
			return r.float32s()[f*pieces+p]
		}
		most := func(r result, rows int) (best int) {
			for f := range rows {
				if at(r, rows, f, pieces/2) > at(r, rows, best, pieces/2) {
					best = f
				}
			}
			return best
		}
		require.Equal(t, 1000*nfft/rate, most(got[0], bins))
		require.InDelta(t, 100*100, at(got[0], bins, 50, pieces/2), 1, "half the window's sum, squared")
		require.Equal(t, 8, most(got[1], 20), "15 of 35.2 mels, in 21 steps: the ninth filter has its peak at 15.1")
	}
}

func TestSilence(t *testing.T) {
	signal := make([]float32, 100)
	for i := 30; i < 60; i++ {
		signal[i] = 0.5
	}
	got, err := run(t, readers.Rows(signal, 100), func(g *pipeline.Graph, v pipeline.Value) []pipeline.Value {
		begin, length := audio.NonsilentRegion(g, v, audio.SilenceOptions{WindowLength: 4})
		return []pipeline.Value{begin, length}
	})
	require.NoError(t, err)
	require.Equal(t, []int32{27}, datum.View[int32](got[0].bytes))
	require.Equal(t, []int32{36}, datum.View[int32](got[1].bytes))
}

func TestPreemphasisAndDecibels(t *testing.T) {
	one := func(data []float32, define func(g *pipeline.Graph, v pipeline.Value) pipeline.Value) []float32 {
		got, err := run(t, readers.Rows(data, len(data)), func(g *pipeline.Graph, v pipeline.Value) []pipeline.Value {
			return []pipeline.Value{define(g, v)}
		})
		require.NoError(t, err)
		return got[0].float32s()
	}
	for border, first := range map[audio.Border]float32{audio.BorderClamp: 0.5, audio.BorderZero: 1, audio.BorderReflect: 0} {
		got := one([]float32{1, 2, 4}, func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			return audio.Preemphasis(g, v, audio.PreemphasisOptions{Coefficient: ops.Constant(g, 0.5), Border: border})
		})
		require.Equal(t, []float32{first, 1.5, 3}, got)
	}
	cutoff := -20.0
	for _, c := range []struct {
		o    audio.DecibelOptions
		want []float32
	}{
		{audio.DecibelOptions{}, []float32{0, -10, -200}},
		{audio.DecibelOptions{Multiplier: 20, Reference: 1, CutoffDB: &cutoff}, []float32{20, 0, -20}},
	} {
		got := one([]float32{10, 1, 0}, func(g *pipeline.Graph, v pipeline.Value) pipeline.Value { return audio.ToDecibels(g, v, c.o) })
		require.InDeltaSlice(t, c.want, got, 1e-3)
	}
	constant := one([]float32{2, 2, 2, 2}, func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
		return audio.MFCC(g, v, audio.MFCCOptions{Orthonormal: true})
	})
	require.InDeltaSlice(t, []float32{4, 0, 0, 0}, constant, 1e-6, "an orthonormal transform keeps the length")
}

// A resampled file has the length and the rate that were asked for; types keep their range.
func TestResample(t *testing.T) {
	got, err := run(t, readers.Rows([]uint8{0, 128, 255}, 3), func(g *pipeline.Graph, v pipeline.Value) []pipeline.Value {
		return []pipeline.Value{
			audio.Resample(g, v, audio.ResampleOptions{Scale: ops.Constant(g, 1), DType: datum.Float32}),
			audio.Resample(g, v, audio.ResampleOptions{InRate: ops.Constant(g, 2), OutRate: ops.Constant(g, 3)}),
		}
	})
	require.NoError(t, err)
	require.InDeltaSlice(t, []float32{-1, 1. / 255, 1}, got[0].float32s(), 1e-6)
	require.Equal(t, []int{5}, got[1].shape)
	require.Equal(t, datum.Uint8, got[1].dtype)
}

func TestMistakes(t *testing.T) {
	quality := 101.0
	for want, define := range map[string]func(g *pipeline.Graph, v pipeline.Value) pipeline.Value{
		"spectrogram: NFFT is 8, less than WindowLength, 16; make it as large at least": func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			return audio.Spectrogram(g, v, audio.SpectrogramOptions{WindowLength: 16, NFFT: 8})
		},
		"mel_filter_bank: the range is 0 … 90000 Hz; one within 0 … 22050, half the sample rate, is wanted": func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			return audio.MelFilterBank(g, v, audio.MelOptions{High: 90000})
		},
		"mfcc: Type is 5; 1 … 4 are possible": func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			return audio.MFCC(g, v, audio.MFCCOptions{Type: 5})
		},
		"audio_resample: give InRate and OutRate, or Scale, or Length, and no two of these": func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			return audio.Resample(g, v, audio.ResampleOptions{InRate: ops.Constant(g, 1)})
		},
		"audio_resample: Quality is 101; 0 … 100 is wanted": func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			return audio.Resample(g, v, audio.ResampleOptions{Scale: ops.Constant(g, 1), Quality: &quality})
		},
		"decoders.audio: the input is float32 4; the bytes of a file are wanted": func(g *pipeline.Graph, v pipeline.Value) pipeline.Value {
			signal, _ := audio.Decode(g, v, audio.DecodeOptions{})
			return signal
		},
	} {
		_, err := run(t, readers.Rows([]float32{1, 2, 3, 4}, 4), func(g *pipeline.Graph, v pipeline.Value) []pipeline.Value {
			return []pipeline.Value{define(g, v)}
		})
		require.EqualError(t, err, "pipeline: "+want)
	}
}
