//go:build unix

package guardpage

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// An Area is memory between two guard pages. It is outside the Go heap and holds no
// pointers.
type Area struct{ mem []byte }

// New returns an area of at least size bytes, which lasts as long as the test.
func New(t testing.TB, size int) *Area {
	t.Helper()
	page := os.Getpagesize()
	inner := (size + page - 1) / page * page
	all, err := unix.Mmap(-1, 0, page+inner+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(all)) })
	for _, guard := range [][]byte{all[:page], all[page+inner:]} {
		require.NoError(t, unix.Mprotect(guard, unix.PROT_NONE))
	}
	return &Area{all[page : page+inner : page+inner]}
}

// First returns the first n bytes, right behind a guard page.
func (a *Area) First(n int) []byte { return a.mem[:n:n] }

// Last returns the last n bytes, right in front of a guard page.
func (a *Area) Last(n int) []byte { return a.mem[len(a.mem)-n:] }

// Ends are First and Last, for tests at both ends of areas.
var Ends = []func(a *Area, n int) []byte{(*Area).First, (*Area).Last}
