// Package atomicfile writes files that are whole or not there: a full disk, an error or
// a lost machine leaves what was there before, never a part of what should be.
package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Write makes write's output the content of the file path. It goes to a file beside
// path first, is brought to the disk and then takes the name; after an error that file is
// gone and path is as it was. A link is followed, an existing file keeps its
// permissions, and what is no regular file, such as a pipe or /dev/stdout, is
// written directly.
func Write(path string, write func(io.Writer) error) error {
	target, mode := path, fs.FileMode(0)
	if info, err := os.Stat(path); err == nil {
		if !info.Mode().IsRegular() {
			return direct(path, write)
		}
		if target, err = filepath.EvalSymlinks(path); err != nil {
			return err
		}
		mode = info.Mode().Perm()
	}
	temp, err := create(target)
	if err != nil {
		return err
	}
	name := temp.Name()
	if mode != 0 {
		err = temp.Chmod(mode)
	}
	err = errors.Join(err, fill(temp, write, true))
	if err == nil {
		err = os.Rename(name, target)
	}
	if err != nil {
		_ = os.Remove(name)
		return of(path, name, err)
	}
	syncFolder(filepath.Dir(target))
	return nil
}

// direct writes what cannot be replaced.
func direct(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return fill(f, write, false)
}

// fill writes the content of a file and closes it.
func fill(f *os.File, write func(io.Writer) error, sync bool) error {
	buf := bufio.NewWriterSize(f, 64<<10)
	err := write(buf)
	if err == nil {
		err = buf.Flush()
	}
	if err == nil && sync {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// create makes a new file beside path. Its name begins with a dot, so that who lists
// the folder in between does not take it for a result.
func create(path string) (*os.File, error) {
	for {
		name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%08x", filepath.Base(path), rand.Uint32()))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return f, of(path, name, err)
		}
	}
}

// of makes an error of the file beside path name the one that was asked for.
func of(path, beside string, err error) error {
	if file := (*fs.PathError)(nil); errors.As(err, &file) && file.Path == beside {
		return &fs.PathError{Op: file.Op, Path: path, Err: file.Err}
	}
	if link := (*os.LinkError)(nil); errors.As(err, &link) && link.Old == beside {
		return &fs.PathError{Op: link.Op, Path: path, Err: link.Err}
	}
	return err
}
