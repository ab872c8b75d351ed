package main

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planktonml/plankton/dataset"
	"github.com/planktonml/plankton/internal/printable"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/storage"
	"github.com/planktonml/plankton/storage/index"
)

// member is a file of a sample.
type member struct {
	ending string
	data   []byte
}

// members finds what samples have beside the picture and the label, which the pipeline
// delivers: the other files of a sample in a tar archive, and those beside a picture in a
// folder of this machine.
type members struct {
	of    func(ctx context.Context, sample int64, labelled bool) ([]member, error)
	close func() error
}

func newMembers(data *dataset.Data, source datum.Source) *members {
	switch {
	case data.Index != nil && !data.Index.Framed():
		place := storage.Keep(data.Place, 64)
		done := func() error { return nil }
		if data.Place == nil {
			kept := storage.KeepFolder(data.Root, 64)
			place, done = kept, kept.Close
		}
		of := func(ctx context.Context, sample int64, labelled bool) ([]member, error) {
			return ofArchive(ctx, data.Index, place, sample, labelled)
		}
		return &members{of, done}
	case data.Format == dataset.Folder && data.Place == nil:
		s := sidecars{source: source, found: map[string][]string{}, listed: map[string]bool{}}
		return &members{s.of, func() error { return nil }}
	}
	return &members{
		func(context.Context, int64, bool) ([]member, error) { return nil, nil },
		func() error { return nil },
	}
}

// ofArchive reads the other files of a sample.
func ofArchive(ctx context.Context, x *index.Index, place storage.RangeReader, sample int64, labelled bool) (all []member, err error) {
	picture := -1
	for _, name := range strings.Split(readers.DefaultMembers()[0], ";") {
		if f := x.Field(name); picture < 0 && f >= 0 && x.Part(sample, f).Length != index.Absent {
			picture = f
		}
	}
	object := x.Objects()[x.Object(sample)].Name
	for f, field := range x.Fields() {
		p := x.Part(sample, f)
		if f == picture || p.Length == index.Absent || labelled && field.Name == "cls" {
			continue
		}
		if p.Length < 0 {
			return nil, fmt.Errorf("the member %s has more than the %d bytes that a sample can have", field.Name, index.MaxBytes)
		}
		m := member{field.Name, make([]byte, p.Length)}
		if err := storage.ReadRange(ctx, place, object, p.Offset, m.data); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return inOrder(all), nil
}

// inOrder sorts the members of a sample by their endings, so that they do not depend on
// the samples before.
func inOrder(all []member) []member {
	slices.SortFunc(all, func(a, b member) int { return cmp.Compare(a.ending, b.ending) })
	return all
}

// sidecars are files beside pictures: of the same name but for what is behind it, and no
// pictures themselves.
type sidecars struct {
	source datum.Source
	listed map[string]bool     // by folder
	found  map[string][]string // by the path without the ending: endings
}

func (s *sidecars) of(_ context.Context, sample int64, labelled bool) (all []member, err error) {
	path := s.source.Describe(sample)
	stem := strings.TrimSuffix(path, filepath.Ext(path))
	if err := s.list(filepath.Dir(path)); err != nil {
		return nil, err
	}
	for _, ending := range s.found[stem] {
		if labelled && ending == "cls" {
			return nil, fmt.Errorf("%s has a label by its folder and another by %s; remove one of them", printable.Name(path), printable.Name(filepath.Base(stem)+".cls"))
		}
		data, err := os.ReadFile(stem + "." + ending)
		if err != nil {
			return nil, err
		}
		all = append(all, member{ending, data})
	}
	return inOrder(all), nil
}

// list lists a folder once.
func (s *sidecars) list(dir string) error {
	if s.listed[dir] {
		return nil
	}
	s.listed[dir] = true
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		if !isSidecar(e, ext) {
			continue
		}
		stem := filepath.Join(dir, strings.TrimSuffix(e.Name(), ext))
		s.found[stem] = append(s.found[stem], strings.ToLower(ext[1:]))
	}
	return nil
}

func isSidecar(e fs.DirEntry, ext string) bool {
	return e.Type().IsRegular() && len(ext) > 1 && ext == strings.ToLower(ext) && !strings.HasPrefix(e.Name(), ".") &&
		!slices.Contains(readers.DefaultExtensions(), ext)
}
