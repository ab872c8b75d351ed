package index

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/planktonml/plankton/internal/atomicfile"
	"github.com/planktonml/plankton/internal/printable"
)

// FileName is the name of the index file of all shards of a folder, beside them.
const FileName = "plankton.index"

// stored returns an index that was made before, nil where there is none.
func stored(ctx context.Context, place fs.FS, objects []Object, o *Options) (*Index, error) {
	if o.Fresh {
		return nil, nil
	}
	x, err := fromBeside(ctx, place, objects)
	if err != nil || x != nil && x.asked == o.Label {
		return x, err
	}
	if !o.caches(objects) {
		return nil, nil
	}
	text, err := os.ReadFile(o.entry(objects))
	if err != nil {
		return nil, nil
	}
	// What cannot be read, for instance since another version wrote it, is made anew.
	if x, err := Parse(text); err == nil && x.sameShards(objects) && x.asked == o.Label {
		return x, nil
	}
	return nil, nil
}

// fromBeside takes the index from the file beside the shards.
func fromBeside(ctx context.Context, place fs.FS, objects []Object) (*Index, error) {
	name := path.Join(path.Dir(objects[0].Name), FileName)
	f, err := place.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, mostIndexBytes))
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", printable.Name(name), err)
	}
	x, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", printable.Name(name), err)
	}
	for i := range x.objects { // an index lies beside its shards, wherever the folder is
		x.objects[i].Name = path.Join(path.Dir(name), x.objects[i].Name)
	}
	return x.only(name, info, objects)
}

// only returns the part of an index file that is of some shards, and an error where it is
// older than one of them or has none of that name.
func (x *Index) only(name string, info fs.FileInfo, objects []Object) (*Index, error) {
	place := make(map[string]int, len(x.objects))
	for i, o := range x.objects {
		place[o.Name] = i
	}
	const remedy = "make it again with `plankton index`, or remove it"
	for _, o := range objects {
		i, ok := place[o.Name]
		switch {
		case !ok:
			return nil, fmt.Errorf("%s does not have %s; %s", printable.Name(name), printable.Name(o.Name), remedy)
		case x.objects[i].Size != o.Size:
			return nil, fmt.Errorf("%s is of another %s: that has %d bytes, and had %d; %s", printable.Name(name), printable.Name(o.Name), o.Size, x.objects[i].Size, remedy)
		case !x.objects[i].Modified.Equal(o.Modified) && older(info.ModTime(), o.Modified):
			return nil, fmt.Errorf("%s is older than %s; %s, or touch it if it is right", printable.Name(name), printable.Name(o.Name), remedy)
		}
		x.objects[i].Modified = o.Modified
	}
	if x.sameShards(objects) {
		return x, nil
	}
	var b Builder
	for _, o := range objects {
		if err := b.appendObject(x, place[o.Name]); err != nil {
			return nil, err
		}
	}
	return b.Index(), nil
}

// appendObject adds the samples of one object of another index.
func (b *Builder) appendObject(x *Index, object int) error {
	from, to := x.Samples(object)
	n := int64(x.stride())
	part := Index{
		fields: x.fields, asked: x.asked, objects: x.objects[object : object+1], framed: x.framed,
		object: make([]uint32, to-from), label: x.label[from:to],
		offset: x.offset[from*n : to*n], length: x.length[from*n : to*n], wrong: map[int64]string{},
	}
	for i := from; i < to; i++ {
		part.name.blob = append(part.name.blob, x.name.at(int(i))...)
		part.name.end = append(part.name.end, uint32(len(part.name.blob)))
		if text, ok := x.wrong[i]; ok {
			part.wrong[i-from] = text
		}
	}
	return b.Append(&part)
}

// caches reports whether the index of some shards is kept. Shards without a time could be
// taken for others.
func (o *Options) caches(objects []Object) bool {
	return o.Cache != "" && !slices.ContainsFunc(objects, func(s Object) bool { return s.Modified.IsZero() })
}

// smallIndex is the number of samples below which files of the machine are scanned faster
// than a cache is worth.
const smallIndex = 10_000

// store keeps an index in the cache.
func (o *Options) store(x *Index, objects []Object, remote bool) error {
	if !o.caches(objects) || !remote && x.Len() < smallIndex {
		return nil
	}
	if err := os.MkdirAll(o.Cache, 0o777); err != nil {
		return fmt.Errorf("the cache of indexes: %w", err)
	}
	if err := atomicfile.Write(o.entry(objects), x.Write); err != nil {
		return fmt.Errorf("the cache of indexes: %w", err)
	}
	return nil
}

// entry returns the file of the cache for some shards as they are now, read with the same
// options.
func (o *Options) entry(objects []Object) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %t\n", o.Label, o.Repeats)
	for _, s := range objects {
		fmt.Fprintf(h, "%q %d %d\n", s.Name, s.Size, s.Modified.UnixNano())
	}
	return filepath.Join(o.Cache, hex.EncodeToString(h.Sum(nil)[:16])+".index")
}

// Only returns the part of an index that is of one object.
func (x *Index) Only(object int) (*Index, error) {
	var b Builder
	err := b.appendObject(x, object)
	return b.Index(), err
}
