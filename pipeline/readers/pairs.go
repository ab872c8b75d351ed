package readers

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/planktonml/plankton/pipeline"
)

// PairsOptions configures [Pairs]. Pictures and Masks must be given.
type PairsOptions struct {
	Pictures FileOptions // the reader of the pictures, which drives; its Name must be given

	// Masks is the folder of the masks, in the FS of the pictures. The mask of the picture
	// "cat/1.jpg" is its file "cat/1.png", or "cat/1_mask.png" with the Suffix "_mask".
	Masks  string
	Suffix string
	// Extensions are the endings of masks; default ".png".
	Extensions []string
}

// Pairs reads pictures and the masks that belong to them by their names, as two readers
// of which that of the masks follows the other, so that both are shuffled, cut into shards
// and split alike. Both are encoded: decode them next, the mask with the image type that
// it has, and give both the same crops.
//
// A picture without a mask, or with two, is an error; masks without a picture are left
// out.
func Pairs(g *pipeline.Graph, o PairsOptions) (picture, label, mask pipeline.Value) {
	if g.Err() != nil {
		return
	}
	src, masks, err := o.pair()
	if err != nil {
		fail(g, "readers.Pairs", o.Pictures.Name, err)
		return
	}
	picture, label = o.Pictures.read(g, src)
	mask, _ = File(g, masks)
	return picture, label, mask
}

// pair finds the pictures, and the masks in their order.
func (o *PairsOptions) pair() (*fileSource, FileOptions, error) {
	masks := FileOptions{Root: o.Masks, FS: o.Pictures.FS, Extensions: o.Extensions}
	if masks.Extensions == nil {
		masks.Extensions = []string{".png"}
	}
	switch {
	case o.Pictures.Name == "":
		return nil, masks, errors.New("the reader of the pictures has no Name; give one, which the masks follow")
	case o.Masks == "":
		return nil, masks, errors.New("Masks is not given; name the folder of the masks")
	}
	src, err := newFileSource(&o.Pictures)
	if err != nil {
		return nil, masks, fmt.Errorf("Pictures: %w", err)
	}
	found, err := newFileSource(&masks)
	if err != nil {
		return nil, masks, fmt.Errorf("Masks: %w", err)
	}
	byName := make(map[string]string, found.files.len())
	for c := found.files.from(0); c.next(); {
		file := string(c.path)
		name := withoutEnding(file)
		if other, twice := byName[name]; twice {
			return nil, masks, fmt.Errorf("%s and %s are masks of the same picture; remove one of them, or set Extensions", shown(other), shown(file))
		}
		byName[name] = file
	}
	files := make([]string, src.files.len())
	for i, c := 0, src.files.from(0); c.next(); i++ {
		name := withoutEnding(string(c.path)) + o.Suffix
		if files[i] = byName[name]; files[i] == "" {
			return nil, masks, fmt.Errorf("%s has no mask: there is no %s in %s that ends in %s; add it, or set Suffix and Extensions",
				shown(src.Describe(int64(i))), shown(name), shown(o.Masks), strings.Join(masks.Extensions, " or "))
		}
	}
	return src, FileOptions{
		Name: o.Pictures.Name + " masks", Follow: o.Pictures.Name, Root: masks.Root, FS: masks.FS,
		Files: files, Labels: make([]int, len(files)), ReadAhead: o.Pictures.ReadAhead,
	}, nil
}

// withoutEnding returns a path without the ending of the file's name.
func withoutEnding(file string) string { return strings.TrimSuffix(file, path.Ext(file)) }
