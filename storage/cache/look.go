package cache

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/planktonml/plankton/internal/filelock"
)

// Contents is what a folder holds.
type Contents struct {
	Bytes  int64 `json:"bytes"`
	Chunks int64 `json:"chunks"`
	Bad    int64 `json:"bad"` // chunks that were damaged; Check has removed them

	Folders []Folder `json:"folders"` // those with most bytes first
}

// Folder is a folder of a store of which files are kept.
type Folder struct {
	Name   string `json:"name"`
	Files  int64  `json:"files"`
	Chunks int64  `json:"chunks"`
	Bytes  int64  `json:"bytes"`
}

// Look says what a cache's folder holds, also while programs use it. It reads the end of
// every chunk.
func Look(dir string) (*Contents, error) {
	return look(dir, func(f *os.File, size int64) (string, error) {
		_, version, err := readFooter(f, size)
		return version, err
	}, false)
}

// Check reads all that a folder holds and removes what is damaged, also while programs use it.
func Check(dir string) (*Contents, error) {
	k := &keeper{}
	return look(dir, func(f *os.File, size int64) (string, error) {
		foot, version, err := readFooter(f, size)
		if err != nil {
			return "", err
		}
		mem := k.buffer(int(foot.Length))
		defer k.buffers.Put(mem)
		if foot.Key.String() != filepath.Base(f.Name()) {
			return "", errDamaged
		}
		return version, readChunk(f, foot.Key, int(foot.Length), 0, *mem, k)
	}, true)
}

func look(dir string, read func(f *os.File, size int64) (version string, err error), mend bool) (*Contents, error) {
	if _, err := os.Stat(filepath.Join(dir, markFile)); err != nil {
		return nil, fmt.Errorf("cache: %s is no cache: %w", dir, err)
	}
	found := &Contents{Folders: []Folder{}}
	folders := map[string]*Folder{}
	files := map[string]bool{}
	err := eachChunk(dir, func(name string, size int64) error {
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		version, err := read(f, size)
		if err := f.Close(); err != nil {
			return err
		}
		if err != nil {
			found.Bad++
			if mend {
				return remove(dir, name, size)
			}
			return nil
		}
		found.Bytes += size
		found.Chunks++
		at := folderOf(version)
		if folders[at] == nil {
			folders[at] = &Folder{Name: at}
		}
		folders[at].Bytes += size
		folders[at].Chunks++
		if !files[version] {
			files[version] = true
			folders[at].Files++
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	for _, f := range folders {
		found.Folders = append(found.Folders, *f)
	}
	slices.SortFunc(found.Folders, func(a, b Folder) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), strings.Compare(a.Name, b.Name))
	})
	return found, nil
}

// folderOf returns the folder of a file by its version: an address, the name in quotation
// marks, and more.
func folderOf(version string) string {
	_, quoted, _ := strings.Cut(version, " ")
	quoted, err := strconv.QuotedPrefix(quoted)
	if err != nil {
		return "other"
	}
	name, err := strconv.Unquote(quoted)
	if err != nil {
		return "other"
	}
	scheme, rest, ok := strings.Cut(name, "://")
	if !ok {
		return path.Dir(name)
	}
	return scheme + "://" + path.Dir(rest)
}

// remove removes a damaged chunk, whose room is given back.
func remove(dir, name string, size int64) error {
	count, err := os.OpenFile(filepath.Join(dir, usedFile), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	f := &folder{dir: dir, count: count}
	if err = os.Remove(name); err == nil {
		f.giveBack(size)
	}
	return errors.Join(err, count.Close())
}

// ErrInUse is that a folder is used by a program.
var ErrInUse = errors.New("a program uses it; end the program first")

// Clean removes all that a cache's folder holds; it stays a cache's folder. One that a
// program uses is refused, with ErrInUse, and so is one that is no cache's.
func Clean(dir string) (err error) {
	mark, err := os.OpenFile(filepath.Join(dir, markFile), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("cache: %s is no cache: %w", dir, err)
	}
	defer func() {
		if err = errors.Join(err, mark.Close()); err != nil {
			err = fmt.Errorf("cache: %s: %w", dir, err)
		}
	}()
	alone, err := filelock.Try(mark, true)
	if err != nil {
		return err
	}
	if !alone {
		return ErrInUse
	}
	if err := os.RemoveAll(filepath.Join(dir, chunksDir)); err != nil {
		return err
	}
	count, err := os.OpenFile(filepath.Join(dir, usedFile), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	return errors.Join((&folder{dir: dir, count: count}).recount(), count.Close())
}
