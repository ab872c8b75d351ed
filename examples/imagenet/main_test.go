package main

import (
	"archive/tar"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// folder writes red and blue pictures under the names that name returns.
func folder(t *testing.T, name func(class string, i int) string) string {
	t.Helper()
	dir := t.TempDir()
	for class, c := range map[string]color.RGBA{"red": {255, 0, 0, 255}, "blue": {0, 0, 255, 255}} {
		for i := range 20 {
			path := filepath.Join(dir, name(class, i))
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
			img := image.NewRGBA(image.Rect(0, 0, 40+i, 32))
			draw.Draw(img, img.Bounds(), image.NewUniform(c), image.Point{}, draw.Src)
			f, err := os.Create(path)
			require.NoError(t, err)
			require.NoError(t, jpeg.Encode(f, img, nil))
			require.NoError(t, f.Close())
		}
	}
	return dir
}

func flat(class string, i int) string { return fmt.Sprintf("%s_%d.JPEG", class, i) }

func nested(class string, i int) string { return filepath.Join(class, fmt.Sprintf("%d.jpg", i)) }

// archive packs a folder of class folders into a tar archive in a folder of its own.
func archive(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	f, err := os.Create(filepath.Join(to, "pictures.tar"))
	require.NoError(t, err)
	defer f.Close()
	w := tar.NewWriter(f)
	for label, class := range []string{"red", "blue"} {
		files, err := filepath.Glob(filepath.Join(dir, class, "*"))
		require.NoError(t, err)
		for i, file := range files {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			for ending, content := range map[string][]byte{"jpg": data, "cls": fmt.Append(nil, label)} {
				require.NoError(t, w.WriteHeader(&tar.Header{Name: fmt.Sprintf("%s-%d.%s", class, i, ending), Size: int64(len(content)), Mode: 0o644}))
				_, err := w.Write(content)
				require.NoError(t, err)
			}
		}
	}
	require.NoError(t, w.Close())
	return to
}

func TestRun(t *testing.T) {
	for layout, dir := range map[string]string{"flat": folder(t, flat), "a folder per class": folder(t, nested), "tar": archive(t, folder(t, nested))} {
		t.Run(layout, func(t *testing.T) {
			o := options{data: dir, out: filepath.Join(t.TempDir(), "out"), epochs: 15, size: 16}
			var out strings.Builder
			require.NoError(t, run(context.Background(), &out, o))
			require.True(t, strings.HasPrefix(out.String(), "40 pictures of 2 classes\ntrained for 30 steps"), out.String())
			require.True(t, strings.HasSuffix(out.String(), "\naccuracy on the pictures trained on 100.0\n"), out.String())
			require.Equal(t, 30, points(t, filepath.Join(o.out, "loss.svg")))
		})
	}
}

// points checks that a picture is well-formed and counts the points of its curve.
func points(t *testing.T, path string) (n int) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	for d := xml.NewDecoder(f); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return n
		}
		require.NoError(t, err)
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "polyline" {
			for _, a := range e.Attr {
				if a.Name.Local == "points" {
					n += len(strings.Fields(a.Value))
				}
			}
		}
	}
}

func TestWeightsAreLoadedAsSaved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weights.gob")
	params := newParameters(32, 5)
	require.NoError(t, save(path, params))
	loaded, err := load(path)
	require.NoError(t, err)
	require.Len(t, loaded, len(params))
	for i := range params {
		require.Equal(t, params[i].Shape(), loaded[i].Shape())
		require.Equal(t, params[i].Data(), loaded[i].Data())
	}
	require.NoError(t, os.WriteFile(path, []byte("no weights"), 0o600))
	_, err = load(path)
	require.ErrorContains(t, err, "weights.gob")
}

func TestWrongOptions(t *testing.T) {
	both := folder(t, func(class string, i int) string {
		if i == 0 {
			return flat(class, i)
		}
		return nested(class, i)
	})
	one := folder(t, func(class string, i int) string { return fmt.Sprintf("same_%s%d.jpg", class, i) })
	for want, o := range map[string]options{
		"-data is missing":                {epochs: 1, size: 16},
		"no such file":                    {data: filepath.Join(t.TempDir(), "none"), epochs: 1, size: 16},
		"holds no file":                   {data: t.TempDir(), epochs: 1, size: 16},
		"both pictures (blue_0.JPEG) and": {data: both, epochs: 1, size: 16},
		"of one class":                    {data: one, epochs: 1, size: 16},
		"-epochs is 0":                    {data: one, size: 16},
		"a multiple of 16":                {data: one, epochs: 1, size: 20},
	} {
		o.out = t.TempDir()
		require.ErrorContains(t, run(context.Background(), io.Discard, o), want)
	}
}
