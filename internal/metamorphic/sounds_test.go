package metamorphic

import (
	"encoding/binary"

	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/ops/audio"
)

// sound adds operators on a sound file, which follows from a value.
func (b *builder) sound() {
	salt := b.d.Uint64()
	file := ops.Func(b.g, ops.FuncOptions{Name: "file", Outputs: []datum.Spec{{DType: datum.Uint8, Shape: []int{-1}}}}, func(_ *datum.Sample, in, out []*datum.Tensor) error {
		h := digest(salt, in)
		frames, channels := int(h%600)+80, int(h>>32%2)+1
		mem, err := out[0].Resize(44 + 2*frames*channels)
		if err != nil {
			return err
		}
		wavHeader(mem[:0], frames, channels)
		scatter(mem[44:], datum.Uint8, h)
		return nil
	}, b.any())[0]
	o := audio.DecodeOptions{Mono: true}
	if b.d.oneIn(2) {
		o.SampleRate = b.uniform(6000, 12000)
	}
	signal, rate := audio.Decode(b.g, file, o)
	b.values = append(b.values, signal, rate)
	switch b.d.IntN(3) {
	case 0:
		v := audio.Preemphasis(b.g, signal, audio.PreemphasisOptions{Coefficient: b.uniform(0, 1)})
		v = audio.Spectrogram(b.g, v, audio.SpectrogramOptions{WindowLength: 48, WindowStep: b.d.between(16, 48), NFFT: 64})
		v = audio.ToDecibels(b.g, audio.MelFilterBank(b.g, v, audio.MelOptions{Filters: 8, SampleRate: 8000}), audio.DecibelOptions{})
		b.values = append(b.values, v, audio.MFCC(b.g, v, audio.MFCCOptions{Coefficients: 5, Lifter: 3}))
	case 1:
		begin, length := audio.NonsilentRegion(b.g, signal, audio.SilenceOptions{WindowLength: 20})
		b.values = append(b.values, ops.Slice(b.g, signal, ops.SliceOptions{Start: begin, Shape: length, Outside: ops.BeyondTrim}))
	case 2:
		b.values = append(b.values, audio.Resample(b.g, signal, audio.ResampleOptions{Scale: b.uniform(0.4, 2.5)}))
	}
}

// wavHeader appends the header of a WAV file of 16 bits at 8 kHz.
func wavHeader(b []byte, frames, channels int) {
	le, n := binary.LittleEndian, uint32(2*frames*channels)
	b = le.AppendUint32(append(b, "RIFF"...), 36+n)
	b = le.AppendUint32(append(b, "WAVEfmt "...), 16)
	b = le.AppendUint16(le.AppendUint16(b, 1), uint16(channels))
	b = le.AppendUint32(le.AppendUint32(b, 8000), uint32(16000*channels))
	b = le.AppendUint16(le.AppendUint16(b, uint16(2*channels)), 16)
	le.AppendUint32(append(b, "data"...), n)
}
