// Package elementwise holds GPU kernels for Gorgonia's operators for single elements, under
// the names and with the arguments by which Gorgonia calls kernels: their source in CUDA C
// and what NVIDIA's compiler makes of it for compute capability 6.0, which every driver
// since CUDA 11.8 runs on every GPU since Pascal. Each kernel is there for float32 (f32)
// and float64 (f64).
package elementwise

import (
	_ "embed"
	"strings"
)

// Source is the CUDA C source. One of the macros BINARY and UNARY chooses the module.
//
//go:embed elementwise.cu
var Source string

// To compile the PTX anew, set PLANKTON_NVRTC to the library of NVRTC 11.8
// (libnvrtc.so.11.2, with its builtins beside it) and run go generate.
//
//go:generate go test -count=1 -run ^TestPTXIsOfTheSource$ -update .

//go:embed elembinop.ptx
var binary string

//go:embed elemunaryop.ptx
var unary string

// A Module is compiled kernels under the name by which Gorgonia looks for them.
type Module struct {
	Name string
	PTX  string // its first line names the SHA-256 of the source
}

// Binary are the operators of two inputs: add, sub, mul, div, pow, lt, gt, lte, gte, eq and
// ne, each of two vectors (vv), of a vector and a scalar (vs), of a scalar and a vector
// (sv) and of two scalars (ss), such as "add_vv_f32".
var Binary = Module{"elembinop", binary}

// Unary are the operators of one input: abs, sign, ceil, floor, sin, cos, exp, ln, log2,
// neg, square, sqrt, inv, invSqrt, cube, tanh, sigmoid, log1p, expm1 and softplus, such as
// "sqrt_f32".
var Unary = Module{"elemunaryop", unary}

// Kernels returns the names of the module's kernels, in the order of the source.
func (m Module) Kernels() (names []string) {
	for line := range strings.Lines(m.PTX) {
		if _, rest, ok := strings.Cut(line, ".entry "); ok {
			name, _, _ := strings.Cut(rest, "(")
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}
