package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/datatest"
)

// command runs a command line.
func command(args ...string) (out, errs string, code int) {
	var o, e bytes.Buffer
	code = run(args, &stdio{&o, &e})
	return o.String(), e.String(), code
}

// applied runs apply on a file and returns what it printed.
func applied(t *testing.T, file string, args ...string) []applyResult {
	t.Helper()
	out, errs, code := command(append([]string{"apply", file}, args...)...)
	require.Zero(t, code, errs)
	require.Empty(t, errs)
	var results []applyResult
	require.NoError(t, json.Unmarshal([]byte(out), &results))
	return results
}

func TestApply(t *testing.T) {
	results := applied(t, "testdata/apply.json")
	byID := map[string]applyResult{}
	for _, r := range results {
		byID[r.ID] = r
	}
	require.Len(t, byID, len(results))
	one := func(dtype string, shape []int, layout string, data ...any) []applyArray {
		return []applyArray{{DType: dtype, Shape: shape, Layout: layout, Data: data}}
	}
	require.Equal(t, one("uint8", []int{1, 2, 1}, "HWC", 2., 1.), byID["flip"].Output)
	require.Equal(t, one("uint8", []int{4}, "", 0., 255., 0., 255.), byID["cast"].Output)
	require.Equal(t, one("float32", []int{2}, "", "nan", "inf"), byID["to float"].Output)
	require.Equal(t, one("bool", []int{2}, "", false, true), byID["to bool"].Output)
	require.Equal(t, one("int32", []int{3}, "", -1., 7., -1.), byID["one_hot"].Output)
	require.Equal(t, one("float32", []int{1, 1, 1}, "CHW", 3.), byID["first"].Output)
	require.Equal(t, one("float32", []int{1, 3, 1}, "HWC", 300., 1., 300.), byID["crop casts"].Output)
	require.Equal(t, one("float32", []int{2}, "", -1., 0.), byID["batch of one"].Output)
	require.Equal(t, one("float32", []int{1, 1, 2}, "CHW", 2., 1018.), byID["meant"].Output)
	require.Equal(t, one("float32", []int{2}, "", 2., 1018.), byID["meant too"].Output)
	require.Equal(t, one("float32", []int{2}, "", 0., 1.), byID["one label"].Output)
	require.Equal(t, one("float32", []int{1, 2}, "", 0., 1.), byID["last axis"].Output)
	for id, want := range map[string]string{
		"half a crop":  "pipeline: crop: crop_h and crop_w go together; one of them is missing",
		"two crops":    "pipeline: crop: give crop, or crop_h and crop_w, not both",
		"scale":        "pipeline: normalize: scale is 0; another number is wanted",
		"values":       "pipeline: one_hot: on_value and off_value are both 0; one of them must differ",
		"axis":         "pipeline: one_hot: Axis is -2; labels of 0 dimensions allow 0 … 0",
		"type":         "pipeline: crop: the region is -1×0; extents must not be negative",
		"argument":     `pipeline: flip: the argument "sideways" is not known`,
		"value":        "pipeline: flip: vertical is yes; a number is wanted",
		"choice":       `pipeline: resize: interp_type is "INTERP_MAGIC", which is not known`,
		"does not fit": "pipeline: crop: a region of 3×3 does not fit into uint8 HWC 1×2×1; resize first, or set OutOfBounds",
		"inputs":       "pipeline: flip: 2 inputs; one is wanted",
		"elements":     "3 elements for shape [1 2 1]",
		"shape":        "3 elements for shape [-1 -3]",
		"dtype":        `datum: there is no element type "int"; the types are uint8 … int64, float16, float32, float64 and bool`,
		"text":         `element 1 is "two"; a number, true, false, "nan", "inf" or "-inf" is wanted`,
		"nested":       "element 0 is [1 2]; a flat list of numbers is wanted",
		"file":         "an input names a file: say with --data where it lies",
		"bad first":    `pipeline: first: there is no operator "crip"`,
		"nameless":     "the entry names no operator",
	} {
		require.Equal(t, want, byID[id].Error, id)
		require.Nil(t, byID[id].Output, id)
		delete(byID, id)
	}
	require.True(t, byID["unsupported"].Unsupported)
	require.Empty(t, byID["unsupported"].Error)
	require.Len(t, byID, 13)
}

func TestApplyOneEntry(t *testing.T) {
	results := applied(t, "testdata/apply_one.json", "--data", "testdata")
	require.Equal(t, []applyResult{{ID: "a file", Output: []applyArray{
		{DType: "uint8", Shape: []int{1, 2, 3}, Layout: "HWC", Data: []any{10., 20., 30., 40., 50., 60.}},
	}}}, results)
}

// Resizing to zeros keeps the picture, as in DALI; resizing without a size is refused.
func TestApplyResizeToZeros(t *testing.T) {
	file := filepath.Join(t.TempDir(), "resize.json")
	resize := func(args string) applyResult {
		require.NoError(t, os.WriteFile(file, []byte(`{"id":"r","operator":"resize","args":`+args+`,
			"inputs":[{"dtype":"uint8","shape":[2,3,1],"layout":"HWC","data":[1,200,3,40,5,60]}]}`), 0o644))
		return applied(t, file)[0]
	}
	for args, dtype := range map[string]string{
		`{"size":[0,0]}`: "uint8",
		`{"size":0,"interp_type":"INTERP_CUBIC","mode":"stretch"}`: "uint8",
		`{"size":[0,0],"dtype":"types.FLOAT"}`:                     "float32",
	} {
		got := resize(args)
		require.Empty(t, got.Error, args)
		require.Equal(t, []applyArray{{DType: dtype, Shape: []int{2, 3, 1}, Layout: "HWC", Data: []any{1., 200., 3., 40., 5., 60.}}}, got.Output, args)
	}
	require.Equal(t, []int{1, 1, 1}, resize(`{"size":[0,0],"roi_start":[0,0],"roi_end":[1,1]}`).Output[0].Shape, "a region stays what it is")
	require.Contains(t, resize(`{}`).Error, "no size is given")
}

// A float64 has 53 bits for an integer.
func TestApplyKeepsIntegers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "integers.json")
	write := func(dtype, data string) string {
		text := `[{"id":"i","operator":"cast","args":{"dtype":"` + dtype + `"},"inputs":[{"dtype":"` + dtype + `","shape":[3],"data":[` + data + `]}]}]`
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		out, errs, code := command("apply", file)
		require.Zero(t, code, errs)
		return out
	}
	require.Contains(t, write("int64", "9007199254740993, -9223372036854775808, 9223372036854775807"), "[9007199254740993,-9223372036854775808,9223372036854775807]")
	require.Contains(t, write("uint64", "18446744073709551615, 9007199254740993, 0"), "[18446744073709551615,9007199254740993,0]")
	require.Contains(t, write("int64", "1e3, 2.5, true"), "[1000,3,1]")
	require.Contains(t, write("uint64", "-7, 1e30, 4.0"), "[0,18446744073709551615,4]", "as DALI's cast saturates")
	require.Contains(t, write("int64", "1e400, 0, 0"), "element 0 is 1e400, which is beyond what a float64 holds")
	require.Contains(t, write("uint8", "300, 1, 0"), "[255,1,0]")
}

// Arguments that cannot change a result are taken and ignored.
func TestApplyTakesHarmlessArguments(t *testing.T) {
	file := filepath.Join(t.TempDir(), "harmless.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"id":"h","operator":"flip",
		"args":{"seed":12345678901234567890,"preserve":true,"bytes_per_sample_hint":[0],"horizontal":1},
		"inputs":[{"dtype":"uint8","shape":[1,2,1],"layout":"HWC","data":[1,2]}]}`), 0o644))
	results := applied(t, file)
	require.Empty(t, results[0].Error)
	require.Equal(t, []any{2., 1.}, results[0].Output[0].Data)
}

func TestApplyErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"apply"}, 2, `expected "<file>"`},
		{[]string{"apply", filepath.Join(dir, "none.json")}, 1, "none.json: no such file"},
		{[]string{"apply", write("text.json", "hello")}, 1, "text.json, line 1: invalid character"},
		{[]string{"apply", write("empty.json", "")}, 1, "empty.json, line 1: unexpected end of JSON input"},
		{[]string{"apply", "--bogus", "x"}, 2, "unknown flag --bogus"},
	} {
		out, errs, code := command(c.args...)
		require.Equal(t, c.code, code, c.args)
		require.Empty(t, out)
		require.Contains(t, errs, c.want)
		require.Equal(t, 1, strings.Count(errs, "\n"), "one line: %q", errs)
	}
	require.Empty(t, applied(t, write("none.json", "[]")))
	missing := applied(t, write("missing.json", `{"id":"m","operator":"decoders.image","inputs":[{"file":"nowhere.jpg"}]}`), "--data", dir)
	require.Contains(t, missing[0].Error, "nowhere.jpg: no such file")
	notImage := applied(t, write("entry.json", `{"id":"m","operator":"decoders.image","inputs":[{"file":"text.json"}]}`), "--data", dir)
	require.Contains(t, notImage[0].Error, `text.json: decoders.image: neither JPEG nor PNG, and no GIF, BMP, TIFF or WebP picture: the file begins with "hello"`)
}

// recorded is an output of DALI: all of it, or some pixels on a grid.
type recorded struct {
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
	Data  []any  `json:"data"`
	Grid  struct {
		Rows, Cols []int
		Values     [][]json.RawMessage // a number, or a list of one per channel
	} `json:"grid"`
}

// TestRecordedFigures runs the calls of the core operators that were recorded
// from DALI.
func TestRecordedFigures(t *testing.T) {
	text, pictures := datatest.Vectors(t, "dali_operators.json"), datatest.Data(t, "imagenet-sample")
	type call struct {
		applyEntry
		Output []recorded      `json:"output,omitempty"`
		Error  json.RawMessage `json:"error,omitempty"`
	}
	var all struct{ Entries []call }
	require.NoError(t, decodeJSON(text, &all))
	calls := slices.DeleteFunc(all.Entries, func(c call) bool { return applyOps[c.Operator] == nil })
	require.NotEmpty(t, calls)
	cmd := applyCmd{Data: pictures}
	for _, c := range calls {
		t.Run(c.ID, func(t *testing.T) {
			got := cmd.apply(c.applyEntry)
			if c.Error != nil {
				require.NotEmpty(t, got.Error)
				return
			}
			require.Empty(t, got.Error)
			require.Len(t, got.Output, len(c.Output))
			for i := range c.Output {
				requireRecorded(t, c.Output[i], got.Output[i])
			}
		})
	}
}

// requireRecorded compares with what DALI yielded: integers within 1, others
// within 1e-4, relative above 1.
func requireRecorded(t *testing.T, want recorded, got applyArray) {
	t.Helper()
	require.Equal(t, want.DType, got.DType)
	require.Equal(t, want.Shape, got.Shape)
	values := want.Data
	have := got.Data
	if values == nil {
		require.NotEmpty(t, want.Grid.Rows)
		channels := 1
		if len(got.Shape) > 2 {
			channels = got.Shape[2]
		}
		have = nil
		for i, y := range want.Grid.Rows {
			for j, x := range want.Grid.Cols {
				at := (y*got.Shape[1] + x) * channels
				have = append(have, got.Data[at:at+channels]...)
				var pixel []any
				if decodeJSON(want.Grid.Values[i][j], &pixel) != nil {
					pixel = make([]any, 1)
					require.NoError(t, decodeJSON(want.Grid.Values[i][j], &pixel[0]))
				}
				values = append(values, pixel...)
			}
		}
	}
	require.Len(t, have, len(values))
	for i, v := range values {
		w, g := element(t, v), element(t, have[i])
		tolerance := 1.
		if !strings.Contains(want.DType, "int") {
			tolerance = 1e-4 * max(1, math.Abs(w))
		}
		if w != g && !(math.IsNaN(w) && math.IsNaN(g)) && !(math.Abs(w-g) <= tolerance) {
			t.Fatalf("element %d is %v, want %v", i, g, w)
		}
	}
}

func element(t *testing.T, v any) float64 {
	t.Helper()
	switch x := v.(type) {
	case json.Number:
		f, err := x.Float64()
		require.NoError(t, err)
		return f
	case float64:
		return x
	case float32:
		return float64(x)
	case int64:
		return float64(x)
	case uint64:
		return float64(x)
	case bool:
		if x {
			return 1
		}
		return 0
	}
	f, err := strconv.ParseFloat(v.(string), 64)
	require.NoError(t, err)
	return f
}
