package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planktonml/plankton/dataset"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/pipeline/readers/parquet"
	"github.com/planktonml/plankton/storage/s3"
)

// pictures adds a reader of the pictures and their labels.
type pictures func(g *pipeline.Graph, shuffle bool) (encoded, label pipeline.Value)

// open finds out what lies under a name: a folder of pictures, or shards of them, on this
// machine or in a bucket of S3. In a folder of files alone the class is the part of a file's
// name before the first underscore, as in n01440764_tench.JPEG; everything else has labels of
// its own. The data must be closed.
func open(ctx context.Context, data, listPath string) (*dataset.Data, pictures, error) {
	d, err := dataset.Open(ctx, data, dataset.Options{
		Schemes: map[string]dataset.Scheme{"s3": s3.OpenURL},
		Formats: map[string]dataset.Format{".parquet": parquet.OpenShards},
	})
	if err != nil {
		return nil, nil, fmt.Errorf("-data: %w", err)
	}
	if d.Format == dataset.Folder && d.Place == nil {
		o, err := labelled(data, listPath)
		return d, func(g *pipeline.Graph, shuffle bool) (encoded, label pipeline.Value) {
			o.Shuffle = shuffle
			return readers.File(g, o)
		}, err
	}
	return d, func(g *pipeline.Graph, shuffle bool) (encoded, label pipeline.Value) {
		return d.Read(g, pipeline.ReaderOptions{Shuffle: shuffle})
	}, nil
}

// labelled says how to read a folder. With one folder per class the reader finds the
// labels itself; otherwise it gets them by a list, which is written to listPath.
func labelled(dir, listPath string) (readers.FileOptions, error) {
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
