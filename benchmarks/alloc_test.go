package benchmarks

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/workload"
	"github.com/planktonml/plankton/pipeline"
)

// From the file to the loop's body and back a warm pipeline allocates nothing: not
// once in a batch of 64 pictures, over epochs. There is one worker, so that none
// meets its largest crop late. (The rows of decode still grow now and then.)
func TestWarmLoadersAllocateNothing(t *testing.T) {
	dir := t.TempDir()
	for i := range 96 {
		writePhoto(t, filepath.Join(dir, fmt.Sprintf("%d.jpeg", i)), 60+i%7, 50+i%5)
	}
	for _, name := range []string{"train", "eval", "cifar"} {
		for _, exact := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, exact RGB %t", name, exact), func(t *testing.T) {
				l := open(t, workload.Config{
					Name: name, Data: dir, Size: 32, Options: pipeline.Options{BatchSize: batchSize, Workers: 1, ExactRGB: exact},
				})
				next, stop := iter.Pull2(l.Epochs(t.Context(), 1<<30))
				defer stop()
				step := func() {
					if _, err, _ := next(); err != nil {
						panic(err)
					}
				}
				for range 20 {
					step()
				}
				require.Zero(t, testing.AllocsPerRun(20, step))
			})
		}
	}
}

// writePhoto writes a picture with smooth colours.
func writePhoto(t *testing.T, path string, w, h int) {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.SetRGBA(x, y, color.RGBA{uint8(3 * x), uint8(4 * y), uint8(x * y / 16), 255})
		}
	}
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, m, nil))
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
}
