package imaging

import "testing"

// Touch reads nothing, so only that it comes back is to be seen.
func TestTouchTakesAnyLength(t *testing.T) {
	mem := make([]byte, 2*touched)
	for n := range mem {
		Touch(mem[:n])
	}
	Touch(nil)
}
