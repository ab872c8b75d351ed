package main

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/ops/audio"
	"github.com/planktonml/plankton/pipeline/readers"
)

const (
	rate   = 8000
	bands  = 24 // of the mel spectrogram
	length = 32 // its steps in time, of the longest sound
	floor  = 60 // dB below the loudest place, where a spectrogram ends
	batch  = 40
)

// The classes.
const (
	steady = iota
	rising
	falling
	noisy
	classes
)

// sounds are WAV files and their classes.
type sounds struct {
	files  [][]byte
	labels []int32
}

// newSounds makes n sounds of random pitch, loudness and length, the same ones for a seed.
func newSounds(seed uint64, n int) (s sounds) {
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range n {
		class := i % classes
		s.files = append(s.files, wav(sound(random, class)))
		s.labels = append(s.labels, int32(class))
	}
	return s
}

// sound returns 0.2 to 0.5 s of one class.
func sound(random *rand.Rand, class int) []int16 {
	samples := make([]int16, rate/5+random.IntN(rate*3/10))
	from, to := 300+700*random.Float64(), 300+700*random.Float64()
	switch class {
	case steady:
		to = from
	case rising:
		to = from * (1.6 + random.Float64())
	case falling:
		from = to * (1.6 + random.Float64())
	}
	loud, hiss, phase := 3000+12000*random.Float64(), 0.1*random.Float64(), 0.0
	if class == noisy {
		loud, hiss = loud/3, 1
	}
	for i := range samples {
		pitch := from + (to-from)*float64(i)/float64(len(samples))
		phase += 2 * math.Pi * pitch / rate
		x := hiss * random.NormFloat64()
		if class != noisy {
			x += math.Sin(phase)
		}
		samples[i] = int16(max(-32768, min(loud*x, 32767)))
	}
	return samples
}

// wav returns a file of one channel with 16 bits.
func wav(samples []int16) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32([]byte("RIFF"), uint32(36+2*len(samples)))
	b = append(b, "WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00"...)
	b = le.AppendUint32(le.AppendUint32(b, rate), 2*rate)
	b = append(b, "\x02\x00\x10\x00data"...)
	b = le.AppendUint32(b, uint32(2*len(samples)))
	for _, x := range samples {
		b = le.AppendUint16(b, uint16(x))
	}
	return b
}

// open makes a loader of "sound", float32 32×24, time before mel bands, from −1 at the floor
// to 0 at the loudest place, and "label", a one-hot vector. To train with, noise is added.
func (s sounds) open(train bool) (*iterator.Loader, error) {
	p, err := pipeline.New(pipeline.Options{BatchSize: batch, Seed: 1}, func(g *pipeline.Graph) {
		columns := readers.Slices(g, readers.SlicesOptions{Shuffle: train}, readers.Ragged(s.files), readers.Rows(s.labels).WithClasses(classes))
		v, _ := audio.Decode(g, columns[0], audio.DecodeOptions{Mono: true})
		if train {
			hiss := ops.NormalOptions{DrawOptions: ops.DrawOptions{Like: v}, StdDev: ops.Uniform(g, 0, 0.02)}
			v = ops.Add(g, v, ops.Normal(g, hiss))
		}
		v = audio.Spectrogram(g, v, audio.SpectrogramOptions{WindowLength: 256, WindowStep: 128, Layout: "tf"})
		v = audio.MelFilterBank(g, v, audio.MelOptions{Filters: bands, SampleRate: rate})
		cutoff := -float64(floor)
		v = audio.ToDecibels(g, v, audio.DecibelOptions{CutoffDB: &cutoff})
		v, _, _ = ops.PadSequence(g, v, ops.PadSequenceOptions{Length: length, Fill: -floor})
		g.Output("sound", ops.Div(g, v, ops.Constants(g, datum.Float32, floor)))
		g.Output("label", ops.OneHot(g, columns[1], ops.OneHotOptions{}))
	})
	if err != nil {
		return nil, err
	}
	return iterator.New(iterator.Options{}, p)
}
