package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestArraysAsRecorded runs calls with random arguments on small random arrays, boxes and
// sounds, whose results were recorded from DALI 2.4.0 (CPU), refusals among them. Integers are
// equal. docs/operators.md says for which calls results differ.
func TestArraysAsRecorded(t *testing.T) {
	text, err := os.ReadFile("testdata/dali_arrays.json")
	require.NoError(t, err)
	var calls []struct {
		applyEntry
		Output []struct {
			recorded
			Layout string
		} `json:"output"`
		Error string `json:"error"`
	}
	require.NoError(t, decodeJSON(text, &calls))
	cmd := applyCmd{}
	for _, c := range calls {
		t.Run(c.ID, func(t *testing.T) {
			got := cmd.apply(c.applyEntry)
			require.False(t, got.Unsupported)
			if c.Error != "" {
				require.NotEmpty(t, got.Error)
				require.NotContains(t, got.Error, "\n")
				return
			}
			require.Empty(t, got.Error)
			require.Len(t, got.Output, len(c.Output))
			for i, want := range c.Output {
				have := got.Output[i]
				require.Equal(t, want.Layout, have.Layout)
				if len(want.Data) == 0 {
					require.Equal(t, want.Shape, have.Shape)
					require.Empty(t, have.Data)
					continue
				}
				requireRecorded(t, want.recorded, have)
				for j, v := range want.Data {
					if strings.Contains(want.DType, "int") {
						require.Equal(t, element(t, v), element(t, have.Data[j]), "element %d", j)
					}
				}
			}
		})
	}
}

// Expressions have Python's precedence, and DALI's types for numbers.
func TestExpressions(t *testing.T) {
	cmd := applyCmd{}
	apply := func(note string) applyResult {
		return cmd.apply(applyEntry{Operator: "arithmetic", Note: note, Inputs: []applyArray{
			{DType: "uint8", Shape: []int{2}, Data: []any{json.Number("6"), json.Number("200")}},
			{DType: "int8", Shape: []int{2}, Data: []any{json.Number("-2"), json.Number("3")}},
		}})
	}
	for note, want := range map[string]applyArray{
		"a+b*2":                            {DType: "int32", Data: []any{2., 206.}},
		"(a+b)*2":                          {DType: "int32", Data: []any{8., 406.}},
		"-a**2":                            {DType: "int32", Data: []any{-36., -40000.}},
		"2**3**2+b":                        {DType: "int32", Data: []any{510., 515.}},
		"a-b-1":                            {DType: "int32", Data: []any{7., 196.}},
		"a|1^3&2":                          {DType: "int32", Data: []any{7., 203.}},
		"a<<1<a+100":                       {DType: "bool", Data: []any{true, false}},
		"~b":                               {DType: "int8", Data: []any{1., -4.}},
		"+a":                               {DType: "uint8", Data: []any{6., 200.}},
		"min(a, 7)":                        {DType: "int32", Data: []any{6., 7.}},
		"math.floor(a / 4) - .5":           {DType: "float32", Data: []any{0.5, 49.5}},
		"a * (1e2 / 1_00)":                 {DType: "float32", Data: []any{6., 200.}},
		"a*True":                           {DType: "uint8", Data: []any{6., 200.}},
		"a+types.Constant(1) i16":          {DType: "int16", Data: []any{7., 201.}},
		"types.Constant(2, types.UINT8)*a": {DType: "uint8", Data: []any{12., 144.}},
		"fn.cast(a*1.5, dtype=types.INT8)": {DType: "int8", Data: []any{9., 127.}},
		"cast_i8(a)":                       {DType: "int8", Data: []any{6., 127.}},
		"a+[1,2]":                          {DType: "int32", Data: []any{7., 202.}},
		"a[1:]":                            {DType: "uint8", Data: []any{200.}},
		"a[-1]+1":                          {DType: "int32", Data: []any{201.}},
		"x[::-1]":                          {DType: "uint8", Data: []any{200., 6.}},
		"a//4%7":                           {DType: "int32", Data: []any{1., 1.}},
		"x*1.5 (python float)":             {DType: "float32", Data: []any{9., 300.}},
	} {
		got := apply(note)
		require.Empty(t, got.Error, note)
		require.Equal(t, want.DType, got.Output[0].DType, note)
		for i, v := range want.Data {
			require.Equal(t, element(t, v), element(t, got.Output[0].Data[i]), note)
		}
	}
	for note, want := range map[string]string{
		"":             "something is missing at the end",
		"a+":           "something is missing at the end",
		"a b":          `"b" is left over`,
		"(a":           `"" where ")" is wanted`,
		"c":            `"c" is not known`,
		"exec(a)":      "there is no function exec of 1 arguments",
		"1 < a < 3":    "two comparisons in a row; put one of them in brackets",
		"a[1.5]":       "an index must be an integer",
		"a[::0]":       "tensor_subscript: the step of a range is 0; another number is wanted",
		"a[5]":         "tensor_subscript: there is no element 5 in dimension 0, which has 2",
		"a[0,0]":       "tensor_subscript: 2 indices for an input of 1 dimensions",
		"a+5000000000": "constants: 5e+09 is not int32; give a number that it holds, or another type",
		"a//0":         "//: integers are divided by zero; divide floating-point numbers, or exclude zeros first",
		"a&1.5":        "&: an operand is float32; integers and bool have bits: cast it first",
		"a+[1,2,3]":    "+: the shapes [2] and [3] do not fit: extents must be equal, or one of them 1",
		"(a<b)+(a<b)":  "+: all operands are bool; a number is wanted: cast one of them first",
	} {
		got := apply(note)
		require.Contains(t, got.Error, want, note)
		require.NotContains(t, got.Error, "\n")
	}
}

func FuzzExpressions(f *testing.F) {
	for _, text := range []string{"a+b*2", "x[1:, ::-1]", "clamp(a, 1, types.Constant([1,2], types.INT8))", "-~a**-b", "fn.cast(a,dtype=types.FLOAT)", "a[dali.newaxis(\"C\")]"} {
		f.Add(text)
	}
	cmd := applyCmd{}
	f.Fuzz(func(t *testing.T, text string) {
		in := applyArray{DType: "uint8", Shape: []int{2}, Data: []any{json.Number("6"), json.Number("200")}}
		got := cmd.apply(applyEntry{Operator: "arithmetic", Note: text, Inputs: []applyArray{in, in}})
		require.True(t, got.Error != "" || len(got.Output) == 1)
	})
}
