//go:build linux && (amd64 || arm64)

package dynlib

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestCall(t *testing.T) {
	_, err := Open("libplankton-is-not-here.so")
	require.ErrorContains(t, err, "libplankton-is-not-here.so")
	handle, err := Open("libc.so.6")
	if err != nil {
		t.Skip("the C library has another name here:", err)
	}
	require.Zero(t, Symbol(handle, "plankton_has_no_such_function"))
	text := []byte("-12\x00")
	require.EqualValues(t, -12, Call(Symbol(handle, "atoi"), uintptr(unsafe.Pointer(&text[0]))))
}
