package readers

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/planktonml/plankton/storage"
)

// maxListings is how many folders are listed at a time. On network storage each
// one waits for its answers.
const maxListings = 16

// folder is what was found in a folder.
type folder struct {
	place      fs.FS    // nil for the file system of the machine
	root       string   // ends in a separator, or is empty in a place
	extensions []string // with their dots

	files   pathList // relative to root, with slashes
	folders []string // names of the folders in it, if they were not entered
	other   int      // files with other extensions
	example string   // one of those
}

// newFolder returns a folder of which nothing was found yet. A place that is asked for
// ranges lists files with their sizes, so that none need be asked for one by one.
func newFolder(place fs.FS, root string, extensions []string) folder {
	_, ranges := place.(storage.RangeReader)
	return folder{place: place, root: root, extensions: extensions, files: pathList{sized: ranges}}
}

// scanRoot lists a folder of files, or of one folder per class; then names are
// the classes and labels has one label per file. Names given decide the labels.
func scanRoot(place fs.FS, root string, extensions, names []string) (files pathList, labels []int32, classes []string, err error) {
	top := newFolder(place, root, extensions)
	if err := top.list("", false); err != nil {
		return pathList{}, nil, nil, explain(err, &top)
	}
	slices.Sort(top.folders)
	subs := make([]folder, len(top.folders))
	var group errgroup.Group
	group.SetLimit(maxListings)
	for i, name := range top.folders {
		subs[i] = newFolder(place, root, extensions)
		group.Go(func() error {
			err := subs[i].list(name+"/", true)
			subs[i].files.sort()
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return pathList{}, nil, nil, err
	}
	inside := slices.IndexFunc(subs, func(f folder) bool { return f.files.len() > 0 })
	switch {
	case inside >= 0 && top.files.len() > 0:
		return pathList{}, nil, nil, fmt.Errorf("%s holds both files (%s) and class folders with files (%s); move one kind away, or name the files in a List",
			&top, top.files.at(0), top.folders[inside])
	case inside >= 0:
		return mergeClasses(&top, subs, names)
	case top.files.len() > 0:
		top.files.sort()
		return top.files, make([]int32, top.files.len()), nil, nil
	}
	return pathList{}, nil, nil, nothingFound(&top, subs)
}

// mergeClasses joins the files of the class folders in the order of the labels.
func mergeClasses(top *folder, subs []folder, names []string) (files pathList, labels []int32, classes []string, err error) {
	found := top.folders
	classes = found
	if len(names) > 0 {
		classes = slices.Clone(names)
	}
	labelOf := make(map[string]int, len(classes))
	for label, name := range classes {
		if other, twice := labelOf[name]; twice {
			return pathList{}, nil, nil, fmt.Errorf("ClassNames[%d] and [%d] are both %q; a class folder has one label", other, label, name)
		}
		labelOf[name] = label
	}
	byLabel := make([]*folder, len(classes))
	size, count := 0, 0
	for i, name := range found {
		label, ok := labelOf[name]
		if !ok {
			return pathList{}, nil, nil, fmt.Errorf("%s holds the folder %s, which is none of the %d ClassNames; add it there, or move it away", top, name, len(names))
		}
		byLabel[label] = &subs[i]
		size += len(subs[i].files.blob)
		count += subs[i].files.len()
	}
	files = pathList{sized: top.files.sized, blob: make([]byte, 0, size), start: make([]int, 0, count)}
	labels = make([]int32, 0, count)
	for label, f := range byLabel {
		if f == nil {
			continue
		}
		files.addAll(&f.files)
		for range f.files.len() {
			labels = append(labels, int32(label))
		}
		f.files = pathList{}
	}
	return files, labels, classes, nil
}

// list adds the files of the folder dir below the root, which is empty or ends
// in a slash. Folders in it are entered if deep, else noted.
func (f *folder) list(dir string, deep bool) error {
	below, err := f.listOne(dir, deep)
	if err != nil {
		return err
	}
	if !deep {
		f.folders = below
		return nil
	}
	for _, name := range below {
		if err := f.list(dir+name+"/", true); err != nil {
			return err
		}
	}
	return nil
}

// listOne adds the files of one folder and returns the names of the folders in
// it. A link counts as a file if its name has one of the extensions. Links to
// folders are followed in the root only, so that no way leads in a circle.
func (f *folder) listOne(dir string, deep bool) (below []string, err error) {
	if f.place != nil {
		entries, err := fs.ReadDir(f.place, path.Clean(f.root+dir))
		if err == nil {
			below, err = f.take(entries, dir, deep, nil)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", shown(path.Clean(f.root+dir)), cause(err))
		}
		return below, nil
	}
	d, err := os.Open(f.root + dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown(filepath.Clean(f.root+dir)), cause(err))
	}
	defer d.Close()
	for {
		// Piecemeal: os.ReadDir would hold and sort objects for all entries.
		entries, err := d.ReadDir(1024)
		below, _ = f.take(entries, dir, deep, below) // sizes, which alone can fail, are not asked for
		if errors.Is(err, io.EOF) {
			return below, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", shown(filepath.Clean(f.root+dir)), cause(err))
		}
	}
}

// take adds the files among the entries of a folder, and the folders to those below.
func (f *folder) take(entries []fs.DirEntry, dir string, deep bool, below []string) ([]string, error) {
	for _, e := range entries {
		name, kind := e.Name(), e.Type()
		switch {
		case strings.HasPrefix(name, "."):
		case kind.IsDir():
			below = append(below, name)
		case (kind.IsRegular() || kind == fs.ModeSymlink) && f.wanted(name):
			f.files.add(dir, name)
			if !f.files.sized {
				continue
			}
			info, err := e.Info()
			if err != nil {
				return below, err
			}
			f.files.addSize(info.Size())
		case kind == fs.ModeSymlink && !deep && f.isFolder(name):
			below = append(below, name)
		default:
			f.other++
			f.example = dir + name
		}
	}
	return below, nil
}

// wanted reports whether a file has one of the extensions.
func (f *folder) wanted(name string) bool {
	for _, ext := range f.extensions {
		if n := len(name) - len(ext); n > 0 && strings.EqualFold(name[n:], ext) {
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
