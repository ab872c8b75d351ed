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

// harmless are arguments that all of DALI's operators take and that cannot change
// what the operators here make: none of them draws at random, none can be removed
// while its output is asked for, and how much memory is reserved does not show.
var harmless = []string{"bytes_per_sample_hint", "preserve", "seed"}

// applyArgs reads an operator's arguments under DALI's names. The first
// argument of a wrong type, and any that nobody asked for and that is not
// harmless, is an error.
type applyArgs struct {
	g          *pipeline.Graph
	values     map[string]any
	expression string // of operators that are expressions
	used       []string
	first      error
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
func (a *applyArgs) dtype() datum.DType { return a.typeOf("dtype") }

// typeOf returns an argument that is an element type.
func (a *applyArgs) typeOf(argument string) datum.DType {
	name := strings.ToLower(strings.TrimPrefix(a.text(argument), "types."))
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

// integers returns a list, nil where it is not given, and an empty one where that is given.
func (a *applyArgs) integers(name string) (is []int) {
	if a.get(name) == nil {
		return nil
	}
	is = []int{}
	for _, x := range a.numbers(name) {
		if x != float64(int(x)) {
			a.fail(fmt.Errorf("%s has %g; integers are wanted", name, x))
		}
		is = append(is, int(x))
	}
	return is
}

// dims is integers for dimensions of which DALI takes an empty list for the default.
func (a *applyArgs) dims(name string) []int {
	if is := a.integers(name); len(is) > 0 {
		return is
	}
	return nil
}
