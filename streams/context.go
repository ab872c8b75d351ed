package streams

import "unsafe"

// Context is what a stream hands to its work. It belongs to the stream: work
// runs in order, so nothing that it holds is ever shared, and it must not be
// kept or used after the work has returned.
type Context struct {
	// Value is a slot for the kernels of the stream, kept from one to the next:
	// a random number generator, a library handle. It starts as nil.
	Value any
	// Native is what the device adds, such as the driver's stream; nil on the host.
	Native any

	workspace []byte
}

// workspaceAlign is the alignment of workspaces in bytes: a cache line, and the
// widest vector register.
const workspaceAlign = 64

// Workspace returns size bytes of host scratch memory, aligned to 64 bytes, with
// whatever an earlier kernel left there. The memory stays with the stream and
// only grows; the next call may return the same bytes.
func (c *Context) Workspace(size int) []byte {
	if size > len(c.workspace) {
		// Doubling bounds how often a slowly growing demand allocates.
		room := max(size, 2*len(c.workspace))
		raw := make([]byte, room+workspaceAlign-1)
		skip := -uintptr(unsafe.Pointer(unsafe.SliceData(raw))) % workspaceAlign
		c.workspace = raw[skip : skip+uintptr(room)]
	}
	return c.workspace[:size:size]
}
