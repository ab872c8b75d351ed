package kernels_test

import (
	"fmt"
	"strings"

	"github.com/planktonml/plankton/streams/cuda/kernels"
)

// PTX is what a driver loads; a program that compiles for a GPU of its own begins with Source.
func Example() {
	fmt.Println(strings.Contains(kernels.PTX, ".target sm_60"))
	fmt.Println(strings.Contains(kernels.Source, "__global__"))
	// Output:
	// true
	// true
}
