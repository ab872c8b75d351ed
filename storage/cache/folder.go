package cache

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/planktonml/plankton/internal/filelock"
)

// The folder has
//
//	plankton-cache   which says that it is one; every process that uses it holds a shared lock
//	used             the bytes of all chunks, those that are being written included
//	new/             chunks that are being written
//	chunks/ab/abcd…  chunks, by their keys
//
// Whoever finds no other process at work counts the chunks anew, since one that was killed
// may have left room reserved, and removes what it has left in new.
const (
	markFile  = "plankton-cache"
	usedFile  = "used"
	newDir    = "new"
	chunksDir = "chunks"
)

const markText = "This folder is a cache of plankton; what is in it may be removed at any time, while no program uses it.\n"

// folder is a cache's folder in use.
type folder struct {
	dir   string
	limit int64
	mark  *os.File // holds the lock

	mu    sync.Mutex // of count
	count *os.File   // usedFile, locked for each change
}

// openFolder makes or takes over a folder and locks it.
func openFolder(ctx context.Context, dir string, limit int64) (*folder, error) {
	if err := checkOwn(dir); err != nil {
		return nil, err
	}
	f := &folder{dir: dir, limit: limit}
	var err error
	if f.mark, err = os.OpenFile(filepath.Join(dir, markFile), os.O_RDWR|os.O_CREATE, 0o666); err != nil {
		return nil, err
	}
	if f.count, err = os.OpenFile(filepath.Join(dir, usedFile), os.O_RDWR|os.O_CREATE, 0o666); err == nil {
		err = f.enter(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

// checkOwn refuses a folder that has other things in it.
func checkOwn(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Readdirnames(16)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, markFile)); err != nil {
		return fmt.Errorf("there are other things in it, such as %q; give an empty folder", names[0])
	}
	return nil
}

// enter takes the shared lock, after looking through the folder where no other process
// uses it.
func (f *folder) enter(ctx context.Context) error {
	for {
		alone, err := filelock.Try(f.mark, true)
		if err != nil {
			return err
		}
		if alone {
			if err := f.recount(); err != nil {
				return err
			}
			if _, err := f.mark.WriteAt([]byte(markText), 0); err != nil {
				return err
			}
			if err := filelock.Unlock(f.mark); err != nil {
				return err
			}
		}
		if shared, err := filelock.Try(f.mark, false); shared || err != nil {
			return err
		}
		pause := time.NewTimer(10 * time.Millisecond) // another process looks through it
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return fmt.Errorf("another program looks through the folder: %w", context.Cause(ctx))
		}
	}
}

func (f *folder) close() error {
	var err error
	if f.count != nil {
		err = f.count.Close()
	}
	return errors.Join(err, f.mark.Close())
}

// recount removes what was not finished and sets what is used.
func (f *folder) recount() error {
	for _, sub := range []string{newDir, chunksDir} {
		if err := os.MkdirAll(filepath.Join(f.dir, sub), 0o777); err != nil {
			return err
		}
	}
	unfinished, err := os.ReadDir(filepath.Join(f.dir, newDir))
	if err != nil {
		return err
	}
	for _, e := range unfinished {
		if err := os.Remove(filepath.Join(f.dir, newDir, e.Name())); err != nil {
			return err
		}
	}
	var used int64
	err = eachChunk(f.dir, func(_ string, size int64) error { used += size; return nil })
	if err != nil {
		return err
	}
	return f.change(func(int64) int64 { return used })
}

// eachChunk calls fn with the path and the size of every chunk.
func eachChunk(dir string, fn func(path string, size int64) error) error {
	return filepath.WalkDir(filepath.Join(dir, chunksDir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // dropped meanwhile
		}
		if err != nil {
			return err
		}
		return fn(path, info.Size())
	})
}

// change sets what is used, under a lock that holds for all processes.
func (f *folder) change(to func(used int64) int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := lock(f.count); err != nil {
		return err
	}
	used, err := f.used()
	if err == nil {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], uint64(to(used)))
		_, err = f.count.WriteAt(b[:], 0)
	}
	return errors.Join(err, filelock.Unlock(f.count))
}

// lockWait is how long a lock is waited for that others hold for an instant: a process
// may have been stopped while it held it.
const lockWait = 5 * time.Second

func lock(f *os.File) error {
	pause := 20 * time.Microsecond
	for began := time.Now(); ; {
		ok, err := filelock.Try(f, true)
		if ok || err != nil {
			return err
		}
		if time.Since(began) > lockWait {
			return fmt.Errorf("%s: another program does not give up its lock", f.Name())
		}
		time.Sleep(pause)
		pause = min(2*pause, 5*time.Millisecond)
	}
}

// used returns the bytes in the folder.
func (f *folder) used() (int64, error) {
	var b [8]byte
	if _, err := f.count.ReadAt(b[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	return int64(binary.LittleEndian.Uint64(b[:])), nil
}

// reserve takes room for n bytes, if there is so much.
func (f *folder) reserve(n int64) (ok bool) {
	err := f.change(func(used int64) int64 {
		if ok = used+n <= f.limit; ok {
			return used + n
		}
		return used
	})
	return ok && err == nil
}

// giveBack gives up room. Where that cannot be written the room is lost until the folder
// is counted anew.
func (f *folder) giveBack(n int64) {
	_ = f.change(func(used int64) int64 { return max(0, used-n) })
}

func (f *folder) path(k key) string {
	name := k.String()
	return filepath.Join(f.dir, chunksDir, name[:2], name)
}

// has reports whether a chunk is there.
func (f *folder) has(k key) bool {
	_, err := os.Stat(f.path(k))
	return err == nil
}

// read reads a part of a chunk of length bytes and checks it. It is fs.ErrNotExist where
// the chunk is not there.
func (f *folder) read(k key, length, from int, dst []byte, memory *keeper) error {
	file, err := os.Open(f.path(k))
	if err != nil {
		return err
	}
	defer file.Close()
	return readChunk(file, k, length, from, dst, memory)
}

// add writes a chunk for which there is room. It is fs.ErrExist where another process has
// done so before. A link makes it appear whole or not at all.
func (f *folder) add(k key, data []byte, version string, i int64) error {
	temp, err := os.CreateTemp(filepath.Join(f.dir, newDir), "")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(data)
	if err == nil {
		_, err = temp.Write(tail(k, data, version, i))
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	path := f.path(k)
	if err = os.Link(temp.Name(), path); errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o777); err == nil {
			err = os.Link(temp.Name(), path)
		}
	}
	return err
}

// drop removes a chunk and gives its room of n bytes back.
func (f *folder) drop(k key, n int64) error {
	err := os.Remove(f.path(k))
	if err == nil {
		f.giveBack(n)
	}
	return err
}
