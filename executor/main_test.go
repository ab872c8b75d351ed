// The tests of this package take the cases of TensorFlow's executor,
// control-flow and rendezvous tests, and of libnnc's while and case..of tests,
// that concern ordering, control flow, deadness and errors, with arithmetic on
// integers for kernels. Out of scope are gradients and the tape (versions of a
// tensor per iteration for backpropagation), reference variables and their
// dtype checks (an edge carries any Value; a kernel that reads another kind
// than it was sent fails its node), assignments to shared variables beyond
// unordered counters, step statistics, device contexts that travel with a
// received value, and data-parallel training.
package executor

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
