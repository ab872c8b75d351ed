//go:build unix

package guardpage

import (
	"runtime/debug"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestAccessBesideAnAreaFaults(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	a := New(t, 5000)
	for _, mem := range [][]byte{a.First(5000), a.Last(5000)} {
		require.Len(t, mem, 5000)
		require.Equal(t, 5000, cap(mem))
		for i := range mem {
			mem[i] = byte(i)
		}
	}
	before := (*byte)(unsafe.Add(unsafe.Pointer(&a.First(1)[0]), -1))
	behind := (*byte)(unsafe.Add(unsafe.Pointer(&a.Last(1)[0]), 1))
	for _, p := range []*byte{before, behind} {
		require.Panics(t, func() { *p = 1 })
		require.Panics(t, func() { sink = *p })
	}
}

var sink byte
