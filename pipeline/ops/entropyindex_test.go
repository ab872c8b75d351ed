package ops_test

import (
	"bytes"
	"fmt"
	"image/jpeg"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/pipeline/stats"
)

// photos writes JPEG files of several sizes into a folder.
func photos(t *testing.T, n int) string {
	dir := t.TempDir()
	for i := range n {
		var b bytes.Buffer
		require.NoError(t, jpeg.Encode(&b, smooth(180+7*i, 330-11*i), &jpeg.Options{Quality: 70 + i}))
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%02d.jpg", i)), b.Bytes(), 0o666))
	}
	return dir
}

// crops is a pipeline on a folder of pictures, cropped in three ways.
func crops(dir string) func(g *pipeline.Graph) {
	return func(g *pipeline.Graph) {
		file, _ := readers.File(g, readers.FileOptions{Root: dir, Shuffle: true})
		for i := range 2 { // two views of a sample
			img := ops.DecodeRandomCrop(g, file, ops.RandomCropOptions{})
			img = ops.Resize(g, img, ops.ResizeOptions{Height: 40, Width: 40})
			img = ops.CropMirrorNormalize(g, img, ops.CropMirrorNormalizeOptions{})
			g.Output(fmt.Sprint("view", i), img)
		}
		g.Output("crop", ops.DecodeCrop(g, file, ops.DecodeCropOptions{CropOptions: ops.CropOptions{Height: 50, Width: 60}}))
	}
}

// samples returns the bytes of all samples of some epochs, with the id of each, and what
// the decoders have kept.
func samples(t *testing.T, o pipeline.Options, epochs int, define func(g *pipeline.Graph)) ([]string, stats.EntropyIndex) {
	t.Helper()
	p, err := pipeline.New(o, define)
	require.NoError(t, err)
	l, err := iterator.New(iterator.Options{ReaderName: p.Readers()[0].Name}, p)
	require.NoError(t, err)
	var got []string
	for b, err := range l.Epochs(t.Context(), epochs) {
		require.NoError(t, err)
		for i, ok := range b.Mask() {
			for _, name := range p.Outputs() {
				if ok {
					got = append(got, fmt.Sprintf("%d %s %x", b.IDs()[i], name, b.Sample(name, i).Bytes()))
				}
			}
		}
	}
	require.NoError(t, l.Close())
	return got, p.EntropyIndex()
}

func TestEntropyIndexChangesNothing(t *testing.T) {
	dir := photos(t, 12)
	for _, exact := range []bool{false, true} {
		o := pipeline.Options{BatchSize: 5, Seed: 3, ExactRGB: exact}
		file := filepath.Join(t.TempDir(), "decode.index")
		off := o
		off.EntropyIndex.Off = true
		want, kept := samples(t, off, 4, crops(dir))
		require.Zero(t, kept)
		for _, c := range []struct {
			name string
			set  func(o *pipeline.Options)
		}{
			{"memory", func(*pipeline.Options) {}},
			{"one worker", func(o *pipeline.Options) { o.Workers = 1 }},
			{"eight workers", func(o *pipeline.Options) { o.Workers = 8 }},
			{"little memory", func(o *pipeline.Options) { o.EntropyIndex.Bytes = 6000 }},
			{"a budget", func(o *pipeline.Options) { o.MemoryBudget, o.EntropyIndex.Bytes = 8<<20, 1<<20 }},
			{"a file", func(o *pipeline.Options) { o.EntropyIndex.File = file }},
			{"the file again", func(o *pipeline.Options) { o.EntropyIndex.File = file }},
		} {
			o := o
			c.set(&o)
			got, kept := samples(t, o, 4, crops(dir))
			require.Equal(t, want, got, c.name)
			if ops.EnginePlanes {
				require.Positive(t, kept.Hits, c.name)
				require.LessOrEqual(t, kept.Hits, kept.Lookups)
			}
			if c.name == "the file again" && ops.EnginePlanes {
				require.EqualValues(t, 12, kept.FilePictures)
				require.Equal(t, kept.Lookups, kept.Hits, "from the first epoch on")
			}
		}
	}
}

// TestEntropyIndexOfFilesThatChange writes other pictures into files between epochs.
func TestEntropyIndexOfFilesThatChange(t *testing.T) {
	dir, other := photos(t, 6), photos(t, 6)
	p, err := pipeline.New(pipeline.Options{BatchSize: 2, Seed: 4}, crops(dir))
	require.NoError(t, err)
	run := func(p *pipeline.Pipeline, epoch int) (got []string) {
		l, err := iterator.New(iterator.Options{}, p)
		require.NoError(t, err)
		for b, err := range l.Epoch(t.Context()) {
			require.NoError(t, err)
			for i := range b.IDs() {
				got = append(got, string(b.Sample("crop", i).Bytes()))
			}
		}
		require.NoError(t, l.Close())
		return got
	}
	require.NotEmpty(t, run(p, 0))
	for i := range 6 { // the names are the same, the pictures are not
		data, err := os.ReadFile(filepath.Join(other, fmt.Sprintf("%02d.jpg", 5-i)))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%02d.jpg", i)), data, 0o666))
	}
	fresh, err := pipeline.New(pipeline.Options{BatchSize: 2, Seed: 4, EntropyIndex: pipeline.EntropyIndex{Off: true}}, crops(dir))
	require.NoError(t, err)
	require.Equal(t, run(fresh, 0), run(p, 0))
}

// TestEntropyIndexFollowsSamples keeps an index of samples that are known by their place in
// the data set, whatever reader shows them.
func TestEntropyIndexFollowsSamples(t *testing.T) {
	dir, masks := photos(t, 8), photos(t, 8)
	define := func(second readers.FileOptions) func(g *pipeline.Graph) {
		return func(g *pipeline.Graph) {
			a, _ := readers.File(g, readers.FileOptions{Root: dir, Name: "pictures", Shuffle: true})
			second := second
			second.Root = masks
			b, _ := readers.File(g, second)
			for name, v := range map[string]pipeline.Value{"a": a, "b": b} {
				g.Output(name, ops.DecodeCrop(g, v, ops.DecodeCropOptions{CropOptions: ops.CropOptions{Height: 60, Width: 60}}))
			}
		}
	}
	for _, c := range []struct {
		name     string
		define   func(g *pipeline.Graph)
		pictures int64
	}{
		{"follower", define(readers.FileOptions{Follow: "pictures"}), 16},
		{"a reader of its own", define(readers.FileOptions{Shuffle: true}), 8},
		{"split", func(g *pipeline.Graph) {
			a, _ := readers.File(g, readers.FileOptions{Root: dir, Split: pipeline.Split{Folds: 4, Seed: 7}})
			g.Output("a", ops.DecodeCrop(g, a, ops.DecodeCropOptions{CropOptions: ops.CropOptions{Height: 60, Width: 60}}))
		}, 6},
	} {
		want, _ := samples(t, pipeline.Options{BatchSize: 3, EntropyIndex: pipeline.EntropyIndex{Off: true}}, 3, c.define)
		got, kept := samples(t, pipeline.Options{BatchSize: 3}, 3, c.define)
		require.ElementsMatch(t, want, got, c.name)
		if ops.EnginePlanes {
			require.Equal(t, c.pictures, kept.Pictures, c.name)
			require.Positive(t, kept.Hits)
		}
	}
}

func TestEntropyIndexOptions(t *testing.T) {
	dir := photos(t, 4)
	other := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.WriteFile(other, make([]byte, 4096), 0o666))
	for _, c := range []struct {
		index pipeline.EntropyIndex
		want  string
	}{
		{pipeline.EntropyIndex{Bytes: -1}, "must not be negative"},
		{pipeline.EntropyIndex{Off: true, Bytes: 1}, "leave them out"},
		{pipeline.EntropyIndex{File: other}, "no entropy index"},
	} {
		_, err := pipeline.New(pipeline.Options{BatchSize: 1, EntropyIndex: c.index}, crops(dir))
		require.ErrorContains(t, err, c.want)
	}
	_, err := pipeline.New(pipeline.Options{BatchSize: 1, MemoryBudget: 1 << 20, EntropyIndex: pipeline.EntropyIndex{Bytes: 1 << 20}}, crops(dir))
	require.ErrorContains(t, err, "MemoryBudget")
}
