package main

import (
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// folder writes bright and dark pictures.
func folder(t *testing.T) string {
	t.Helper()
	dir, rng := t.TempDir(), rand.New(rand.NewPCG(1, 2))
	for class, light := range map[string]int{"bright": 128, "dark": 0} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, class), 0o700))
		for i := range 60 {
			m := image.NewGray(image.Rect(0, 0, 40+i, 50))
			for k := range m.Pix {
				m.Pix[k] = byte(light + rng.IntN(128))
			}
			f, err := os.Create(filepath.Join(dir, class, fmt.Sprintf("%d.jpg", i)))
			require.NoError(t, err)
			require.NoError(t, jpeg.Encode(f, m, nil))
			require.NoError(t, f.Close())
		}
	}
	return dir
}

// worker serves the pictures until the test ends, and returns where.
func worker(t *testing.T, data string) string {
	t.Helper()
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, w, options{data: data, serve: "127.0.0.1:0"}) }()
	t.Cleanup(func() { cancel(); require.NoError(t, <-ended) })
	var address string
	_, err := fmt.Fscanf(r, "listening on %s\n", &address)
	require.NoError(t, err)
	return address
}

// Trained with two workers, one of which is not there, weights and losses are those of one
// process.
func TestWorkersChangeNothing(t *testing.T) {
	data := folder(t)
	var alone, together strings.Builder
	require.NoError(t, run(t.Context(), &alone, options{data: data, epochs: 3}))
	require.Regexp(t, `^epoch \d+: loss 0\.\d+\n(.*\n){2}weights [0-9a-f]{16}\n$`, alone.String())
	require.NoError(t, run(t.Context(), &together, options{data: data, epochs: 3, workers: worker(t, data) + ",127.0.0.1:1"}))
	require.Equal(t, 2, strings.Count(together.String(), "worker http://"))
	require.Equal(t, alone.String(), regexp.MustCompile(`(?m)^worker .*\n`).ReplaceAllString(together.String(), ""))
}

func TestWrongOptions(t *testing.T) {
	for want, o := range map[string]options{
		"-data is missing":           {},
		"-serve makes a worker":      {data: "x", serve: "127.0.0.1:0", workers: "127.0.0.1:1"},
		"other machines can reach":   {data: folder(t), serve: ":0"},
		"10.0.0.1:1 is another mach": {data: folder(t), workers: "10.0.0.1:1"},
	} {
		require.ErrorContains(t, run(t.Context(), io.Discard, o), want)
	}
}
