package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planktonml/plankton/internal/printable"
)

// folderWarnings names what is surely not meant about the class folders below root.
func folderWarnings(root string, classes []string) (warnings []string) {
	if text := partsAsClasses(root, classes); text != "" {
		warnings = append(warnings, text)
	}
	return append(warnings, sameFolders(root, classes)...)
}

// parts are names of the parts of a data set, in small letters and without what is
// behind them, as in "val2017" and "train_images".
var parts = []string{"train", "training", "val", "valid", "validation", "test", "testing", "dev", "eval", "evaluation", "holdout"}

// isPart reports whether a folder is named like a part of a data set.
func isPart(name string) bool {
	word := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r < 'a' || r > 'z' })
	return len(word) > 0 && strings.HasPrefix(strings.ToLower(name), word[0]) && slices.Contains(parts, word[0])
}

// partsAsClasses warns where the classes are the parts of a data set: the folder is one
// level too high.
func partsAsClasses(root string, classes []string) string {
	if slices.ContainsFunc(classes, func(name string) bool { return !isPart(name) }) {
		return ""
	}
	return fmt.Sprintf("the classes are named like parts of a data set (%s): if they are, the folder is one level too high; give %s",
		joined(classes), printable.Name(filepath.Join(root, classes[0])))
}

// sameFolders warns of class folders whose files come twice, since a link makes them
// the root, a folder around it, or a part of one another.
func sameFolders(root string, classes []string) (warnings []string) {
	top, err := realFolder(root)
	if err != nil {
		return nil
	}
	type folder struct{ name, path string }
	var folders []folder
	for _, name := range classes {
		path, err := realFolder(filepath.Join(root, name))
		switch {
		case err != nil:
		case strings.HasPrefix(top, path):
			warnings = append(warnings, fmt.Sprintf("the class folder %s is a link to the folder that it is in, or to one above: files come twice, under two labels; remove the link", printable.Name(name)))
		default:
			folders = append(folders, folder{name, path})
		}
	}
	slices.SortStableFunc(folders, func(a, b folder) int { return strings.Compare(a.path, b.path) })
	for i := 1; i < len(folders); i++ { // a folder stands right before those in it
		if a, b := folders[i-1], folders[i]; strings.HasPrefix(b.path, a.path) {
			warnings = append(warnings, fmt.Sprintf("the class folders %s and %s share files, since one is a link: files come twice, under two labels; remove the link", printable.Name(a.name), printable.Name(b.name)))
		}
	}
	return warnings
}

// realFolder returns where a folder is when all links are followed, with a separator
// at its end.
func realFolder(path string) (string, error) {
	path, err := filepath.EvalSymlinks(path)
	if err == nil && !os.IsPathSeparator(path[len(path)-1]) {
		path += string(os.PathSeparator)
	}
	return path, err
}

// joined lists some names.
func joined(names []string) string {
	var words []string
	for _, name := range names[:min(len(names), 4)] {
		words = append(words, printable.Name(name))
	}
	if len(names) > len(words) {
		words = append(words, "…")
	}
	return strings.Join(words, ", ")
}
