package main

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/iterator"
)

// folder writes pictures of one colour each; red is twice the number of the
// picture, green always 51, blue 0 or 255 in turn.
func folder(t *testing.T, pictures int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range pictures {
		img := image.NewRGBA(image.Rect(0, 0, 20, 16))
		draw.Draw(img, img.Bounds(), image.NewUniform(color.RGBA{uint8(2 * i), 51, uint8(255 * (i % 2)), 255}), image.Point{}, draw.Src)
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%03d.png", i)))
		require.NoError(t, err)
		require.NoError(t, png.Encode(f, img))
		require.NoError(t, f.Close())
	}
	return dir
}

func TestRun(t *testing.T) {
	// 51 numbers 0, 2, … 100 have the mean 50 and the deviation 2·√((51²-1)/12);
	// 25 of the 51 are odd.
	var out strings.Builder
	require.NoError(t, run(context.Background(), &out, folder(t, 51)))
	require.True(t, strings.HasPrefix(out.String(), "stopped halfway: "), out.String())
	require.True(t, strings.HasSuffix(out.String(), "\n2558976 pixels: mean [0.196 0.200 0.490], deviation [0.115 0.000 0.500]\n"), out.String())
}

func TestRunOfOneBatch(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(context.Background(), &out, folder(t, 3)))
	require.Contains(t, out.String(), "\n150528 pixels: mean [0.008 0.200 0.333]")
}

func TestAnotherFolderIsRefused(t *testing.T) {
	var out strings.Builder
	stored, err := begin(context.Background(), &out, folder(t, 40))
	require.NoError(t, err)
	_, err = finish(context.Background(), &out, folder(t, 41), stored)
	var mismatch *iterator.MismatchError
	require.ErrorAs(t, err, &mismatch)
}

func TestNoFolder(t *testing.T) {
	require.ErrorContains(t, run(context.Background(), os.Stdout, ""), "-data is missing")
	require.ErrorContains(t, run(context.Background(), os.Stdout, filepath.Join(t.TempDir(), "none")), "none")
}
