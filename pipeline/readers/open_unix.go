//go:build unix

package readers

import "golang.org/x/sys/unix"

// nonblocking keeps the opening of a named pipe from waiting for its writer.
const nonblocking = unix.O_NONBLOCK
