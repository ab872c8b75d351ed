//go:build linux && (amd64 || arm64)

package dynlib

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// Goroutines that are moved between threads get the error of their own call.
func TestOpenErrors(t *testing.T) {
	var failed errgroup.Group
	for g := range 16 {
		name := fmt.Sprintf("libplankton-is-not-here-%d.so", g)
		failed.Go(func() error {
			for range 50 {
				if _, err := Open(name); err == nil || !strings.Contains(err.Error(), name) {
					return fmt.Errorf("opening %s: %v", name, err)
				}
			}
			return nil
		})
	}
	require.NoError(t, failed.Wait())
}

func TestCall(t *testing.T) {
	handle, err := Open("libc.so.6")
	if err != nil {
		t.Skip("the C library has another name here:", err)
	}
	require.Zero(t, Symbol(handle, "plankton_has_no_such_function"))
	text := []byte("-12\x00")
	require.EqualValues(t, -12, Call(Symbol(handle, "atoi"), uintptr(unsafe.Pointer(&text[0]))))
}
