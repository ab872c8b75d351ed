package readers

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// listings is how many folders are listed at a time. On network storage each
// one waits for its answers.
const listings = 16

// folder is what was found in a folder.
type folder struct {
	root       string   // ends in a separator
	extensions []string // with their dots

	files   pathList // relative to root, with slashes
	folders []string // names of the folders in it, if they were not entered
	other   int      // files with other extensions
	example string   // one of those
}

// scanRoot lists a folder of files, or of one folder per class; then names are
// the classes and labels has one label per file. Names given decide the labels.
func scanRoot(root string, extensions, names []string) (files pathList, labels []int32, classes []string, err error) {
	top := folder{root: root, extensions: extensions}
	if err := top.list("", false); err != nil {
		return pathList{}, nil, nil, explain(err, root)
	}
	slices.Sort(top.folders)
	subs := make([]folder, len(top.folders))
	var group errgroup.Group
	group.SetLimit(listings)
	for i, name := range top.folders {
		subs[i] = folder{root: root, extensions: extensions}
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
			root, top.files.at(0), top.folders[inside])
	case inside >= 0:
		return mergeClasses(root, top.folders, subs, names)
	case top.files.len() > 0:
		top.files.sort()
		return top.files, make([]int32, top.files.len()), nil, nil
	}
	return pathList{}, nil, nil, nothingFound(&top, subs)
}

// mergeClasses joins the files of the class folders in the order of the labels.
func mergeClasses(root string, found []string, subs []folder, names []string) (files pathList, labels []int32, classes []string, err error) {
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
			return pathList{}, nil, nil, fmt.Errorf("%s holds the folder %s, which is none of the %d ClassNames; add it there, or move it away", root, name, len(names))
		}
		byLabel[label] = &subs[i]
		size += len(subs[i].files.blob)
		count += subs[i].files.len()
	}
	files = pathList{blob: make([]byte, 0, size), start: make([]int, 0, count)}
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
	d, err := os.Open(f.root + dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown(filepath.Clean(f.root+dir)), cause(err))
	}
	defer d.Close()
	for {
		// Piecemeal: os.ReadDir would hold and sort objects for all entries.
		entries, err := d.ReadDir(1024)
		for _, e := range entries {
			name, kind := e.Name(), e.Type()
			switch {
			case strings.HasPrefix(name, "."):
			case kind.IsDir():
				below = append(below, name)
			case (kind.IsRegular() || kind == fs.ModeSymlink) && f.wanted(name):
				f.files.add(dir, name)
			case kind == fs.ModeSymlink && !deep && isFolder(f.root+name):
				below = append(below, name)
			default:
				f.other++
				f.example = dir + name
			}
		}
		if errors.Is(err, io.EOF) {
			return below, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", shown(filepath.Clean(f.root+dir)), cause(err))
		}
	}
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

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// explain makes an error of opening the root say what is wanted.
func explain(err error, root string) error {
	if info, statErr := os.Stat(filepath.Clean(root)); statErr == nil && !info.IsDir() {
		return fmt.Errorf("Root %s is a file, not a folder; give a folder of files or of one folder per class, or a list of files as List", filepath.Clean(root))
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
		return fmt.Errorf("Root %s holds no files; give a folder of files (%s) or of one folder per class", top.root, wanted)
	}
	return fmt.Errorf("Root %s holds no file that ends in one of %s, only %d others such as %s; give another folder or set Extensions", top.root, wanted, other, example)
}
