package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planktonml/plankton/internal/terminal"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// inspectCmd says what is in a folder. Every picture is decoded: only that finds
// files that are cut off or damaged.
type inspectCmd struct {
	Data    string `required:"" placeholder:"DIR" help:"Folder of pictures, flat or one folder per class, or of IDX files."`
	Threads int    `placeholder:"N" help:"Workers; default one per processor."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// inspection is the JSON of inspect.
type inspection struct {
	Samples  int64            `json:"samples"`
	Bytes    int64            `json:"bytes"` // of the files as they are
	Formats  map[string]int64 `json:"formats"`
	Channels map[string]int64 `json:"channels"` // gray or rgb
	Width    *spread          `json:"width,omitempty"`
	Height   *spread          `json:"height,omitempty"`
	Classes  []classCount     `json:"classes"`
	Misnamed []misnamed       `json:"misnamed"` // files of another format than their name says
	Bad      []badFile        `json:"bad"`
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
	Source string `json:"source"`
	Error  string `json:"error"`
}

func (c *inspectCmd) Run(std *stdio) error {
	if c.Threads < 0 {
		return usagef("--threads is %d; it must be at least 1, or 0 for one per processor", c.Threads)
	}
	idx, err := filepath.Glob(filepath.Join(c.Data, "*-idx[1-9]-ubyte*"))
	if err != nil {
		return usagef("--data %s: %w", c.Data, err)
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
		return json.NewEncoder(std.out).Encode(found)
	}
	return found.print(std)
}

// The elements of what look finds out about a picture.
const (
	seenFormat = iota
	seenHeight
	seenWidth
	seenChannels
	seenBytes
	seen
)

// pictures decodes every picture of the folder.
func (c *inspectCmd) pictures(std *stdio) (*inspection, error) {
	found := newInspection()
	p, err := pipeline.New(pipeline.Options{
		BatchSize: 32, Workers: c.Threads, OnError: pipeline.Skip,
		OnSampleError: func(e *pipeline.SampleError) {
			found.Bad = append(found.Bad, badFile{e.Source, e.Err.Error()})
		},
	}, func(g *pipeline.Graph) {
		encoded, label := readers.File(g, readers.FileOptions{Root: c.Data})
		picture := ops.DecodeImage(g, encoded, ops.DecodeOptions{Type: ops.Any})
		g.Output("seen", look(g, encoded, picture))
		g.Output("label", label)
	})
	if err != nil {
		return nil, runNames.error(err)
	}
	reader := p.Readers()[0]
	var widths, heights []int
	labels := make([]int64, len(reader.Meta().Classes))
	err = walk(std, p, func(b *iterator.Batch) {
		values, classes := b.Int64s("seen"), b.Int32s("label")
		for i, ok := range b.Mask() {
			if !ok {
				continue
			}
			v := values[i*seen : (i+1)*seen]
			format := formats[v[seenFormat]]
			found.Samples++
			found.Bytes += v[seenBytes]
			found.Formats[format.name]++
			found.Channels[channels(v[seenChannels])]++
			widths, heights = append(widths, int(v[seenWidth])), append(heights, int(v[seenHeight]))
			if len(labels) > 0 {
				labels[classes[i]]++
			}
			path := reader.Source.Describe(b.IDs()[i])
			if ext := strings.ToLower(filepath.Ext(path)); !slices.Contains(format.extensions, ext) {
				found.Misnamed = append(found.Misnamed, misnamed{path, format.name})
			}
		}
	})
	if err != nil {
		return nil, err
	}
	found.Width, found.Height = newSpread(widths), newSpread(heights)
	for i, name := range reader.Meta().Classes {
		found.Classes = append(found.Classes, classCount{name, labels[i]})
	}
	return found, nil
}

// look describes a picture by its file and its pixels.
func look(g *pipeline.Graph, encoded, picture pipeline.Value) pipeline.Value {
	return g.Add(pipeline.Op{
		Name: "look", Inputs: []pipeline.Value{encoded, picture}, Outputs: []pipeline.Spec{{DType: pipeline.Int64, Shape: []int{seen}}},
		New: func() (pipeline.Kernel, error) {
			return pipeline.KernelFunc(func(_ *pipeline.Sample, in, out []*pipeline.Tensor) error {
				if _, err := out[0].Resize(seen); err != nil {
					return err
				}
				v, shape := out[0].Int64s(), in[1].Shape()
				v[seenFormat], v[seenBytes] = formatOf(in[0].Bytes()), int64(in[0].Len())
				v[seenHeight], v[seenWidth], v[seenChannels] = int64(shape[0]), int64(shape[1]), int64(shape[2])
				return nil
			}), nil
		},
	})[0]
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
	counts := map[int32]int64{}
	var widths, heights []int
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
			found.Bad = append(found.Bad, badFile{path, err.Error()})
			continue
		}
		err = walk(std, p, func(b *iterator.Batch) {
			for i, ok := range b.Mask() {
				if !ok {
					continue
				}
				shape := b.Shape("image")
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
	loader, err := iterator.New(iterator.Options{}, p)
	if err != nil {
		return err
	}
	defer loader.Close()
	progress := iterator.NewProgress(std.err, loader, 1)
	defer progress.Close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	for b, err := range loader.Epoch(ctx) {
		if err != nil {
			return err
		}
		see(b)
		progress.Step("")
	}
	return nil
}

func newInspection() *inspection {
	return &inspection{
		Formats: map[string]int64{}, Channels: map[string]int64{},
		Classes: []classCount{}, Misnamed: []misnamed{}, Bad: []badFile{},
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

// longestList is how many entries of a list are printed for a person.
const longestList = 20

// print writes the inspection for a person.
func (f *inspection) print(std *stdio) error {
	w := std.out
	fmt.Fprintf(w, "%d samples, %.1f MB\n", f.Samples, float64(f.Bytes)/1e6)
	printCounts(std, "formats", f.Formats)
	printCounts(std, "channels", f.Channels)
	if f.Width != nil {
		fmt.Fprintf(w, "width   %d … %d, median %d, mean %.0f\n", f.Width.Min, f.Width.Max, f.Width.Median, f.Width.Mean)
		fmt.Fprintf(w, "height  %d … %d, median %d, mean %.0f\n", f.Height.Min, f.Height.Max, f.Height.Median, f.Height.Mean)
	}
	if n := len(f.Classes); n > 0 {
		most := slices.MaxFunc(f.Classes, func(a, b classCount) int { return cmp.Compare(a.Samples, b.Samples) }).Samples
		fmt.Fprintf(w, "%d classes\n", n)
		for _, c := range head(f.Classes) {
			fmt.Fprintf(w, "  %s %6d  %s\n", terminal.Bar(float64(c.Samples)/float64(max(1, most)), 20), c.Samples, c.Name)
		}
		more(std, n)
	}
	if n := len(f.Misnamed); n > 0 {
		fmt.Fprintf(w, "%d files of another format than their name says\n", n)
		for _, m := range head(f.Misnamed) {
			fmt.Fprintf(w, "  %s: %s\n", m.Source, m.Format)
		}
		more(std, n)
	}
	fmt.Fprintf(w, "%d bad files\n", len(f.Bad))
	for _, b := range head(f.Bad) {
		fmt.Fprintf(w, "  %s: %s\n", b.Source, b.Error)
	}
	more(std, len(f.Bad))
	return nil
}

func printCounts(std *stdio, name string, counts map[string]int64) {
	var parts []string
	for k, n := range counts {
		parts = append(parts, fmt.Sprintf("%d %s", n, k))
	}
	slices.Sort(parts)
	if len(parts) > 0 {
		fmt.Fprintf(std.out, "%s: %s\n", name, strings.Join(parts, ", "))
	}
}

// head returns the part of a list that is printed.
func head[E any](list []E) []E { return list[:min(len(list), longestList)] }

// more says how much of a list of n entries was left out.
func more(std *stdio, n int) {
	if n > longestList {
		fmt.Fprintf(std.out, "  … and %d more (--json lists all)\n", n-longestList)
	}
}
