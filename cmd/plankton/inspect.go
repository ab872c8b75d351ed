package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planktonml/plankton/dataset"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// inspectCmd says what is in a data set. Every picture is decoded: only that finds
// files that are cut off or damaged.
type inspectCmd struct {
	Data    string `required:"" placeholder:"DATA" help:"Folder of pictures, flat or one folder per class, of shards, or of IDX files."`
	Threads int    `placeholder:"N" help:"Workers; default one per processor."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// inspection is the JSON of inspect. Samples, bytes and classes count all that a pipeline
// on the folder has, bad files included; the rest is of the pictures that were decoded.
type inspection struct {
	Format   string           `json:"format"` // folder, idx, tar, tfrecord, …
	Samples  int64            `json:"samples"`
	Bytes    int64            `json:"bytes"` // of the files as they are
	Formats  map[string]int64 `json:"formats"`
	Channels map[string]int64 `json:"channels"` // gray or rgb
	Width    *spread          `json:"width,omitempty"`
	Height   *spread          `json:"height,omitempty"`
	Mean     []float64        `json:"mean,omitempty"` // of pixels of 0 … 255, by channel, or one value where all are gray
	Std      []float64        `json:"std,omitempty"`
	Classes  []classCount     `json:"classes"`
	Shards   *shardCount      `json:"shards,omitempty"`
	Table    *tableLook       `json:"table,omitempty"`
	Misnamed []misnamed       `json:"misnamed"` // files of another format than their name says
	Bad      []badFile        `json:"bad"`
	Warnings []string         `json:"warnings"` // of what is surely not meant
}

// spread describes the extents of pictures in pixels.
type spread struct {
	Min    int     `json:"min"`
	Median int     `json:"median"`
	Mean   float64 `json:"mean"`
	Max    int     `json:"max"`
}

type classCount struct {
	Name    string `json:"name"`
	Samples int64  `json:"samples"`
}

type misnamed struct {
	Source string `json:"source"`
	Format string `json:"format"`
}

type badFile struct {
	Source    string `json:"source"`
	Error     string `json:"error"`
	Decodable bool   `json:"decodable"` // a picture can be had of it, if damage is passed over
}

func (c *inspectCmd) Run(std *stdio) error {
	if c.Threads < 0 {
		return usagef("--threads is %d; it must be at least 1, or 0 for one per processor", c.Threads)
	}
	idx, err := idxFiles(c.Data)
	if err != nil {
		return err
	}
	var found *inspection
	if len(idx) > 0 {
		found, err = c.arrays(std, idx)
	} else {
		found, err = c.pictures(std)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		if err := printJSON(std.out, found); err != nil {
			return err
		}
	} else {
		found.print(std)
	}
	if n := int64(len(found.Bad)); n > 0 {
		return fmt.Errorf("%s: mend or remove what is listed, or train without it (--on-error skip or replace)", plural(n, "bad file"))
	}
	return nil
}

// idxFiles lists the IDX files of a folder.
func idxFiles(data string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(data, "*-idx[1-9]-ubyte*"))
	if err != nil {
		return nil, usagef("--data %s: %w", data, err)
	}
	return files, nil
}

// pictures decodes every picture of the folder.
func (c *inspectCmd) pictures(std *stdio) (*inspection, error) {
	data, err := openData(std, c.Data)
	if err != nil {
		return nil, err
	}
	defer data.Close()
	found := newInspection()
	found.Format = data.Format
	p, err := pipeline.New(pipeline.Options{
		BatchSize: 32, Workers: c.Threads, OnError: pipeline.Skip,
		OnSampleError: func(e *pipeline.SampleError) {
			damage := damageOf(e)
			found.Bad = append(found.Bad, badFile{Source: e.Source, Error: damage.Error(), Decodable: damage != e.Err})
		},
	}, func(g *pipeline.Graph) {
		encoded, _ := data.Read(g, pipeline.ReaderOptions{})
		picture := ops.DecodeImage(g, encoded, ops.DecodeOptions{Type: ops.Any})
		g.Output("seen", look(g, encoded, picture))
	})
	if err != nil {
		return nil, runNames.error(err)
	}
	source := p.Readers()[0].Source
	var widths, heights []int
	var pixels moments
	err = walk(std, p, func(b *iterator.Batch) {
		values := b.Int64s("seen")
		for i, ok := range b.Mask() {
			if !ok {
				continue
			}
			v := (*looks)(values[i*seen:])
			format := formats[v[seenFormat]]
			found.Bytes += v[seenBytes]
			found.Formats[format.name]++
			found.Channels[channels(v[seenChannels])]++
			pixels.add(v)
			widths, heights = append(widths, int(v[seenWidth])), append(heights, int(v[seenHeight]))
			path := source.Describe(b.IDs()[i])
			if ext := strings.ToLower(filepath.Ext(path)); len(data.Shards) == 0 && !slices.Contains(format.extensions, ext) {
				found.Misnamed = append(found.Misnamed, misnamed{path, format.name})
			}
		}
	})
	if err != nil {
		return nil, err
	}
	if len(data.Shards) > 0 {
		if err := errors.Join(found.countShards(data), found.lookAtTable(source)); err != nil {
			return nil, err
		}
	} else {
		for _, bad := range found.Bad {
			if info, err := os.Stat(bad.Source); err == nil {
				found.Bytes += info.Size()
			}
		}
	}
	found.Samples = source.Len()
	found.Width, found.Height = newSpread(widths), newSpread(heights)
	found.Mean, found.Std = pixels.result()
	found.countClasses(data, source)
	return found, nil
}

// countClasses counts the samples of every class, readable or not.
func (f *inspection) countClasses(data *dataset.Data, source datum.Source) {
	labelled, ok := source.(datum.Labelled)
	if !ok {
		return
	}
	counts, without := map[int32]int64{}, int64(0)
	for i := range source.Len() {
		if label, ok := labelled.Label(i); ok {
			counts[label]++
		} else {
			without++
		}
	}
	if len(counts) == 0 {
		return
	}
	if without > 0 {
		f.Warnings = append(f.Warnings, fmt.Sprintf("%s without a label, while others have one: they fail when they are read", plural(without, "sample")))
	}
	names := source.Meta().Classes
	var filled []string
	if names == nil {
		for _, label := range slices.Sorted(maps.Keys(counts)) {
			f.Classes = append(f.Classes, classCount{fmt.Sprint(label), counts[label]})
		}
	}
	for label, name := range names {
		n := counts[int32(label)]
		f.Classes = append(f.Classes, classCount{name, n})
		if n > 0 {
			filled = append(filled, name)
		}
	}
	if alike, ok := newLikeness(source); ok && alike.warning() != "" {
		f.Warnings = append(f.Warnings, alike.warning())
	}
	if data.Format == "folder" && data.Place == nil {
		f.Warnings = append(f.Warnings, folderWarnings(data.Root, filled)...)
	}
}

// channels names a number of channels.
func channels(n int64) string {
	switch n {
	case 1:
		return "gray"
	case 3:
		return "rgb"
	}
	return fmt.Sprintf("%d channels", n)
}

// arrays reads the IDX files of a folder: images, and the labels that belong to
// them by their names.
func (c *inspectCmd) arrays(std *stdio, paths []string) (*inspection, error) {
	found := newInspection()
	found.Format = "idx"
	counts := map[int32]int64{}
	var widths, heights []int
	var pixels moments
	for _, path := range paths {
		if !strings.Contains(filepath.Base(path), "-idx3-") {
			continue
		}
		labels := strings.NewReplacer("images", "labels", "-idx3-", "-idx1-").Replace(path)
		if !slices.Contains(paths, labels) {
			labels = ""
		}
		p, err := pipeline.New(pipeline.Options{BatchSize: 256, Workers: c.Threads}, func(g *pipeline.Graph) {
			image, label := readers.IDX(g, readers.IDXOptions{Images: path, Labels: labels})
			g.Output("image", image)
			if labels != "" {
				g.Output("label", label)
			}
		})
		if err != nil {
			found.Bad = append(found.Bad, badFile{Source: path, Error: err.Error()})
			continue
		}
		err = walk(std, p, func(b *iterator.Batch) {
			for i, ok := range b.Mask() {
				if !ok {
					continue
				}
				shape := b.Shape("image")
				row := len(b.Bytes("image")) / b.Size()
				v := looks{seenHeight: int64(shape[1]), seenWidth: int64(shape[2]), seenChannels: 1}
				v.sum(b.Bytes("image")[i*row : (i+1)*row])
				pixels.add(&v)
				found.Samples++
				heights, widths = append(heights, shape[1]), append(widths, shape[2])
				if labels != "" {
					counts[b.Int32s("label")[i]]++
				}
			}
		})
		if err != nil {
			return nil, err
		}
		found.Formats["idx"]++
		for _, file := range []string{path, labels} {
			if info, err := os.Stat(file); err == nil {
				found.Bytes += info.Size()
			}
		}
	}
	found.Width, found.Height = newSpread(widths), newSpread(heights)
	found.Mean, found.Std = pixels.result()
	for label, n := range counts {
		found.Classes = append(found.Classes, classCount{fmt.Sprint(label), n})
	}
	slices.SortFunc(found.Classes, func(a, b classCount) int {
		return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), strings.Compare(a.Name, b.Name))
	})
	return found, nil
}

// walk shows every batch of a pipeline once, until it is interrupted.
func walk(std *stdio, p *pipeline.Pipeline, see func(*iterator.Batch)) error {
	return followed(std, p, func(ctx context.Context, loader *iterator.Loader, progress *iterator.Progress) error {
		for b, err := range loader.Epoch(ctx) {
			if err != nil {
				return err
			}
			see(b)
			progress.Step("")
		}
		return nil
	})
}

func newInspection() *inspection {
	return &inspection{
		Formats: map[string]int64{}, Channels: map[string]int64{},
		Classes: []classCount{}, Misnamed: []misnamed{}, Bad: []badFile{}, Warnings: []string{},
	}
}

// newSpread sorts what it describes; nil for nothing.
func newSpread(of []int) *spread {
	if len(of) == 0 {
		return nil
	}
	slices.Sort(of)
	sum := 0
	for _, v := range of {
		sum += v
	}
	return &spread{Min: of[0], Median: of[len(of)/2], Mean: float64(sum) / float64(len(of)), Max: of[len(of)-1]}
}
