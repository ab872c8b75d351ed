package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
)

// applyOp adds an operator under DALI's arguments.
type applyOp func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value

// applyOps are the operators that apply knows, by DALI's names.
var applyOps = map[string]applyOp{
	"decoders.image": func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		o := ops.DecodeOptions{Type: oneOf(a, "output_type", map[string]ops.ColorType{
			"": ops.RGB, "RGB": ops.RGB, "GRAY": ops.Gray, "BGR": ops.BGR, "YCbCr": ops.YCbCr, "ANY_DATA": ops.Any,
		})}
		o.IgnoreOrientation = !a.yes("adjust_orientation", true)
		if !a.yes("jpeg_fancy_upsampling", true) {
			a.fail(fmt.Errorf("jpeg_fancy_upsampling=False is not possible: decoding is exact"))
		}
		return ops.DecodeImage(g, v, o)
	},
	"resize": applyResize,
	"crop": func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		if t := a.dtype(); t != 0 {
			v = ops.Cast(g, v, t) // first, since fill_values are in the type of the output
		}
		return ops.Crop(g, v, a.crop())
	},
	"flip": func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		return ops.Flip(g, v, ops.FlipOptions{Horizontal: a.value("horizontal"), Vertical: a.value("vertical")})
	},
	"crop_mirror_normalize": func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		o := ops.CropMirrorNormalizeOptions{
			CropOptions: a.crop(), Mirror: a.value("mirror"), Mean: a.numbers("mean"), Std: a.numbers("std"),
			Scale: a.scale(), Shift: a.number("shift", 0), DType: a.dtype(),
			Layout: datum.Layout(a.text("output_layout")), PadOutput: a.yes("pad_output", false),
		}
		return ops.CropMirrorNormalize(g, literal(g, v, o.Std), o)
	},
	"normalize": func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		o := ops.NormalizeOptions{
			AxisNames: a.text("axis_names"), Mean: a.value("mean"), StdDev: a.value("stddev"), DDoF: int(a.number("ddof", 0)),
			Epsilon: a.number("epsilon", 0), Scale: a.scale(), Shift: a.number("shift", 0), DType: a.dtype(),
		}
		a.yes("batch", false) // there is one sample
		for _, x := range a.numbers("axes") {
			o.Axes = append(o.Axes, int(x))
		}
		return ops.Normalize(g, literal(g, v, a.numbers("stddev")), o)
	},
	"cast": func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		return ops.Cast(g, v, a.dtype())
	},
	"one_hot": func(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
		o := ops.OneHotOptions{
			Classes: int(a.number("num_classes", 0)), On: a.number("on_value", 1), Off: a.number("off_value", 0),
			DType: a.dtype(), IgnoreUnknown: true,
		}
		if _, given := a.values["axis"]; given { // which matters to a single label
			axis := int(a.number("axis", -1))
			if axis == -1 {
				axis = len(v.Spec().Shape)
			}
			o.Axis = &axis
		}
		if o.On == 0 && o.Off == 0 {
			a.fail(errors.New("on_value and off_value are both 0; one of them must differ"))
		}
		return ops.OneHot(g, v, o)
	},
}

// literal returns v for an operator that divides by the given deviations. Operators refuse
// deviations below 1 for bytes where they look like a mistake, but what apply is given is
// meant: it compares calls of DALI, which takes them. As float32 bytes are what they were.
func literal(g *pipeline.Graph, v pipeline.Value, std []float64) pipeline.Value {
	if v.Spec().DType == datum.Uint8 && len(std) > 0 && slices.Max(std) < 1 {
		return ops.Cast(g, v, datum.Float32)
	}
	return v
}

func applyResize(g *pipeline.Graph, v pipeline.Value, a *applyArgs) pipeline.Value {
	interp := map[string]ops.Interp{
		"": ops.InterpDefault, "INTERP_NN": ops.Nearest, "INTERP_LINEAR": ops.Linear, "INTERP_TRIANGULAR": ops.Triangular,
		"INTERP_CUBIC": ops.Cubic, "INTERP_LANCZOS3": ops.Lanczos3, "INTERP_GAUSSIAN": ops.Gaussian,
	}
	o := ops.ResizeOptions{
		Height: a.number("resize_y", 0), Width: a.number("resize_x", 0),
		Shorter: a.number("resize_shorter", 0), Longer: a.number("resize_longer", 0),
		Mode: oneOf(a, "mode", map[string]ops.ResizeMode{
			"": ops.ModeDefault, "default": ops.ModeDefault, "stretch": ops.Stretch, "not_larger": ops.NotLarger, "not_smaller": ops.NotSmaller,
		}),
		Interp: oneOf(a, "interp_type", interp), Min: oneOf(a, "min_filter", interp), Mag: oneOf(a, "mag_filter", interp),
		NoAntialias: !a.yes("antialias", true), WholePixels: !a.yes("subpixel_scale", true), DType: a.dtype(),
		ROIRelative: a.yes("roi_relative", false),
	}
	a.pair("size", &o.Height, &o.Width)
	a.pair("max_size", &o.MaxHeight, &o.MaxWidth)
	a.pair("roi_start", &o.ROIStart[0], &o.ROIStart[1])
	a.pair("roi_end", &o.ROIEnd[0], &o.ROIEnd[1])
	whole := [2][2]float64{o.ROIStart, o.ROIEnd} == [2][2]float64{}
	if whole && a.values["size"] != nil && o.Height == 0 && o.Width == 0 && o.Shorter == 0 && o.Longer == 0 {
		// DALI keeps a picture whose wanted size is zeros; ops.Resize takes it if a region
		// is given, which is all of the picture then.
		o.ROIEnd, o.ROIRelative = [2]float64{1, 1}, true
	}
	return ops.Resize(g, v, o)
}

// harmless are arguments that all of DALI's operators take and that cannot change
// what the operators here make: none of them draws at random, none can be removed
// while its output is asked for, and how much memory is reserved does not show.
var harmless = []string{"bytes_per_sample_hint", "preserve", "seed"}

// applyArgs reads an operator's arguments under DALI's names. The first
// argument of a wrong type, and any that nobody asked for and that is not
// harmless, is an error.
type applyArgs struct {
	g      *pipeline.Graph
	values map[string]any
	used   []string
	first  error
}

// fail keeps the first mistake.
func (a *applyArgs) fail(err error) {
	if a.first == nil {
		a.first = err
	}
}

func (a *applyArgs) err() error {
	if a.first != nil {
		return a.first
	}
	for _, name := range slices.Sorted(maps.Keys(a.values)) {
		if !slices.Contains(a.used, name) && !slices.Contains(harmless, name) {
			return fmt.Errorf("the argument %q is not known", name)
		}
	}
	return nil
}

// get returns an argument, nil where it is not given.
func (a *applyArgs) get(name string) any {
	a.used = append(a.used, name)
	return a.values[name]
}

func (a *applyArgs) number(name string, def float64) float64 {
	switch x := a.get(name).(type) {
	case nil:
	case json.Number:
		return a.float(name, x)
	case bool:
		if x {
			return 1
		}
		return 0
	default:
		a.fail(fmt.Errorf("%s is %v; a number is wanted", name, x))
	}
	return def
}

// scale returns the argument "scale", which the operators' options cannot set to 0.
func (a *applyArgs) scale() float64 {
	x := a.number("scale", 1)
	if x == 0 {
		a.fail(errors.New("scale is 0; another number is wanted"))
	}
	return x
}

func (a *applyArgs) float(name string, n json.Number) float64 {
	f, err := n.Float64()
	if err != nil {
		a.fail(fmt.Errorf("%s is %s, which is beyond what a float64 holds", name, n))
	}
	return f
}

// numbers returns a list, or a single number as a list of one.
func (a *applyArgs) numbers(name string) (xs []float64) {
	switch x := a.get(name).(type) {
	case nil:
	case json.Number:
		xs = []float64{a.float(name, x)}
	case []any:
		for _, v := range x {
			n, ok := v.(json.Number)
			if !ok {
				a.fail(fmt.Errorf("%s holds %v; numbers are wanted", name, v))
				break
			}
			xs = append(xs, a.float(name, n))
		}
	default:
		a.fail(fmt.Errorf("%s is %v; numbers are wanted", name, x))
	}
	return xs
}

// pair reads height and width, or one number for both.
func (a *applyArgs) pair(name string, height, width *float64) {
	switch xs := a.numbers(name); len(xs) {
	case 0:
	case 1:
		*height, *width = xs[0], xs[0]
	case 2:
		*height, *width = xs[0], xs[1]
	default:
		a.fail(fmt.Errorf("%s has %d values; one or two are wanted", name, len(xs)))
	}
}

func (a *applyArgs) text(name string) string {
	switch x := a.get(name).(type) {
	case nil:
	case string:
		return x
	default:
		a.fail(fmt.Errorf("%s is %v; a text is wanted", name, x))
	}
	return ""
}

func (a *applyArgs) yes(name string, def bool) bool {
	d := 0.0
	if def {
		d = 1
	}
	return a.number(name, d) != 0
}

// value returns an argument that operators take per sample.
func (a *applyArgs) value(name string) pipeline.Value {
	if a.get(name) == nil {
		return pipeline.Value{}
	}
	return ops.Constant(a.g, a.number(name, 0))
}

// dtype returns the argument "dtype", 0 where it is not given.
func (a *applyArgs) dtype() datum.DType {
	name := strings.ToLower(strings.TrimPrefix(a.text("dtype"), "types."))
	switch name {
	case "":
		return 0
	case "float":
		name = "float32"
	}
	t, err := datum.ParseDType(name)
	if err != nil {
		a.fail(err)
	}
	return t
}

// crop returns the arguments that crop and crop_mirror_normalize share.
func (a *applyArgs) crop() ops.CropOptions {
	o := ops.CropOptions{
		Height: int(a.number("crop_h", 0)), Width: int(a.number("crop_w", 0)),
		PosY: a.value("crop_pos_y"), PosX: a.value("crop_pos_x"), Fill: a.numbers("fill_values"),
		OutOfBounds: oneOf(a, "out_of_bounds_policy", map[string]ops.Bounds{
			"": ops.BoundsError, "error": ops.BoundsError, "pad": ops.BoundsPad, "trim_to_shape": ops.BoundsTrim,
		}),
		Truncate: oneOf(a, "rounding", map[string]bool{"": false, "round": false, "truncate": true}),
	}
	_, h := a.values["crop_h"]
	_, w := a.values["crop_w"]
	if h != w {
		a.fail(errors.New("crop_h and crop_w go together; one of them is missing"))
	}
	if hw := a.numbers("crop"); len(hw) == 2 {
		if h {
			a.fail(errors.New("give crop, or crop_h and crop_w, not both"))
		}
		o.Height, o.Width = int(hw[0]), int(hw[1])
	} else if len(hw) != 0 {
		a.fail(fmt.Errorf("crop has %d values; height and width are wanted", len(hw)))
	}
	return o
}

// oneOf returns the meaning of a text argument, with or without "types.".
func oneOf[T any](a *applyArgs, name string, meanings map[string]T) T {
	text := strings.TrimPrefix(a.text(name), "types.")
	m, ok := meanings[text]
	if !ok {
		a.fail(fmt.Errorf("%s is %q, which is not known", name, text))
	}
	return m
}
