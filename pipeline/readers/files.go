package readers

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// fromFiles takes the files that the options name.
func (s *fileSource) fromFiles(o *FileOptions) (err error) {
	switch {
	case o.List != "":
		return errors.New("both Files and List are given; give one of them")
	case len(o.Extensions) > 0:
		return errors.New("Extensions are for folders; Files are taken as they are")
	case o.Labels != nil && len(o.Labels) != len(o.Files):
		return fmt.Errorf("%d Labels for %d Files; give one for each, or leave Labels out", len(o.Labels), len(o.Files))
	}
	if s.root, err = rootIn(o.FS, o.Root); err != nil { // without a Root, the working directory
		return err
	}
	for i, path := range o.Files {
		if path == "" || strings.IndexByte(path, 0) >= 0 {
			return fmt.Errorf("Files[%d] is %.80q; want a path, which is not empty and has no zero bytes", i, path)
		}
		label := i
		if o.Labels != nil {
			label = o.Labels[i]
		}
		if err := checkLabel(int64(label), s.classes); err != nil {
			return fmt.Errorf("Labels[%d], of %s: %w", i, path, err)
		}
		s.files.add([]byte(filepath.ToSlash(filepath.Clean(path))), int32(label), -1)
	}
	if a, b, ok := duplicate(&s.files); ok {
		return fmt.Errorf("Files[%d]: %s is already Files[%d]; a file can be there once", b, s.files.path(b), a)
	}
	if s.classes == 0 {
		s.classes = s.files.classes()
	}
	s.meta.Classes = slices.Clone(o.ClassNames)
	return nil
}
