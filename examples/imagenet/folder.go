package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planktonml/plankton/pipeline/readers"
)

// pictures says how to read a folder. With one folder per class the reader finds
// the labels itself. In a folder of files alone, the class is the part of a file's
// name before the first underscore, as in n01440764_tench.JPEG; the reader gets the
// labels by a list, which is written to listPath.
func pictures(dir, listPath string) (readers.FileOptions, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return readers.FileOptions{}, fmt.Errorf("-data: %w", err)
	}
	var files, folders, classes []string
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, "."):
		case e.IsDir():
			folders = append(folders, name)
		case isPicture(name):
			files = append(files, name)
			classes = append(classes, classOf(name))
		}
	}
	switch {
	case len(files) > 0 && len(folders) > 0:
		return readers.FileOptions{}, fmt.Errorf("-data: %s holds both pictures (%s) and folders (%s); give one with either", dir, files[0], folders[0])
	case len(files) == 0:
		return readers.FileOptions{Root: dir}, nil // of class folders, or the reader says what is wrong
	}

	slices.Sort(classes)
	classes = slices.Compact(classes)
	var list strings.Builder
	for _, name := range files {
		label, _ := slices.BinarySearch(classes, classOf(name))
		fmt.Fprintln(&list, name, label)
	}
	if err := os.WriteFile(listPath, []byte(list.String()), 0o666); err != nil {
		return readers.FileOptions{}, err
	}
	return readers.FileOptions{Root: dir, List: listPath, ClassNames: classes}, nil
}

func isPicture(name string) bool {
	return slices.Contains(readers.DefaultExtensions(), strings.ToLower(filepath.Ext(name)))
}

func classOf(name string) string {
	class, _, _ := strings.Cut(name, "_")
	return class
}
