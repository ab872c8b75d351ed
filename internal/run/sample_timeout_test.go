package run

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/alloctest"
)

// A sample in time allocates nothing, with a limit as without.
func TestSampleTimeoutDoesNotAllocate(t *testing.T) {
	l := newSampleLimit(time.Hour)
	defer l.close()
	run, cancel := context.WithCancel(t.Context())
	defer cancel()
	l.begin(run)
	alloctest.None(t, 100, func() {
		require.NoError(t, l.end())
		l.begin(run)
		l.pause()
		l.resume()
	})
}
