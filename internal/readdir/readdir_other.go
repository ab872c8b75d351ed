//go:build !linux

package readdir

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// Each calls take for what is in a folder, in the order of the file system. Names are
// valid until take returns.
func Each(folder string, take func(name []byte, kind fs.FileMode)) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer d.Close()
	for {
		// Piecemeal: os.ReadDir would hold and sort objects for all entries.
		entries, err := d.ReadDir(1024)
		for _, e := range entries {
			take([]byte(e.Name()), e.Type())
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
