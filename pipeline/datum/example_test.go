package datum_test

import (
	"context"
	"fmt"

	"github.com/planktonml/plankton/pipeline/datum"
)

// A kernel is tested outside of a pipeline: its input is filled by hand, and its random
// numbers are those of a sample that is named.
func ExampleKernel() {
	noise := datum.NewRandom(1)
	var kernel datum.Kernel = datum.KernelFunc(func(s *datum.Sample, in, out []*datum.Tensor) error {
		if _, err := out[0].Resize(in[0].Shape()...); err != nil {
			return err
		}
		r := noise.At(s)
		for i, x := range in[0].Float32s() {
			out[0].Float32s()[i] = x + float32(r.IntN(10))
		}
		return nil
	})

	spec := datum.Spec{DType: datum.Float32, Shape: []int{-1}}
	in, out := new(datum.Tensor), new(datum.Tensor)
	in.Declare(&spec)
	out.Declare(&spec)
	if _, err := in.Resize(3); err != nil {
		panic(err)
	}
	copy(in.Float32s(), []float32{100, 200, 300})

	const seed, epoch = 7, 0
	for id := range int64(2) {
		s := datum.NewSample(context.Background(), nil, seed, epoch, id)
		outs := []*datum.Tensor{out}
		datum.Begin(outs)
		if err := kernel.Run(&s, []*datum.Tensor{in}, outs); err != nil {
			panic(err)
		}
		if err := datum.Unwritten(outs); err != nil {
			panic(err)
		}
		fmt.Println(id, out.Float32s())
	}
	// Output:
	// 0 [100 206 307]
	// 1 [103 205 300]
}
