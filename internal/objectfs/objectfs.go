// Package objectfs makes a file system of a store of objects: folders are what lists of
// names say, files are read in ranges, and an object that was met once must stay what it
// was.
package objectfs

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/planktonml/plankton/internal/transfer"
	"github.com/planktonml/plankton/storage"
)

// Store is what a file system is made of. Names are paths of package fs. Its methods may be
// called by several goroutines at once.
type Store interface {
	// Address tells this store from others whose names are the same.
	Address() string
	// Show returns the name of an object or folder as errors have it.
	Show(name string) string
	// List calls yield for what lies directly in a folder, in any order, until it returns
	// false. The folder is "" or ends in a slash.
	List(ctx context.Context, folder string, yield func(Entry) bool) error
	// Find returns the entry of a name, or fs.ErrNotExist.
	Find(ctx context.Context, name string) (Entry, error)
	// Read is transfer.Client's ReadRange.
	Read(ctx context.Context, name string, want transfer.Version, off int64, dst []byte) (int, transfer.Version, error)
}

// Entry is an object or a folder.
type Entry struct {
	Name    string // in its folder
	Folder  bool
	Version transfer.Version // of an object
}

// FS is a store as a file system. It implements fs.ReadDirFS, fs.ReadFileFS, fs.StatFS,
// fs.SubFS, storage.Versioned and storage.AheadCounter.
type FS struct {
	tree *tree
	at   string // the folder that is the root: "" or ends in a slash
}

// New returns the file system of a store and of the client by which the store asks its server.
// Ctx is that of the methods of fs.FS, which take none.
func New(ctx context.Context, store Store, client *transfer.Client) *FS {
	return &FS{tree: &tree{ctx: ctx, store: store, client: client, objects: map[string]object{}, folders: map[string]struct{}{}}}
}

// Traffic returns what the store has asked of its server so far, in all of its folders.
func (f *FS) Traffic() storage.Traffic { return f.tree.client.Traffic() }

// Close closes the connections that no request uses.
func (f *FS) Close() error {
	f.tree.client.Close()
	return nil
}

// inside returns the name in the store of a name in the file system; the root is "".
func (f *FS) inside(op, name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	if name == "." {
		return strings.TrimSuffix(f.at, "/"), nil
	}
	return f.at + name, nil
}

// failed makes an error one of a path, as those of package fs are. Errors of the store name
// the object already, in full.
func failed(op, name string, err error) error {
	switch err {
	case fs.ErrNotExist, fs.ErrInvalid, fs.ErrClosed, errFolder, errObject:
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	return err
}

// CountAhead implements [storage.AheadCounter].
func (f *FS) CountAhead(l storage.LookAhead) { f.tree.client.CountAhead(l) }

// ReadRange implements [storage.RangeReader].
func (f *FS) ReadRange(ctx context.Context, name string, off int64, dst []byte) (int, error) {
	full, err := f.inside("read", name)
	if err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, failed("read", name, fs.ErrInvalid)
	}
	n, _, err := f.tree.read(ctx, full, off, dst)
	return n, err
}

// Version implements [storage.Versioned].
func (f *FS) Version(name string) (version string, size int64, err error) {
	full, err := f.inside("stat", name)
	if err != nil {
		return "", 0, err
	}
	e, err := f.tree.find(full)
	if err == nil && e.Folder {
		err = errFolder
	}
	if err != nil {
		return "", 0, failed("stat", name, err)
	}
	v := &e.Version
	if v.ETag == "" && v.Modified.IsZero() {
		return "", v.Size, nil
	}
	return fmt.Sprintf("%s %q %q %d %d", f.tree.store.Address(), f.tree.store.Show(full), v.ETag, v.Modified.Unix(), v.Size), v.Size, nil
}

// ReadDir lists a folder, sorted by name.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	full, err := f.inside("readdir", name)
	if err != nil {
		return nil, err
	}
	entries, err := f.tree.list(full)
	if err != nil {
		return nil, failed("readdir", name, err)
	}
	infos := make([]fs.DirEntry, len(entries))
	for i := range entries {
		infos[i] = &dirEntry{info{entries[i]}, f, path.Join(name, entries[i].Name)}
	}
	return infos, nil
}

// Stat asks the server for nothing where the name was in a list before.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	full, err := f.inside("stat", name)
	if err != nil {
		return nil, err
	}
	e, err := f.tree.find(full)
	if err != nil {
		return nil, failed("stat", name, err)
	}
	e.Name = path.Base(name)
	return &info{e}, nil
}

// Sub returns the file system of a folder, which shares all it knows with f.
func (f *FS) Sub(dir string) (fs.FS, error) {
	full, err := f.inside("sub", dir)
	if err != nil {
		return nil, err
	}
	if dir == "." {
		return f, nil
	}
	return &FS{tree: f.tree, at: full + "/"}, nil
}

// ReadFile reads a whole file.
func (f *FS) ReadFile(name string) ([]byte, error) {
	file, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	o, ok := file.(*openFile)
	if !ok {
		return nil, failed("read", name, errFolder)
	}
	data := make([]byte, o.size)
	if _, err := io.ReadFull(o, data); err != nil {
		return nil, err
	}
	return data, nil
}

// Open opens a file or a folder. A file that was in a list before costs no request until
// it is read.
func (f *FS) Open(name string) (fs.File, error) {
	full, err := f.inside("open", name)
	if err != nil {
		return nil, err
	}
	o := &openFile{fs: f, name: name, full: full}
	if version, ok := f.tree.version(full); ok && version.Size >= 0 {
		o.version, o.size = version, version.Size
		return o, nil
	}
	if full == "" || f.tree.isFolder(full) {
		return &openFolder{fs: f, name: name}, nil
	}
	// The beginning tells the size.
	found, err := o.begin()
	if err != nil {
		return nil, failed("open", name, err)
	}
	if !found {
		return &openFolder{fs: f, name: name}, nil
	}
	return o, nil
}

// info is an Entry as package fs has it.
type info struct{ e Entry }

func (i *info) Name() string       { return i.e.Name }
func (i *info) IsDir() bool        { return i.e.Folder }
func (i *info) ModTime() time.Time { return i.e.Version.Modified }
func (i *info) Sys() any           { return nil }
func (i *info) String() string     { return fs.FormatFileInfo(i) }

// dirEntry is an Entry of a list.
type dirEntry struct {
	info
	fs   *FS
	path string
}

func (d *dirEntry) Type() fs.FileMode { return d.Mode().Type() }

// Info asks the server only where its lists leave sizes open.
func (d *dirEntry) Info() (fs.FileInfo, error) {
	if !d.e.Folder && d.e.Version.Size < 0 {
		return d.fs.Stat(d.path)
	}
	return &d.info, nil
}

func (d *dirEntry) String() string { return fs.FormatDirEntry(d) }

func (i *info) Size() int64 {
	if i.e.Folder {
		return 0
	}
	return max(i.e.Version.Size, 0)
}

func (i *info) Mode() fs.FileMode {
	if i.e.Folder {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

var (
	_ fs.ReadDirFS      = (*FS)(nil)
	_ fs.ReadFileFS     = (*FS)(nil)
	_ fs.StatFS         = (*FS)(nil)
	_ fs.SubFS          = (*FS)(nil)
	_ storage.Versioned = (*FS)(nil)

	_ storage.AheadCounter = (*FS)(nil)
)

// sorted orders entries by name.
func sorted(entries []Entry) []Entry {
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries
}
