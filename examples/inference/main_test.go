package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// album makes a folder of n pictures in two folders, every 17th of which is none, and
// returns it with the paths below it in order.
func album(t *testing.T, n int) (dir string, names []string) {
	t.Helper()
	dir = t.TempDir()
	for i := range n {
		img := image.NewGray(image.Rect(0, 0, 70, 70))
		for k := range img.Pix {
			img.Pix[k] = color.Gray{Y: uint8(i*7 + k%70)}.Y
		}
		var text bytes.Buffer
		require.NoError(t, png.Encode(&text, img))
		path := fmt.Sprintf("%c/%04d.png", 'a'+i%2, i)
		name := filepath.Join(dir, path)
		if i%17 == 3 {
			text.Truncate(5)
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
		require.NoError(t, os.WriteFile(name, text.Bytes(), 0o666))
		names = append(names, path)
	}
	slices.Sort(names)
	return dir, names
}

func readCSV(t *testing.T, name string) [][]string {
	t.Helper()
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	return lines
}

// Every picture has a line, in order, with its scores or with why there are none.
func TestEveryPictureHasALine(t *testing.T) {
	dir, names := album(t, 100)
	out := filepath.Join(t.TempDir(), "scores.csv")
	var said bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-data", dir, "-out", out}, &said, moments))
	require.Equal(t, out+": 94 pictures in this run, 6 that cannot be decoded\n", said.String())
	lines := readCSV(t, out)
	require.Equal(t, []string{"name", "mean_r", "mean_g", "mean_b", "std_r", "std_g", "std_b", "error"}, lines[0])
	var got []string
	for _, line := range lines[1:] {
		got = append(got, line[0])
		require.Equal(t, line[7] == "", line[1] != "", line)
	}
	require.Equal(t, names, got)

	// A finished job stays as it is.
	said.Reset()
	require.NoError(t, run(t.Context(), []string{"-data", dir, "-out", out}, &said, moments))
	require.Equal(t, out+" is finished\n", said.String())
	require.Equal(t, lines, readCSV(t, out))
}

// Jobs that share a folder write all lines once.
func TestJobsShareAFolder(t *testing.T) {
	dir, names := album(t, 100)
	var got []string
	for rank := range 3 {
		out := filepath.Join(t.TempDir(), "scores.csv")
		require.NoError(t, run(t.Context(), []string{"-data", dir, "-out", out, "-rank", fmt.Sprint(rank), "-world", "3"}, io.Discard, moments))
		for _, line := range readCSV(t, out)[1:] {
			got = append(got, line[0])
		}
	}
	slices.Sort(got)
	require.Equal(t, names, got)
}

func TestWhatIsRefused(t *testing.T) {
	dir, _ := album(t, 20)
	out := filepath.Join(t.TempDir(), "scores.csv")
	for _, args := range [][]string{nil, {"-data", dir, "-every", "0"}, {"-data", dir, "-rank", "1"}, {"-data", dir, "rest"}} {
		require.ErrorContains(t, run(t.Context(), args, io.Discard, moments), "usage")
	}
	require.NoError(t, os.WriteFile(out, []byte("mine"), 0o666))
	require.ErrorContains(t, run(t.Context(), []string{"-data", dir, "-out", out}, io.Discard, moments), "name another file")
	require.NoError(t, os.Remove(out))

	require.NoError(t, run(t.Context(), []string{"-data", dir, "-out", out}, io.Discard, moments))
	other, _ := album(t, 21)
	require.ErrorContains(t, run(t.Context(), []string{"-data", other, "-out", out}, io.Discard, moments), "number of samples")
	require.NoError(t, os.Truncate(out, 10))
	require.ErrorContains(t, run(t.Context(), []string{"-data", dir, "-out", out}, io.Discard, moments), "has 10 bytes")
}
