package readers

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/planktonml/plankton/internal/readdir"
	"github.com/planktonml/plankton/storage"
)

// maxListings is how many folders are listed at a time. On network storage each
// one waits for its answers.
const maxListings = 16

// scan is what listing a folder and the folders in it has in common.
type scan struct {
	place      fs.FS    // nil for the file system of the machine
	root       string   // ends in a separator, or is empty in a place
	extensions []string // with their dots
	sized      bool     // sizes are in the lists of folders, and kept
	rooms      sync.Pool
}

// folder is what was found in a folder.
type folder struct {
	*scan
	files   fileSorter // with paths relative to root, with slashes
	folders []string   // names of the folders in it, if they were not entered
	other   int        // files with other extensions
	example string     // one of those
}

// newScan returns what lists a folder. A place that is asked for ranges lists files with
// their sizes, so that none need be asked for one by one.
func newScan(place fs.FS, root string, extensions []string) *scan {
	_, ranges := place.(storage.RangeReader)
	s := &scan{place: place, root: root, extensions: extensions, sized: ranges}
	s.rooms.New = func() any { return new(sortRoom) }
	return s
}

// folder returns one of which nothing was found yet.
func (s *scan) folder() folder {
	return folder{scan: s, files: fileSorter{rooms: &s.rooms, sized: s.sized}}
}

// scanRoot lists a folder of files, or of one folder per class; then names are
// the classes. Names given decide the labels.
func scanRoot(place fs.FS, root string, extensions, names []string) (files fileList, classes []string, err error) {
	s := newScan(place, root, extensions)
	top := s.folder()
	if err := top.list("", false); err != nil {
		return fileList{}, nil, explain(err, &top)
	}
	slices.Sort(top.folders)
	subs := make([]folder, len(top.folders))
	var group errgroup.Group
	group.SetLimit(maxListings)
	for i, name := range top.folders {
		subs[i] = s.folder()
		group.Go(func() error { return subs[i].list(name+"/", true) })
	}
	if err := group.Wait(); err != nil {
		return fileList{}, nil, err
	}
	inside := 0 // the first class folder with files
	for inside < len(subs) && subs[inside].files.len() == 0 {
		inside++
	}
	switch {
	case inside < len(subs) && top.files.len() > 0:
		return fileList{}, nil, fmt.Errorf("%s holds both files (%s) and class folders with files (%s); move one kind away, or name the files in a List",
			&top, top.files.lists[0].path(0), top.folders[inside])
	case inside < len(subs):
		return mergeClasses(&top, subs, names)
	case top.files.len() > 0:
		return mergeFolders(s, []*folder{&top}), nil, nil
	}
	return fileList{}, nil, nothingFound(&top, subs)
}

// mergeClasses joins the files of the class folders in the order of the labels.
func mergeClasses(top *folder, subs []folder, names []string) (files fileList, classes []string, err error) {
	found := top.folders
	classes = found
	if len(names) > 0 {
		classes = slices.Clone(names)
	}
	labelOf := make(map[string]int, len(classes))
	for label, name := range classes {
		if other, twice := labelOf[name]; twice {
			return fileList{}, nil, fmt.Errorf("ClassNames[%d] and [%d] are both %q; a class folder has one label", other, label, name)
		}
		labelOf[name] = label
	}
	byLabel := make([]*folder, len(classes))
	for i, name := range found {
		label, ok := labelOf[name]
		if !ok {
			return fileList{}, nil, fmt.Errorf("%s holds the folder %s, which is none of the %d ClassNames; add it there, or move it away", top, name, len(names))
		}
		byLabel[label] = &subs[i]
	}
	return mergeFolders(top.scan, byLabel), classes, nil
}

// mergeFolders joins the files of folders by their label, nil for one that is not there.
func mergeFolders(s *scan, byLabel []*folder) fileList {
	size, count := 0, 0
	for _, f := range byLabel {
		if f != nil {
			size += f.files.bytes()
			count += f.files.len()
		}
	}
	files := fileList{sized: s.sized}
	files.grow(count, size)
	for label, f := range byLabel {
		if f != nil {
			f.files.take(&files, int32(label))
		}
	}
	return files
}

// list adds the files of the folder dir below the root, which is empty or ends
// in a slash, and sorts them. Folders in it are entered if deep, else noted.
func (f *folder) list(dir string, deep bool) error {
	defer f.files.finish()
	return f.enter(dir, deep)
}

func (f *folder) enter(dir string, deep bool) error {
	below, err := f.listOne(dir, deep)
	if err != nil {
		return err
	}
	if !deep {
		f.folders = below
		return nil
	}
	for _, name := range below {
		if err := f.enter(dir+name+"/", true); err != nil {
			return err
		}
	}
	return nil
}

// listOne adds the files of one folder and returns the names of the folders in
// it. A link counts as a file if its name has one of the extensions. Links to
// folders are followed in the root only, so that no way leads in a circle.
func (f *folder) listOne(dir string, deep bool) (below []string, err error) {
	take := func(name []byte, kind fs.FileMode, info func() (fs.FileInfo, error)) error {
		switch {
		case bytes.HasPrefix(name, []byte(".")):
		case kind.IsDir():
			below = append(below, string(name))
		case (kind.IsRegular() || kind == fs.ModeSymlink) && f.wanted(name):
			size := int64(-1)
			if f.sized {
				info, err := info()
				if err != nil {
					return err
				}
				size = info.Size()
			}
			f.files.add(dir, name, size)
		case kind == fs.ModeSymlink && !deep && f.isFolder(string(name)):
			below = append(below, string(name))
		default:
			if f.other == 0 {
				f.example = dir + string(name)
			}
			f.other++
		}
		return nil
	}
	shownAs := filepath.Clean
	if f.place != nil {
		shownAs = path.Clean
		var entries []fs.DirEntry
		entries, err = fs.ReadDir(f.place, path.Clean(f.root+dir))
		for i := 0; i < len(entries) && err == nil; i++ {
			e := entries[i]
			err = take([]byte(e.Name()), e.Type(), e.Info)
		}
	} else {
		err = readdir.Each(f.root+dir, func(name []byte, kind fs.FileMode) { _ = take(name, kind, nil) }) // sizes, which alone can fail, are not asked for
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown(shownAs(f.root+dir)), cause(err))
	}
	return below, nil
}

// wanted reports whether a file has one of the extensions.
func (f *folder) wanted(name []byte) bool {
	for _, ext := range f.extensions {
		if n := len(name) - len(ext); n > 0 && bytes.EqualFold(name[n:], []byte(ext)) {
			return true
		}
	}
	return false
}

// isFolder reports whether a link below the root leads to a folder.
func (f *folder) isFolder(name string) bool {
	info, err := f.stat(name)
	return err == nil && info.IsDir()
}

// stat describes what lies below the root, or the root itself as "".
func (f *folder) stat(name string) (fs.FileInfo, error) {
	if f.place != nil {
		return fs.Stat(f.place, path.Clean(f.root+name))
	}
	return os.Stat(filepath.Clean(f.root + name))
}

// String returns the folder as messages show it.
func (f *folder) String() string {
	if f.root == "" {
		return "."
	}
	return f.root
}

// explain makes an error of opening the root say what is wanted.
func explain(err error, root *folder) error {
	if info, statErr := root.stat(""); statErr == nil && !info.IsDir() {
		return fmt.Errorf("Root %s is a file, not a folder; give a folder of files or of one folder per class, or a list of files as List", filepath.Clean(root.root))
	}
	return fmt.Errorf("Root %w; give a folder of files or of one folder per class", err)
}

func nothingFound(top *folder, subs []folder) error {
	other, example := top.other, top.example
	for i := range subs {
		other += subs[i].other
		example = cmp.Or(example, subs[i].example)
	}
	wanted := strings.Join(top.extensions, " ")
	if other == 0 {
		return fmt.Errorf("Root %s holds no files; give a folder of files (%s) or of one folder per class", top, wanted)
	}
	return fmt.Errorf("Root %s holds no file that ends in one of %s, only %d others such as %s; give another folder or set Extensions", top, wanted, other, example)
}
