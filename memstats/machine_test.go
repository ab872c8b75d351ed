package memstats

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheMachineHasMemory(t *testing.T) {
	require.Greater(t, MachineMemory(), int64(64<<20))
	require.LessOrEqual(t, MachineMemory(), int64(addressSpace))
	require.NoError(t, Room(MachineMemory()/1000))
}

func TestMoreThanTheMachineHas(t *testing.T) {
	for _, n := range []int{int(MachineMemory()) + 1, addressSpace, 1 << 60, math.MaxInt} {
		_, err := Heap{}.Alloc(n)
		var over *RoomError
		require.ErrorAs(t, err, &over)
		require.Equal(t, RoomError{Need: int64(n), Machine: MachineMemory()}, *over)
		require.ErrorContains(t, err, "are more than this machine, or its control group, has ")

		var b Buffer
		_, err = b.Resize(new(Pool), n)
		require.ErrorAs(t, err, &over)
		require.Zero(t, b.Reserved())
	}
}

// Room is what the live heap leaves; what may be garbage is collected before anything
// that could fit is refused.
func TestRoomBesideTheLiveHeap(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		n       int64
		live    []int64 // before and after the collection
		refused string
	}{
		{n: 1, live: []int64{99 * mib}},
		{n: mib - 1, live: []int64{99 * mib}},
		{n: 4 * mib, live: []int64{6 * mib}},
		{n: 5 * mib, live: []int64{6 * mib, 5 * mib}},
		{n: 5 * mib, live: []int64{6 * mib, 6 * mib}, refused: "5242880 bytes are more than this machine, or its control group, has left, of 10485760; use smaller"},
		{n: 11 * mib, live: []int64{0}, refused: "11534336 bytes are more than this machine, or its control group, has 10485760; use smaller"},
	} {
		looks := 0
		err := room(c.n, 10*mib, func() int64 { looks++; return c.live[looks-1] })
		if c.refused == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.refused)
		}
	}
	mem := make([]byte, 8*mib)
	require.Greater(t, liveHeap(), int64(len(mem)))
}
