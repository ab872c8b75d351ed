package readers

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/dali"
	"github.com/planktonml/plankton/pipeline/datum"
)

// filesIn returns a folder of files, each of which holds its name.
func filesIn(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		file := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(name), 0o644))
	}
	return dir
}

// Files are paired by their place in the order of their paths. Where names tell that this
// is wrong, the pipeline is refused.
func TestFilesThatFollow(t *testing.T) {
	pictures := filesIn(t, "cat/a.jpg", "cat/a.k.jpg", "dog/c.jpg")
	build := func(o FileOptions) error {
		o.Name, o.Follow = "masks", "pictures"
		_, err := pipeline.New(pipeline.Options{BatchSize: 3}, func(g *pipeline.Graph) {
			picture, _ := File(g, FileOptions{Name: "pictures", Root: pictures, Split: pipeline.Split{Folds: 3}})
			mask, _ := File(g, o)
			g.Output("picture", picture)
			g.Output("mask", mask)
		})
		return err
	}
	require.NoError(t, build(FileOptions{Root: filesIn(t, "cat/a.gif", "cat/b.png", "dog/c.png"), Extensions: []string{".gif", ".png"}}))
	require.NoError(t, build(FileOptions{Root: filesIn(t, "cat/a_mask.png", "cat/a.k_mask.png", "dog/c_mask.png")}), "names that the other has not")
	png := filesIn(t, "cat/a.png", "cat/a.k.png", "dog/c.png") // .k is before .png and behind .jpg
	require.EqualError(t, build(FileOptions{Root: png}),
		`pipeline: masks: its sample 0 is "cat/a.k", which is sample 1 of reader "pictures", which it follows: the names of the two sort differently; give the files of both one by one, in the same order`)
	require.NoError(t, build(FileOptions{Root: png, Files: []string{"cat/a.png", "cat/a.k.png", "dog/c.png"}}), "the program's order")
	require.ErrorContains(t, build(FileOptions{Root: filesIn(t, "cat/a.png", "dog/c.png")}), "it has 2 samples")
}

// Every reader can follow.
func TestAllReadersFollow(t *testing.T) {
	p, err := pipeline.New(pipeline.Options{BatchSize: 3, Seed: 4}, func(g *pipeline.Graph) {
		g.Output("x", Slices(g, SlicesOptions{Name: "x", Shuffle: true}, Rows([]int64{0, 1, 2}))[0])
		g.Output("slices", Slices(g, SlicesOptions{Follow: "x"}, Rows([]int64{0, 1, 2}))[0])
		g.Output("external", External(g, ExternalOptions{
			Follow: "x", Len: 3, Outputs: []datum.Spec{{DType: datum.Int64}}, Read: readIndex,
		})[0])
	})
	require.NoError(t, err)
	d := dali.New(p)
	defer d.Close()
	for range 4 {
		b, err := d.Run(t.Context())
		require.NoError(t, err)
		require.Equal(t, b.Int64s("x"), b.Int64s("slices"))
		require.Equal(t, b.Int64s("x"), b.Int64s("external"))
	}
	_, err = pipeline.New(pipeline.Options{BatchSize: 1}, func(g *pipeline.Graph) {
		External(g, ExternalOptions{Follow: "x", Outputs: []datum.Spec{{DType: datum.Int64}}, Seq: func(func(Item, error) bool) {}})
	})
	require.ErrorContains(t, err, "a Seq cannot Follow a reader")
}

func readIndex(_ context.Context, index int64, out []*datum.Tensor) error {
	if _, err := out[0].Resize(); err != nil {
		return err
	}
	out[0].Int64s()[0] = index
	return nil
}
