package memstats

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestBufferGrowsAlignedAndIsCounted(t *testing.T) {
	var p Pool
	var b Buffer
	for _, n := range []int{0, 1, 63, 64, 65, 4096, 10, 100_000} {
		mem := b.Resize(&p, n)
		require.Len(t, mem, n)
		require.Equal(t, n, cap(mem), "a neighbour's bytes must be out of reach")
		if n > 0 {
			require.Zero(t, uintptr(unsafe.Pointer(&mem[0]))%Align)
		}
	}
	require.Equal(t, Stats{Live: 100_000, Peak: 100_000, Allocations: 6}, p.Stats())
	b.Free()
	b.Free()
	require.Equal(t, Stats{Live: 0, Peak: 100_000, Allocations: 6}, p.Stats())
}

func TestResizeWithinReservedAllocatesNothing(t *testing.T) {
	var p Pool
	var b Buffer
	b.Resize(&p, 1000)
	n := 0
	require.Zero(t, testing.AllocsPerRun(100, func() { n = (n + 37) % 1000; b.Resize(&p, n) }))
}

func TestPoolsCountApart(t *testing.T) {
	var p, q Pool
	var a, b Buffer
	a.Resize(&p, 100)
	b.Resize(&q, 50)
	a.Free()
	require.EqualValues(t, 0, p.Stats().Live)
	require.EqualValues(t, 50, q.Stats().Live)
}
