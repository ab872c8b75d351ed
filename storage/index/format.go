package index

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/planktonml/plankton/internal/printable"
)

// format is a kind of shards. Each has a file of its own, whose init adds it.
type format struct {
	name    string
	endings []string // of the names of its files, with dots, in small letters
	framed  bool     // its samples are framed

	// scan adds the samples of a shard to a builder, which has the object already.
	scan func(w *window, b *Builder, o *Options) error
	// beside takes the index of a shard from a file of another tool beside it and reports
	// whether there is one; nil where no tool writes any.
	beside func(w *window, b *Builder, o *Options) (bool, error)
}

var formats = map[string]*format{}

func add(f *format) { formats[f.name] = f }

// formatOf returns the format of a file by its name, nil for another file.
func formatOf(name string) *format {
	name = strings.ToLower(path.Base(name))
	for _, f := range formats {
		for _, e := range f.endings {
			if len(name) > len(e) && strings.HasSuffix(name, e) {
				return f
			}
		}
	}
	return nil
}

// Format returns the name of the format that a file of a name has, such as "tar", and ""
// for a file that is no shard.
func Format(name string) string {
	if f := formatOf(name); f != nil {
		return f.name
	}
	return ""
}

// compressed are endings of shards that are compressed as a whole.
var compressed = []string{".gz", ".tgz", ".zst", ".zstd", ".bz2", ".xz", ".lz4"}

// RefuseCompressed returns an error for the name of a shard that is compressed as a whole.
func RefuseCompressed(name string) error {
	lower := strings.ToLower(path.Base(name))
	for _, e := range compressed {
		if rest, ok := strings.CutSuffix(lower, e); ok && (e == ".tgz" || formatOf(rest) != nil) {
			return fmt.Errorf("%s is compressed as a whole, so its samples cannot be read one by one; unpack it: pictures hardly shrink by it", printable.Name(name))
		}
	}
	return nil
}

// Shards returns the names of the shards in a folder of a place, in the order of their
// names; none where it holds no shards. Shards of two formats are an error, and so is one
// that is compressed as a whole. Files whose names begin with a dot are left out.
func Shards(place fs.FS, dir string) ([]string, error) {
	entries, err := fs.ReadDir(place, dir)
	if err != nil {
		return nil, err
	}
	var shards []string
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if err := RefuseCompressed(name); err != nil {
			return nil, err
		}
		if formatOf(name) != nil {
			shards = append(shards, name)
		}
	}
	slices.SortFunc(shards, cmp.Compare)
	_, err = common(shards)
	return shards, err
}

// common returns the one format of shards.
func common(shards []string) (*format, error) {
	var f *format
	for i, name := range shards {
		if err := RefuseCompressed(name); err != nil {
			return nil, err
		}
		this := formatOf(name)
		switch {
		case this == nil:
			return nil, fmt.Errorf("%s is no shard of a known format; name files that end in %s", printable.Name(name), strings.Join(endings(), ", "))
		case i > 0 && this != f:
			return nil, fmt.Errorf("%s and %s are shards of two formats; keep them in folders of their own", printable.Name(shards[0]), printable.Name(name))
		}
		f = this
	}
	return f, nil
}

// endings lists those of all formats.
func endings() []string {
	var all []string
	for _, f := range formats {
		all = append(all, f.endings...)
	}
	slices.Sort(all)
	return all
}
