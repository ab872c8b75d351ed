package memstats

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"
)

// Kind is a kind of memory.
type Kind uint8

const (
	Host       Kind = iota // ordinary memory of the processor
	PageLocked             // host memory that a device copies from by itself
	Device                 // memory of a device; its bytes must not be touched
)

var kinds = [...]string{"host", "page-locked", "device"}

// String returns "host", "page-locked" or "device".
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// MarshalText writes what String returns.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText accepts what String returns for the kinds that there are.
func (k *Kind) UnmarshalText(text []byte) error {
	i := slices.Index(kinds[:], string(text))
	if i < 0 {
		return fmt.Errorf("memstats: no kind of memory %q; the kinds are %s", text, strings.Join(kinds[:], ", "))
	}
	*k = Kind(i)
	return nil
}

// Allocator is where memory comes from. Its methods are called from several
// goroutines.
type Allocator interface {
	// Alloc returns n > 0 bytes that start on an Align boundary and hold
	// anything. Of device memory the slice is only an address and a length.
	Alloc(n int) ([]byte, error)
	// Free takes back what Alloc returned.
	Free(mem []byte)
}

// Heap is the Allocator of Go memory, the default for host memory.
type Heap struct{}

// Alloc returns zero bytes. They are always on the heap: a slab of constant
// size could otherwise stay on a stack, and its address would not survive the
// stack's growth. What the machine has no room for is a *RoomError.
func (Heap) Alloc(n int) ([]byte, error) {
	if err := Room(int64(n)); err != nil {
		return nil, err
	}
	raw := make([]byte, n+Align)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(raw))) & (Align - 1))
	return raw[skip : skip+n : skip+n], nil
}

// Free leaves the memory to the garbage collector.
func (Heap) Free([]byte) {}
