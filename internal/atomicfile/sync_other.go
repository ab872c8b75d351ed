//go:build !unix

package atomicfile

// syncFolder does nothing: the system has no such thing.
func syncFolder(string) {}
