// Package nvrtc compiles CUDA C in tests, by NVIDIA's library NVRTC, on Linux.
package nvrtc
