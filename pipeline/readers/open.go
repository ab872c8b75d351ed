package readers

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/planktonml/plankton/internal/printable"
)

// openRegular opens a file that is read when its reader is added, such as a list. What
// is no regular file is refused and never waited for: a named pipe without a writer
// would hold New up for ever.
func openRegular(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|nonblocking, 0)
	return regular(name, f, err)
}

// openIn opens a file that is read when its reader is added, in a place or, without one,
// on the machine. What is no regular file is refused.
func openIn(place fs.FS, name string) (io.ReadCloser, error) {
	if place == nil {
		return openRegular(name)
	}
	f, err := place.Open(name)
	return regular(name, f, err)
}

// regular returns a file that was opened, or the error, and refuses what is no regular file.
func regular[F fs.File](name string, f F, err error) (none F, _ error) {
	if err != nil {
		return none, fmt.Errorf("%s: %w", shown(name), cause(err))
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notRegular(info.Mode().Type())
	}
	if err != nil {
		_ = f.Close()
		return none, fmt.Errorf("%s: %w", shown(name), cause(err))
	}
	return f, nil
}

// cause returns the error of a call of the system without the path, which messages
// name themselves.
func cause(err error) error {
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// longestShown is the longest path that a message shows whole.
const longestShown = 300

// shown returns a path as messages show it. Of a very long one, as folders in folders
// by the thousand have it, it is the beginning and the end.
func shown(path string) string {
	if n := len(path); n > longestShown {
		return fmt.Sprintf("%s … %s (%d bytes)", printable.Name(path[:longestShown/2]), printable.Name(path[n-longestShown/4:]), n)
	}
	return printable.Name(path)
}
