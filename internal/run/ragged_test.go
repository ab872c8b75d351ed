package run

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFitsBetter(t *testing.T) {
	for _, c := range []struct {
		a, b, n int
		want    bool
	}{
		{100, 200, 50, true},
		{200, 100, 50, false},
		{100, 100, 50, false},
		{100, 40, 50, true},
		{40, 100, 50, false},
		{40, 30, 50, true}, // grows by less
		{30, 40, 50, false},
	} {
		require.Equal(t, c.want, fitsBetter(c.a, c.b, c.n), c)
	}
}
