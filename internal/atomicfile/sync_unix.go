//go:build unix

package atomicfile

import "os"

// syncFolder brings the names in a folder to the disk. What keeps it from that keeps no
// content from its file: a folder that may not be read, or a file system that cannot.
func syncFolder(dir string) {
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	_ = f.Sync()
	f.Close()
}
