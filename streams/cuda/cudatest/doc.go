// Package cudatest is what tests of devices on GPUs have in common: devices of the
// fake driver and of a real one, memory that ends with the test, and work on streams.
package cudatest
