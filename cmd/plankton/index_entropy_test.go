package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// photographs writes JPEG files that are large enough for an entropy index.
func photographs(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		m := image.NewYCbCr(image.Rect(0, 0, 240+8*i, 260-9*i), image.YCbCrSubsampleRatio420)
		for k := range m.Y {
			m.Y[k] = uint8(k * k >> 7)
		}
		var b bytes.Buffer
		require.NoError(t, jpeg.Encode(&b, m, nil))
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%02d.jpg", i)), b.Bytes(), 0o644))
	}
	return dir
}

func TestIndexDecode(t *testing.T) {
	dir := photographs(t, 7)
	bench := func(args ...string) benchResult {
		out, errs, code := command(append([]string{"bench", "--workload", "train", "--data", dir, "--epochs", "2", "--size", "32", "--batch", "3", "--digest", "--json"}, args...)...)
		require.Zero(t, code, errs)
		var res benchResult
		require.NoError(t, json.Unmarshal([]byte(out), &res))
		return res
	}
	off := bench("--entropy-index", "off")
	require.Nil(t, off.EntropyIndex)
	out, errs, code := command("index", "--data", dir, "--decode", "--json")
	require.Zero(t, code, errs)
	var made decodeResult
	require.NoError(t, json.Unmarshal([]byte(out), &made))
	require.EqualValues(t, 7, made.Samples)
	require.EqualValues(t, 7, made.Pictures)
	require.Greater(t, made.Places, int64(7*10))
	require.Equal(t, filepath.Join(dir, decodeFile), made.File)
	info, err := os.Stat(made.File)
	require.NoError(t, err)
	require.Equal(t, info.Size(), made.Bytes)

	with := bench("--entropy-index", made.File)
	require.Equal(t, off.Digests, with.Digests)
	require.EqualValues(t, 7, with.EntropyIndex.FilePictures)
	require.Equal(t, with.EntropyIndex.Lookups, with.EntropyIndex.Hits)
	require.Equal(t, off.Digests, bench().Digests)

	after, err := os.Stat(made.File)
	require.NoError(t, err)
	require.Equal(t, info.Size(), after.Size(), "the index was whole")
}

func TestIndexDecodeRefuses(t *testing.T) {
	dir := photographs(t, 2)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"index", "--data", dir, "--out", "x"}, 2, "--out is for --decode"},
		{[]string{"index", "--data", dir, "--decode", "--dali"}, 2, "leave --dali and --label out"},
		{[]string{"index", "--data", filepath.Join(dir, "00.jpg"), "--decode"}, 2, "say with --out"},
		{[]string{"index", "--data", pictures(t, 3), "--decode"}, 1, "has no JPEG file of which an index is kept"},
		{[]string{"bench", "--workload", "train", "--data", dir, "--entropy-index", filepath.Join(dir, "00.jpg")}, 1, "no entropy index"},
	} {
		_, errs, code := command(c.args...)
		require.Equal(t, c.code, code, errs)
		require.Contains(t, errs, c.want)
	}
	left, err := filepath.Glob(filepath.Join(dir, decodeFile+"*"))
	require.NoError(t, err)
	require.Empty(t, left)
}
