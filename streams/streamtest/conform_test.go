package streamtest

import (
	"testing"

	"github.com/planktonml/plankton/streams"
)

func TestDeviceConforms(t *testing.T) {
	Conform(t, func(*testing.T) streams.Device { return New(1) })
}
