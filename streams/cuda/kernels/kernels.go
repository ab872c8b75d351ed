// Package kernels holds the GPU kernels of the operators for whole batches: their
// source in CUDA C and what NVIDIA's compiler makes of it for compute capability
// 6.0, which every driver since CUDA 11.8 runs on every GPU since Pascal.
package kernels

import _ "embed"

// Source is the CUDA C source.
//
//go:embed kernels.cu
var Source string

// PTX is the compiled source. Its first line names the SHA-256 of the source. To
// compile it anew, set PLANKTON_NVRTC to the library of NVRTC 11.8
// (libnvrtc.so.11.2, with its builtins beside it) and run go generate.
//
//go:generate go test -count=1 -run ^TestPTXIsOfTheSource$ -update .
//go:embed kernels.ptx
var PTX string
