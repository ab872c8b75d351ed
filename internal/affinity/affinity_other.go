//go:build !linux

package affinity

// Allowed returns ErrUnsupported.
func Allowed() ([]int, error) { return nil, ErrUnsupported }

// Get returns ErrUnsupported.
func Get() ([]int, error) { return nil, ErrUnsupported }

// Pin returns ErrUnsupported.
func Pin([]int) (unpin func(), err error) { return nil, ErrUnsupported }
