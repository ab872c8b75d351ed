package elementwise_test

import (
	"fmt"
	"slices"

	"github.com/planktonml/plankton/streams/cuda/kernels/elementwise"
)

func ExampleModule_Kernels() {
	fmt.Println(slices.Contains(elementwise.Binary.Kernels(), "add_vv_f32"))
	fmt.Println(slices.Contains(elementwise.Unary.Kernels(), "sqrt_f64"))
	// Output:
	// true
	// true
}
