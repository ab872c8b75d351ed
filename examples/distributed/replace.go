package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// replace makes text the content of a file, and keeps what the file was under its name
// with the ending of a previous one. At any moment one of the two is whole, on the disk
// as well: a file that is renamed before it is written out may be empty after a power cut,
// and a rename that is not written out may not have happened.
func replace(name string, text []byte) error {
	temp := name + ".new"
	if err := write(temp, text); err != nil {
		return err
	}
	if err := os.Rename(name, name+previous); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(temp, name); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(name))
}

// toDisk waits until what was written to a file, or renamed in a folder, is on the disk.
var toDisk = (*os.File).Sync

func write(name string, text []byte) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = toDisk(f)
	}
	return errors.Join(err, f.Close())
}

func syncFolder(name string) error {
	if runtime.GOOS == "windows" { // which has no such call, and needs none
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(toDisk(f), f.Close())
}
