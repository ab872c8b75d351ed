package audio_test

import (
	"encoding/binary"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/flac"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/ops/audio"
	"github.com/planktonml/plankton/pipeline/readers"
)

// A FLAC file is decoded as the WAV file of the same sound, under all options.
func TestFLACIsDecodedAsWAV(t *testing.T) {
	file, err := os.ReadFile("../../../internal/flac/testdata/stereo.flac")
	require.NoError(t, err)
	var d flac.Decoder
	info, err := d.Open(file)
	require.NoError(t, err)
	samples, err := d.Decode(nil, 1<<30, nil)
	require.NoError(t, err)
	short := make([]int16, len(samples))
	for i, x := range samples {
		short[i] = int16(x >> 16)
	}
	same := wav(info.Rate, info.Channels, short...)
	for _, o := range []audio.DecodeOptions{{}, {Mono: true}, {DType: datum.Int16}, {DType: datum.Int32, Mono: true}} {
		got, err := run(t, readers.Ragged([][]byte{file}), decode(o))
		require.NoError(t, err)
		want, err := run(t, readers.Ragged([][]byte{same}), decode(o))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	resampled := func(file []byte) []result {
		got, err := run(t, readers.Ragged([][]byte{file}), func(g *pipeline.Graph, v pipeline.Value) []pipeline.Value {
			signal, rate := audio.Decode(g, v, audio.DecodeOptions{SampleRate: ops.Constant(g, 16000)})
			return []pipeline.Value{signal, rate}
		})
		require.NoError(t, err)
		return got
	}
	require.Equal(t, resampled(same), resampled(file))

	_, err = run(t, readers.Ragged([][]byte{file[:len(file)-9]}), decode(audio.DecodeOptions{}))
	require.ErrorContains(t, err, "readers.Slices[0]: decoders.audio: the FLAC file is damaged")
}

// A program's decoder is asked first, and what it does wrong is the sample's error.
func TestFormats(t *testing.T) {
	raw := audio.Format{Name: "raw", Magic: "RAW?", Decode: func(file []byte) (audio.Sound, error) {
		switch file[3] {
		case 'e':
			return audio.Sound{}, errors.New("no header")
		case 'p':
			panic("index out of range")
		case 'c':
			return audio.Sound{Samples: []float32{1}, Channels: 2, Rate: 1}, nil
		}
		s := audio.Sound{Channels: 2, Rate: 8000}
		for b := file[4:]; len(b) > 0; b = b[2:] {
			s.Samples = append(s.Samples, float32(int16(binary.LittleEndian.Uint16(b)))/(1<<15))
		}
		return s, nil
	}}
	same := wav(8000, 2, 0, 16384, -32768, 32767, 8, -8)
	file := append([]byte("RAW1"), same[len(same)-12:]...)
	for _, o := range []audio.DecodeOptions{{}, {Mono: true}} {
		want, err := run(t, readers.Ragged([][]byte{same}), decode(o))
		require.NoError(t, err)
		o.Formats = []audio.Format{raw}
		got, err := run(t, readers.Ragged([][]byte{file}), decode(o))
		require.NoError(t, err)
		require.Equal(t, want, got)
		again, err := run(t, readers.Ragged([][]byte{same}), decode(o))
		require.NoError(t, err)
		require.Equal(t, want, again, "other files are decoded as without")
	}
	for want, file := range map[string]string{
		"raw file: no header":                                                        "RAWe",
		"raw file: the decoder panicked":                                             "RAWp",
		"raw file: the decoder gave 1 samples of 2 channels at 1 Hz":                 "RAWc",
		"a raw file of 0 samples; leave such files out":                              "RAW1",
		"neither a WAV nor a FLAC file: it is an Ogg file; convert it, or give a de": "OggS\x00",
		"neither a WAV nor a FLAC file: it is an MP3 file":                           "\xff\xfb\x90",
		`neither a WAV nor a FLAC file: it begins with "hello"`:                      "hello",
	} {
		_, err := run(t, readers.Ragged([][]byte{[]byte(file)}), decode(audio.DecodeOptions{Formats: []audio.Format{raw}}))
		require.ErrorContains(t, err, "readers.Slices[0]: decoders.audio: "+want)
	}
	_, err := pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged([][]byte{same}))[0]
		signal, _ := audio.Decode(g, v, audio.DecodeOptions{Formats: []audio.Format{{Name: "raw"}}})
		g.Output("signal", signal)
	})
	require.ErrorContains(t, err, `the format "raw" lacks`)
}
