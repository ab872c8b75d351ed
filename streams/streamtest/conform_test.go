package streamtest

import (
	"testing"

	"github.com/planktonml/plankton/streams"
)

func TestDeviceConforms(t *testing.T) {
	Conform(t, func(*testing.T) streams.Device { return New(1) })
}

func TestDevicesMadeTogetherConform(t *testing.T) {
	Conform(t, func(t *testing.T) streams.Device {
		d := NewDevices(1, 2)
		t.Cleanup(func() { d[0].Close() })
		return d[1]
	})
}
