package main

import (
	"fmt"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops/audio"
)

var _ = applies(map[string]applyOp{
	"decoders.audio": func(g *pipeline.Graph, in []pipeline.Value, a *applyArgs) []pipeline.Value {
		if len(in) != 1 {
			a.fail(fmt.Errorf("%d inputs; one is wanted", len(in)))
			return nil
		}
		o := audio.DecodeOptions{Mono: a.yes("downmix", false), SampleRate: a.value("sample_rate"), DType: a.dtype(), Quality: a.maybe("quality")}
		signal, rate := audio.Decode(g, in[0], o)
		return []pipeline.Value{signal, rate}
	},
	"preemphasis_filter": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		return audio.Preemphasis(g, v, audio.PreemphasisOptions{
			Coefficient: a.value("preemph_coeff"), DType: a.dtype(),
			Border: oneOf(a, "border", map[string]audio.Border{
				"": audio.BorderClamp, "clamp": audio.BorderClamp, "zero": audio.BorderZero, "reflect": audio.BorderReflect,
			}),
		})
	}),
	"spectrogram": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		o := audio.SpectrogramOptions{
			WindowLength: a.positive("window_length"), WindowStep: a.positive("window_step"), NFFT: a.positive("nfft"), Window: a.numbers("window_fn"),
			Layout: datum.Layout(a.text("layout")), NotCentered: !a.yes("center_windows", true), ZeroPadding: !a.yes("reflect_padding", true),
		}
		switch power := a.number("power", 2); power {
		case 1:
			o.Amplitude = true
		case 2:
		default:
			a.fail(fmt.Errorf("power is %g; 1 or 2 is wanted", power))
		}
		return audio.Spectrogram(g, v, o)
	}),
	"mel_filter_bank": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		return audio.MelFilterBank(g, v, audio.MelOptions{
			Filters: a.positive("nfilter"), SampleRate: a.number("sample_rate", 0), Low: a.number("freq_low", 0), High: a.number("freq_high", 0),
			HTK: oneOf(a, "mel_formula", map[string]bool{"": false, "slaney": false, "htk": true}), Unnormalized: !a.yes("normalize", true),
		})
	}),
	"to_decibels": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		o := audio.DecibelOptions{Multiplier: a.number("multiplier", 0), Reference: a.number("reference", 0), CutoffDB: a.maybe("cutoff_db")}
		if a.values["reference"] != nil && o.Reference == 0 {
			a.fail(fmt.Errorf("reference is 0; another number is wanted"))
		}
		return audio.ToDecibels(g, v, o)
	}),
	"mfcc": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		return audio.MFCC(g, v, audio.MFCCOptions{
			Coefficients: a.positive("n_mfcc"), Axis: int(a.number("axis", 0)), Type: a.positive("dct_type"),
			Orthonormal: a.yes("normalize", false), Lifter: a.number("lifter", 0),
		})
	}),
	"nonsilent_region": func(g *pipeline.Graph, in []pipeline.Value, a *applyArgs) []pipeline.Value {
		if len(in) != 1 {
			a.fail(fmt.Errorf("%d inputs; one is wanted", len(in)))
			return nil
		}
		a.number("reset_interval", 0) // sums are exact without
		begin, length := audio.NonsilentRegion(g, in[0], audio.SilenceOptions{
			WindowLength: a.positive("window_length"), CutoffDB: a.maybe("cutoff_db"), ReferencePower: a.number("reference_power", 0),
		})
		return []pipeline.Value{begin, length}
	},
	"audio_resample": unary(func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		return audio.Resample(g, v, audio.ResampleOptions{
			InRate: a.value("in_rate"), OutRate: a.value("out_rate"), Scale: a.value("scale"), Length: a.value("out_length"),
			Quality: a.maybe("quality"), DType: a.dtype(),
		})
	}),
})

// maybe returns a number, nil where it is not given.
func (a *applyArgs) maybe(name string) *float64 {
	if a.get(name) == nil {
		return nil
	}
	x := a.number(name, 0)
	return &x
}

// positive returns an integer above 0, 0 where it is not given.
func (a *applyArgs) positive(name string) int {
	x := a.number(name, 1)
	if !(x >= 1) || x != float64(int(x)) {
		a.fail(fmt.Errorf("%s is %g; a positive integer is wanted", name, x))
	}
	if a.values[name] == nil {
		return 0
	}
	return int(x)
}
