package objectfs

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/internal/transfer"
)

var (
	errFolder = errors.New("is a folder")
	errObject = errors.New("is a file, not a folder")
)

// tree is what file systems of one store know of it: the versions that objects were met
// with, and which folders there are. It keeps some 170 bytes for each object in a list.
type tree struct {
	ctx    context.Context
	store  Store
	client *transfer.Client

	mu      sync.RWMutex
	objects map[string]object
	folders map[string]struct{}
}

// object is a version in little memory: most entity tags are 16 bytes in hexadecimal.
type object struct {
	size     int64
	modified int64 // seconds; 0 where it is not known
	md5      [16]byte
	etag     string // what is no such tag, or follows it
}

func pack(v transfer.Version) (o object) {
	o.size, o.etag = v.Size, v.ETag
	if !v.Modified.IsZero() {
		o.modified = v.Modified.Unix()
	}
	if len(v.ETag) >= 32 && v.ETag == strings.ToLower(v.ETag) {
		if _, err := hex.Decode(o.md5[:], []byte(v.ETag[:32])); err == nil && o.md5 != [16]byte{} {
			o.etag = strings.Clone(v.ETag[32:])
		} else {
			o.md5 = [16]byte{}
		}
	}
	return o
}

func (o object) version() (v transfer.Version) {
	v.Size, v.ETag = o.size, o.etag
	if o.modified != 0 {
		v.Modified = time.Unix(o.modified, 0).UTC()
	}
	if o.md5 != [16]byte{} {
		v.ETag = hex.EncodeToString(o.md5[:]) + o.etag
	}
	return v
}

// version returns the version that an object was met with.
func (t *tree) version(name string) (transfer.Version, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	o, ok := t.objects[name]
	return o.version(), ok
}

func (t *tree) isFolder(name string) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	_, ok := t.folders[name]
	return ok
}

// meet notes an object, and returns the version that it was met with first: that of a
// later one is refused when it is read.
func (t *tree) meet(name string, v transfer.Version) transfer.Version {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o, ok := t.objects[name]; ok && o.size >= 0 {
		return o.version()
	}
	t.objects[name] = pack(v)
	return v
}

// read reads a range of an object and notes its version. Of what is known to be over
// before, no more is asked for.
func (t *tree) read(ctx context.Context, name string, off int64, dst []byte) (n int, is transfer.Version, err error) {
	want, known := t.version(name)
	if known = known && want.Size >= 0; !known {
		want = transfer.Unknown
	}
	whole := len(dst)
	if want.Size >= 0 {
		dst = dst[:max(0, min(int64(whole), want.Size-off))]
	}
	if len(dst) == 0 {
		n, is, err = 0, want, ctx.Err()
	} else {
		n, is, err = t.store.Read(ctx, name, want, off, dst)
	}
	if err == nil && n < whole {
		err = io.ErrUnexpectedEOF
	}
	if !known && (n > 0 || is.Size >= 0) {
		if first := t.meet(name, is); !first.Same(is) { // another goroutine has met another version
			return 0, is, transfer.Changed(t.store.Show(name), first, is)
		}
	}
	return n, is, err
}

// list returns what lies in a folder.
func (t *tree) list(name string) ([]Entry, error) {
	if _, ok := t.version(name); ok {
		return nil, errObject
	}
	folder := name
	if name != "" {
		folder += "/"
	}
	var entries []Entry
	err := t.store.List(t.ctx, folder, func(e Entry) bool {
		entries = append(entries, e)
		return true
	})
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 && name != "" && !t.isFolder(name) {
		return nil, fs.ErrNotExist
	}
	return t.note(folder, sorted(entries))
}

// note remembers what is in a folder. Of an empty object and a folder of the same name
// the folder stays: some programs write such objects to mark folders.
func (t *tree) note(folder string, entries []Entry) ([]Entry, error) {
	kept := entries[:0]
	for _, e := range entries {
		if !fs.ValidPath(e.Name) || e.Name == "." || strings.Contains(e.Name, "/") {
			return nil, fmt.Errorf("%s: this name cannot be a path: an element of it is empty, a dot or two; rename the object, or choose another folder",
				printable.Name(t.store.Show(folder+e.Name)))
		}
		if last := len(kept) - 1; last >= 0 && kept[last].Name == e.Name {
			object := &kept[last]
			if object.Folder {
				object = &e
			}
			if object.Folder || object.Version.Size != 0 {
				return nil, fmt.Errorf("%s is an object and a folder as well; rename the object", printable.Name(t.store.Show(folder+e.Name)))
			}
			kept[last] = Entry{Name: e.Name, Folder: true}
			continue
		}
		kept = append(kept, e)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if folder != "" {
		t.folders[strings.TrimSuffix(folder, "/")] = struct{}{}
	}
	for i := range kept {
		e := &kept[i]
		if e.Folder {
			t.folders[folder+e.Name] = struct{}{}
			continue
		}
		if o, ok := t.objects[folder+e.Name]; ok && o.size >= 0 {
			e.Version = o.version()
			continue
		}
		t.objects[folder+e.Name] = pack(e.Version)
		e.Version = t.objects[folder+e.Name].version()
	}
	return kept, nil
}

// find returns the entry of a name.
func (t *tree) find(name string) (Entry, error) {
	if v, ok := t.version(name); ok && v.Size >= 0 {
		return Entry{Name: path.Base(name), Version: v}, nil
	}
	if name == "" || t.isFolder(name) {
		return Entry{Name: path.Base(name), Folder: true}, nil
	}
	e, err := t.store.Find(t.ctx, name)
	if err != nil {
		return e, err
	}
	if e.Folder {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.folders[name] = struct{}{}
		return e, nil
	}
	e.Version = pack(t.meet(name, e.Version)).version()
	return e, nil
}
