package cuda_test

import (
	"testing"

	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/streamtest"
)

func TestStreamsKeepTheRules(t *testing.T) {
	onEach(t, func(t *testing.T, open func(t testing.TB) *cuda.Device) {
		streamtest.Conform(t, func(t *testing.T) streams.Device { return open(t) })
	})
}
