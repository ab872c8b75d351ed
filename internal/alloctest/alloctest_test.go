package alloctest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

var sink *[64]byte

// fakeT keeps whether a test failed.
type fakeT struct {
	testing.TB
	failed bool
}

func (*fakeT) Helper()                 {}
func (f *fakeT) Fatalf(string, ...any) { f.failed = true }

func TestNone(t *testing.T) {
	None(t, 10, func() {})
	f := &fakeT{}
	None(f, 10, func() { sink = new([64]byte) })
	require.Equal(t, !race, f.failed)
}

// What allocates once in a while, beside f, does not count.
func TestPerRoundIsTheLeastOfSeveralCounts(t *testing.T) {
	round := 0
	require.Zero(t, PerRound(10, func() {
		if round++; round < 25 {
			sink = new([64]byte)
		}
	}))
}

func TestPerRoundCounts(t *testing.T) {
	if race {
		t.Skip("the race detector changes what is allocated")
	}
	require.EqualValues(t, 2, PerRound(10, func() { sink = new([64]byte); sink = new([64]byte) }))
}
