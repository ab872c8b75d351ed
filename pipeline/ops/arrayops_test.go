package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/ops/audio"
	"github.com/planktonml/plankton/pipeline/ops/boxes"
	"github.com/planktonml/plankton/pipeline/readers"
)

// wavFile is a file of 16 bits, one channel, 8 kHz.
func wavFile(samples ...byte) []byte {
	file := append([]byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data"), byte(len(samples)), 0, 0, 0)
	return append(file, samples...)
}

// arrayOperators are the operators on arrays, boxes and sound, each on small data, for the tests
// that go through all operators.
func arrayOperators() map[string]func(g *pipeline.Graph) []pipeline.Value {
	type graph = *pipeline.Graph
	type value = pipeline.Value
	type values = []value
	column := func(g graph, c readers.Column) value { return readers.Slices(g, readers.SlicesOptions{}, c)[0] }
	matrix := func(g graph) value {
		return column(g, readers.Rows([]float32{1, -2, 3, 4, 5.5, 6, 7, 8, 9, -10, 11, 12}, 2, 3))
	}
	integers := func(g graph) value {
		return column(g, readers.Rows([]int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 2, 3))
	}
	box := func(g graph) value { return column(g, readers.Rows([]float32{0.1, 0.2, 0.5, 0.9, 0, 0, 1, 1}, 1, 4)) }
	sound := func(g graph) value {
		data := make([]float32, 200)
		for i := range data {
			data[i] = float32(i%7)/7 - 0.5
		}
		return column(g, readers.Rows(data, 100))
	}
	spectrum := func(g graph) value {
		return audio.Spectrogram(g, sound(g), audio.SpectrogramOptions{WindowLength: 12, WindowStep: 5, NFFT: 14})
	}
	list := func(g graph, xs ...float64) value { return ops.Constant(g, xs...) }
	unary := func(op func(graph, value) value, of func(graph) value) func(graph) values {
		return func(g graph) values { return values{op(g, of(g))} }
	}
	binary := func(op func(graph, value, value) value, of func(graph) value) func(graph) values {
		return func(g graph) values {
			v := of(g)
			return values{op(g, v, v), op(g, v, ops.Constants(g, v.Spec().DType, 2)), op(g, ops.Constants(g, v.Spec().DType, 1, 2, 3), v)}
		}
	}
	reduction := func(op func(graph, value, ops.ReduceOptions) value) func(graph) values {
		return func(g graph) values {
			v := integers(g)
			return values{op(g, v, ops.ReduceOptions{}), op(g, ops.Cast(g, v, datum.Float32), ops.ReduceOptions{Axes: []int{0}, KeepDims: true})}
		}
	}
	table := map[string]func(g graph) values{
		"CastLike": func(g graph) values { return values{ops.CastLike(g, matrix(g), ops.Constants(g, datum.Int8, 1))} },
		"Clamp": func(g graph) values {
			return values{ops.Clamp(g, matrix(g), ops.Constants(g, datum.Int8, 2), ops.Constants(g, datum.Float32, 5))}
		},
		"Constants": func(g graph) values { integers(g); return values{ops.Constants(g, datum.Int16, 1, 2)} },
		"Neg":       unary(ops.Neg, matrix), "Abs": unary(ops.Abs, integers), "Not": unary(ops.Not, integers),
		"Pow": binary(ops.Pow, integers), "FPow": binary(ops.FPow, integers),
		"ReduceSum": reduction(ops.ReduceSum), "ReduceMean": reduction(ops.ReduceMean), "ReduceMeanSquare": reduction(ops.ReduceMeanSquare),
		"ReduceRMS": reduction(ops.ReduceRMS), "ReduceMin": reduction(ops.ReduceMin), "ReduceMax": reduction(ops.ReduceMax),
		"ReduceVariance": reduction(ops.ReduceVariance), "ReduceStdDev": reduction(ops.ReduceStdDev),
		"Slice": func(g graph) values {
			v := integers(g)
			return values{
				ops.Slice(g, v, ops.SliceOptions{Start: list(g, -1, 1), Shape: list(g, 4), Outside: ops.BeyondFill, Fill: []float64{9}}),
				ops.Slice(g, v, ops.SliceOptions{RelStart: ops.Uniforms(g, ops.UniformOptions{Min: list(g, 0)}), RelEnd: list(g, 1), AxisNames: "", Axes: []int{1}, DType: datum.Uint8}),
				ops.Slice(g, v, ops.SliceOptions{Start: list(g, -3, -3), End: list(g, 5, 6), Outside: ops.BeyondReflect101}),
			}
		},
		"Subscript": func(g graph) values {
			v := integers(g)
			return values{ops.Subscript(g, v, ops.At(-1), ops.NewAxis(""), ops.All().Step(-2)), ops.Subscript(g, v, ops.AtValue(ops.CoinFlip(g, 0.5)))}
		},
		"Transpose": func(g graph) values { return values{ops.Transpose(g, matrix(g), ops.TransposeOptions{})} },
		"Reshape": func(g graph) values {
			return values{ops.Reshape(g, matrix(g), ops.ReshapeOptions{Shape: list(g, 3, -1)})}
		},
		"Reinterpret": func(g graph) values { return values{ops.Reinterpret(g, matrix(g), datum.Uint8, ops.ReshapeOptions{})} },
		"Squeeze":     func(g graph) values { return values{ops.Squeeze(g, box(g), []int{0}, "")} },
		"ExpandDims":  func(g graph) values { return values{ops.ExpandDims(g, box(g), []int{0, 3}, "")} },
		"Cat":         func(g graph) values { v := matrix(g); return values{ops.Cat(g, 0, v, v), ops.Cat(g, -1, v, v, v)} },
		"Stack": func(g graph) values {
			v := matrix(g)
			return values{ops.Stack(g, 0, "", v, v), ops.Stack(g, -1, "", v, v)}
		},

		"Normal": func(g graph) values {
			return values{ops.Normal(g, ops.NormalOptions{DrawOptions: ops.DrawOptions{Like: matrix(g)}})}
		},
		"Uniforms": func(g graph) values {
			integers(g)
			return values{ops.Uniforms(g, ops.UniformOptions{Values: list(g, 1, 2)})}
		},
		"CoinFlips": func(g graph) values { integers(g); return values{ops.CoinFlips(g, ops.CoinFlipOptions{})} },
		"Beta":      func(g graph) values { integers(g); return values{ops.Beta(g, ops.BetaOptions{Alpha: list(g, 0.2)})} },
		"Choice": func(g graph) values {
			return values{ops.Choice(g, matrix(g), ops.ChoiceOptions{Shape: []int{4}}), ops.Choice(g, ops.Constants(g, datum.Int64, 9), ops.ChoiceOptions{})}
		},
		"RandomWindow": func(g graph) values {
			integers(g)
			a, s := ops.RandomWindow(g, list(g, 30, 40), ops.RandomWindowOptions{})
			return values{a, s}
		},

		"boxes.Flip": func(g graph) values {
			return values{boxes.Flip(g, box(g), boxes.FlipOptions{Vertical: ops.CoinFlip(g, 0.5)})}
		},
		"boxes.CoordFlip": func(g graph) values {
			return values{boxes.CoordFlip(g, matrix(g), boxes.CoordFlipOptions{FlipZ: list(g, 1)})}
		},
		"boxes.CoordTransform": func(g graph) values {
			return values{boxes.CoordTransform(g, integers(g), boxes.CoordTransformOptions{M: list(g, 1, 2, 3), T: list(g, 4)})}
		},
		"boxes.Encode": func(g graph) values {
			b, l := boxes.Encode(g, box(g), ops.Constants(g, datum.Int32, 3), boxes.EncodeOptions{Anchors: []float64{0, 0, 0.5, 0.5, 0, 0, 1, 1}, Offsets: true})
			return values{b, l}
		},
		"boxes.RandomCrop": func(g graph) values {
			c := boxes.RandomCrop(g, box(g), value{}, boxes.RandomCropOptions{Scaling: [2]float64{0.5, 1}, AspectRatio: [2]float64{0.5, 2}})
			return values{c.Anchor, c.Shape, c.Boxes, c.Indices}
		},

		"audio.Decode": func(g graph) values {
			signal, rate := audio.Decode(g, column(g, readers.Ragged([][]byte{wavFile(1, 2, 3, 4), wavFile(1, 2, 5, 6)})), audio.DecodeOptions{SampleRate: list(g, 12000), Mono: true})
			return values{signal, rate}
		},
		"audio.Preemphasis": func(g graph) values {
			v := sound(g)
			return values{audio.Preemphasis(g, v, audio.PreemphasisOptions{}), audio.Preemphasis(g, v, audio.PreemphasisOptions{DType: datum.Int8})}
		},
		"audio.Spectrogram": func(g graph) values { return values{spectrum(g)} },
		"audio.MelFilterBank": func(g graph) values {
			return values{audio.MelFilterBank(g, spectrum(g), audio.MelOptions{Filters: 4})}
		},
		"audio.ToDecibels": func(g graph) values { return values{audio.ToDecibels(g, spectrum(g), audio.DecibelOptions{})} },
		"audio.MFCC":       func(g graph) values { return values{audio.MFCC(g, spectrum(g), audio.MFCCOptions{Coefficients: 3})} },
		"MaskOf": func(g graph) values {
			mask := column(g, readers.Rows(make([]uint8, 12), 3, 4, 1).WithLayout(datum.HWC))
			return values{ops.MaskOf(g, mask, ops.Flip(g, ops.Add(g, mask, ops.Constants(g, datum.Uint8, 7)), ops.FlipOptions{}))}
		},
		"PadSequence": func(g graph) values {
			values0, mask, length := ops.PadSequence(g, column(g, readers.Ragged([][]int32{{1, 2, 3}, {4}})), ops.PadSequenceOptions{Length: 5, Fill: 7})
			return values{values0, ops.Add(g, mask, ops.Constants(g, datum.Uint8, 1)), length}
		},
		"audio.NonsilentRegion": func(g graph) values {
			begin, length := audio.NonsilentRegion(g, sound(g), audio.SilenceOptions{WindowLength: 8})
			return values{begin, length}
		},
		"audio.Resample": func(g graph) values {
			v := sound(g)
			return values{audio.Resample(g, v, audio.ResampleOptions{Scale: list(g, 1.5)}), audio.Resample(g, v, audio.ResampleOptions{Length: list(g, 30), DType: datum.Int16})}
		},
	}
	for name, op := range map[string]func(graph, value, value) value{
		"Add": ops.Add, "Sub": ops.Sub, "Mul": ops.Mul, "Div": ops.Div, "Atan2": ops.Atan2, "Min": ops.Min, "Max": ops.Max,
		"Equal": ops.Equal, "NotEqual": ops.NotEqual, "Less": ops.Less, "LessEqual": ops.LessEqual, "Greater": ops.Greater, "GreaterEqual": ops.GreaterEqual,
	} {
		table[name] = binary(op, matrix)
	}
	for name, op := range map[string]func(graph, value, value) value{
		"FloorDiv": ops.FloorDiv, "Mod": ops.Mod, "And": ops.And, "Or": ops.Or, "Xor": ops.Xor, "ShiftLeft": ops.ShiftLeft, "ShiftRight": ops.ShiftRight,
	} {
		table[name] = binary(op, integers)
	}
	for name, op := range map[string]func(graph, value) value{
		"Sqrt": ops.Sqrt, "Rsqrt": ops.Rsqrt, "Cbrt": ops.Cbrt, "Exp": ops.Exp, "Log": ops.Log, "Log2": ops.Log2, "Log10": ops.Log10, "FAbs": ops.FAbs,
		"Floor": ops.Floor, "Ceil": ops.Ceil, "Sin": ops.Sin, "Cos": ops.Cos, "Tan": ops.Tan, "Asin": ops.Asin, "Acos": ops.Acos, "Atan": ops.Atan,
		"Sinh": ops.Sinh, "Cosh": ops.Cosh, "Tanh": ops.Tanh, "Asinh": ops.Asinh, "Acosh": ops.Acosh, "Atanh": ops.Atanh,
	} {
		// Of absolute values there are no NaNs, which equal nothing, where functions are defined.
		table[name] = unary(func(g graph, v value) value { return ops.Greater(g, op(g, v), ops.Constants(g, datum.Float32, 0.5)) }, matrix)
	}
	return table
}

// Operators on arrays, boxes and sound allocate nothing once they are warm.
func TestWarmArrayOperatorsAllocateNothing(t *testing.T) {
	for name, define := range arrayOperators() {
		t.Run(name, func(t *testing.T) {
			allocatesNothing(t, 1, pipeline.Options{}, func(g *pipeline.Graph) {
				for i, v := range define(g) {
					g.Output(string(rune('a'+i)), v)
				}
			})
		})
	}
}

// Every operator reads a list of dimensions in the same way.
func TestDimensionsAreReadAlike(t *testing.T) {
	zero := func(g *pipeline.Graph) pipeline.Value { return ops.Constant(g, 0) }
	for name, op := range map[string]func(g *pipeline.Graph, v pipeline.Value, axes []int, names string) pipeline.Value{
		"slice": func(g *pipeline.Graph, v pipeline.Value, axes []int, names string) pipeline.Value {
			return ops.Slice(g, v, ops.SliceOptions{Start: zero(g), Axes: axes, AxisNames: names})
		},
		"reduce": func(g *pipeline.Graph, v pipeline.Value, axes []int, names string) pipeline.Value {
			return ops.ReduceSum(g, v, ops.ReduceOptions{Axes: axes, AxisNames: names})
		},
		"normalize": func(g *pipeline.Graph, v pipeline.Value, axes []int, names string) pipeline.Value {
			return ops.Normalize(g, v, ops.NormalizeOptions{Axes: axes, AxisNames: names})
		},
		"pad": func(g *pipeline.Graph, v pipeline.Value, axes []int, names string) pipeline.Value {
			return ops.Pad(g, v, ops.PadOptions{Axes: axes, AxisNames: names})
		},
		"erase": func(g *pipeline.Graph, v pipeline.Value, axes []int, names string) pipeline.Value {
			return ops.Erase(g, v, ops.EraseOptions{Anchor: ops.Constant(g, 0, 0), Shape: ops.Constant(g, 0, 0), Axes: axes, AxisNames: names})
		},
	} {
		t.Run(name, func(t *testing.T) {
			build := func(axes []int, names string) error {
				p, err := pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
					v := readers.Slices(g, readers.SlicesOptions{}, readers.Ragged([][]byte{encodePNG(t, smooth(4, 3))}))[0]
					g.Output("out", op(g, ops.DecodeImage(g, v, ops.DecodeOptions{}), axes, names))
				})
				if err == nil {
					_, err = run(t, p)
				}
				return err
			}
			require.NoError(t, build(nil, ""))
			require.NoError(t, build([]int{0}, ""))
			require.NoError(t, build([]int{-2}, ""))
			require.NoError(t, build(nil, "W"))
			require.ErrorContains(t, build([]int{0}, "W"), "not both")
			require.ErrorContains(t, build([]int{3}, ""), "axis 3 is not one of the 3 dimensions")
			require.ErrorContains(t, build([]int{1, -2}, ""), "axis 1 is named twice")
			require.ErrorContains(t, build(nil, "Z"), "not in the layout")
			if err := build([]int{}, ""); name == "pad" || name == "erase" {
				require.ErrorContains(t, err, "Axes is empty")
			} else {
				require.NoError(t, err)
			}
		})
	}
}
