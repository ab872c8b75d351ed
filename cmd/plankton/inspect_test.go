package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// inspect returns what inspect prints as JSON. It fails where files are bad, and only
// there.
func inspect(t *testing.T, dir string) inspection {
	t.Helper()
	out, errs, code := command("inspect", "--json", "--data", dir)
	require.NotContains(t, out, "null")
	var found inspection
	require.NoError(t, json.Unmarshal([]byte(out), &found))
	if len(found.Bad) == 0 {
		require.Zero(t, code, errs)
		require.Empty(t, errs)
	} else {
		require.Equal(t, 1, code)
		require.Regexp(t, fmt.Sprintf("^plankton: %d bad files?: mend or remove .*\n$", len(found.Bad)), errs)
	}
	return found
}

func TestInspectPictures(t *testing.T) {
	dir := pictures(t, 4) // of 20 … 29 × 30 … 27, every third one PNG
	var gray bytes.Buffer
	require.NoError(t, jpeg.Encode(&gray, image.NewGray(image.Rect(0, 0, 100, 10)), nil))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bees", "gray.png"), gray.Bytes(), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ants", "text.jpg"), []byte("no picture"), 0o644))
	whole, err := os.ReadFile(filepath.Join(dir, "ants", "00.jpg"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ants", "01.jpg"), whole[:len(whole)/2], 0o644))

	found := inspect(t, dir)
	require.EqualValues(t, 10, found.Samples, "as many as a pipeline has")
	require.Equal(t, map[string]int64{"jpeg": 6, "png": 2}, found.Formats)
	require.Equal(t, map[string]int64{"rgb": 7, "gray": 1}, found.Channels)
	require.Equal(t, []classCount{{"ants", 5}, {"bees", 5}}, found.Classes)
	require.Equal(t, 20, found.Width.Min)
	require.Equal(t, 100, found.Width.Max)
	require.Equal(t, 26, found.Width.Median)
	require.Equal(t, 10, found.Height.Min)
	require.Len(t, found.Misnamed, 1)
	require.Equal(t, "jpeg", found.Misnamed[0].Format)
	require.Equal(t, "gray.png", filepath.Base(found.Misnamed[0].Source))
	require.Len(t, found.Bad, 2)
	require.Equal(t, "01.jpg", filepath.Base(found.Bad[0].Source))
	require.Contains(t, found.Bad[1].Error, "neither JPEG nor PNG")

	var size int64
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		info, _ := d.Info()
		if !d.IsDir() {
			size += info.Size()
		}
		return err
	}))
	require.Equal(t, size, found.Bytes)

	text, _, code := command("inspect", "--data", dir)
	require.Equal(t, 1, code)
	for _, want := range []string{"10 samples", "formats: 2 png, 6 jpeg", "width   20 … 100", "2 classes", "5  ants", "1 file of another format than the name says", "gray.png: jpeg", "2 bad files"} {
		require.Contains(t, text, want)
	}
}

func TestInspectArrays(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, header []uint32, data []byte) {
		var b bytes.Buffer
		for _, v := range header {
			require.NoError(t, binary.Write(&b, binary.BigEndian, v))
		}
		b.Write(data)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644))
	}
	write("t-images-idx3-ubyte", []uint32{0x803, 3, 2, 5}, make([]byte, 30))
	write("t-labels-idx1-ubyte", []uint32{0x801, 3}, []byte{7, 1, 7})
	write("cut-images-idx3-ubyte", []uint32{0x803, 9, 2, 5}, make([]byte, 30))
	found := inspect(t, dir)
	require.EqualValues(t, 3, found.Samples)
	require.Equal(t, []classCount{{"1", 1}, {"7", 2}}, found.Classes)
	require.Equal(t, 5, found.Width.Max)
	require.Equal(t, 2, found.Height.Max)
	require.Equal(t, map[string]int64{"idx": 1}, found.Formats)
	require.Len(t, found.Bad, 1)
	require.Contains(t, found.Bad[0].Source, "cut-images")
}

// Pictures count alike, whatever their size, and gray ones in all channels.
func TestInspectMoments(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, m image.Image) {
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, m))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644))
	}
	gray := image.NewGray(image.Rect(0, 0, 1, 2))
	gray.Pix[1] = 200 // 0 and 200
	write("gray.png", gray)
	found := inspect(t, dir)
	require.Equal(t, []float64{100}, found.Mean)
	require.Equal(t, []float64{100}, found.Std)

	colour := image.NewNRGBA(image.Rect(0, 0, 3, 3))
	for i := range 9 {
		copy(colour.Pix[4*i:], []byte{50, 100, 0, 255})
	}
	write("colour.png", colour)
	found = inspect(t, dir)
	require.Equal(t, []float64{75, 100, 50}, found.Mean)
	// Mean squares are (20000 + 2500) / 2, (20000 + 10000) / 2 and 20000 / 2.
	require.Equal(t, []float64{75, 70.711, 86.603}, found.Std)
	text, _, code := command("inspect", "--data", dir)
	require.Zero(t, code)
	require.Contains(t, text, "\n  Mean: []float64{75, 100, 50}, Std: []float64{75, 70.711, 86.603},\n")

	require.NoError(t, os.Remove(filepath.Join(dir, "gray.png")))
	require.Nil(t, inspect(t, dir).Mean, "all pixels are alike: a deviation of 0 is of no use")
}

func TestInspectMomentsAreThoseOfThePixels(t *testing.T) {
	dir := pictures(t, 6)
	mean, square, n := [3]float64{}, [3]float64{}, 0.0
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".png" {
			if err == nil && !d.IsDir() {
				err = os.Remove(path)
			}
			return err
		}
		file, err := os.Open(path)
		require.NoError(t, err)
		defer file.Close()
		m, err := png.Decode(file)
		require.NoError(t, err)
		n++
		size := float64(m.Bounds().Dx() * m.Bounds().Dy())
		for y := range m.Bounds().Dy() {
			for x := range m.Bounds().Dx() {
				c := color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA)
				for k, v := range []uint8{c.R, c.G, c.B} {
					mean[k] += float64(v) / size
					square[k] += float64(v) * float64(v) / size
				}
			}
		}
		return nil
	}))
	found := inspect(t, dir)
	for k := range 3 {
		require.InDelta(t, mean[k]/n, found.Mean[k], 6e-4)
		require.InDelta(t, math.Sqrt(square[k]/n-mean[k]/n*mean[k]/n), found.Std[k], 6e-4)
	}
}

// Of some files that pipelines refuse libjpeg makes a picture.
func TestInspectTellsDamageFromWhatCannotBeDecoded(t *testing.T) {
	dir := pictures(t, 1)
	whole, err := os.ReadFile(filepath.Join(dir, "ants", "00.jpg"))
	require.NoError(t, err)
	damaged := slices.Clone(whole)
	scan := bytes.Index(damaged, []byte("\xff\xda"))
	copy(damaged[scan+40:], "\xff\xb7\xff\xb7") // markers amid the coded data, and an end marker behind them
	for name, data := range map[string][]byte{
		"damaged.jpg": damaged, "cut.jpg": whole[:scan], "text.jpg": []byte("no picture"), "empty.jpg": nil,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "bees", name), data, 0o644))
	}
	decodable := map[string]bool{}
	for _, b := range inspect(t, dir).Bad {
		decodable[filepath.Base(b.Source)] = b.Decodable
	}
	require.Equal(t, map[string]bool{"damaged.jpg": true, "cut.jpg": false, "text.jpg": false, "empty.jpg": false}, decodable)
	text, _, code := command("inspect", "--data", dir)
	require.Equal(t, 1, code)
	require.Contains(t, text, "\n4 bad files\n1 damaged, but decodable, as libjpeg does with a warning (--damaged keep)\n  "+filepath.Join(dir, "bees", "damaged.jpg")+": ")
	require.Contains(t, text, "\n3 not decodable\n")
}

// Names that a terminal would obey are shown as text, by every command.
func TestNamesAreShownAsText(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such names")
	}
	dir := t.TempDir()
	class := filepath.Join(dir, "cla\x1b[31mss\nplankton: all is well")
	require.NoError(t, os.Mkdir(class, 0o755))
	names := []string{"esc\x1b]0;owned\a.jpg", "line\nplankton: forged.jpg", "gpj.\u202egnp.jpg", "latin\xe9.jpg"}
	for _, name := range names {
		require.NoError(t, os.WriteFile(filepath.Join(class, name), []byte("bad\x1b[2J\u202e"), 0o644))
	}
	picture, err := os.ReadFile(filepath.Join(pictures(t, 1), "ants", "00.jpg"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(class, "misnamed\x1b[1m.png"), picture, 0o644))
	graph := filepath.Join(dir, "g.json")
	require.NoError(t, os.WriteFile(graph, []byte(`{"name":"a\u001b[31m\u202eb","n":1,"edges":[]}`), 0o644))
	out := t.TempDir()
	for _, args := range [][]string{
		{"inspect", "--data", dir},
		{"inspect", "--data", dir, "--json"},
		{"bench", "--workload", "decode", "--data", dir, "--on-error", "skip", "--json"},
		{"streams", "--policy", "single", graph, "--json"},
		{"inspect", "--data", class + "/none"},
		{"bench", "--workload", "decode", "--data", dir},
		{"bench", "--workload", "decode", "--data", dir, "--on-error", "skip"},
		{"bench", "--workload", "decode", "--data", dir, "--on-error", "replace"},
		{"trace", "--workload", "decode", "--data", dir, "--on-error", "skip", "--out", filepath.Join(out, "a\x1b[31m")},
		{"streams", "--policy", "single", graph},
		{"streams", "--policy", "single", graph + "\x1b[31m\n"},
		{"apply", graph + "\x1b[31m\n"},
		{"dance\x1b[31m\n"},
		{"bench", "--workload", "decode\x1b[31m", "--data", dir},
	} {
		text, errs, code := command(args...)
		require.Equal(t, code != 0, errs != "", args)
		if errs != "" {
			require.Equal(t, 1, strings.Count(errs, "\n"), "one line: %q", errs)
		}
		for _, r := range strings.ReplaceAll(text+errs, "\n", "") {
			require.True(t, unicode.IsPrint(r), "%q has %q", args, r)
		}
		require.NotContains(t, "\n"+text+"\n"+errs, "\nplankton: all is well")
		require.NotContains(t, "\n"+text+"\n"+errs, "\nplankton: forged")
	}
	var decoded []string
	for _, b := range inspect(t, dir).Bad {
		decoded = append(decoded, filepath.Base(b.Source))
	}
	require.Contains(t, decoded, names[2], "JSON has the name itself")
	text, _, _ := command("inspect", "--data", dir)
	require.Contains(t, text, `misnamed\x1b[1m.png": jpeg`)
}

func TestInspectWarnsOfFolders(t *testing.T) {
	picture, err := os.ReadFile(filepath.Join(pictures(t, 1), "ants", "00.jpg"))
	require.NoError(t, err)
	folders := func(names ...string) string {
		dir := t.TempDir()
		for _, name := range names {
			require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, name, "a.jpg"), picture, 0o644))
		}
		return dir
	}
	for _, fine := range [][]string{{"cat", "dog"}, {"train", "plane"}, {"testament"}, {"developer", "driver"}} {
		require.Empty(t, inspect(t, folders(fine...)).Warnings, fine)
	}
	for _, high := range [][]string{{"train", "val"}, {"Train/cat", "Test/cat"}, {"train2017", "val2017"}, {"train"}, {"testing_images", "training_images"}} {
		dir := folders(high...)
		require.NoError(t, os.Mkdir(filepath.Join(dir, "annotations"), 0o755))
		found := inspect(t, dir)
		require.Len(t, found.Warnings, 1, high)
		require.Contains(t, found.Warnings[0], "one level too high; give "+dir)
		text, errs, code := command("inspect", "--data", dir)
		require.Zero(t, code, "nothing is refused")
		require.Empty(t, errs)
		require.Contains(t, text, "\nwarning: "+found.Warnings[0]+"\n")
	}
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege on Windows")
	}
	for target, want := range map[string]string{
		".":   "class folder link is a link to the folder that it is in",
		"..":  "class folder link is a link to the folder that it is in, or to one above",
		"cat": "class folders cat and link share files",
	} {
		dir := folders("cat", "dog")
		require.NoError(t, os.Symlink(target, filepath.Join(dir, "link")))
		found := inspect(t, dir)
		require.Len(t, found.Warnings, 1, target)
		require.Contains(t, found.Warnings[0], want)
	}
	dir := folders("cat", "dog")
	require.NoError(t, os.Symlink(folders("x"), filepath.Join(dir, "link")))
	require.Empty(t, inspect(t, dir).Warnings, "a folder elsewhere is fine")
}

func TestInspectRefusals(t *testing.T) {
	_, errs, code := command("inspect", "--data", t.TempDir())
	require.Equal(t, 1, code)
	require.NotEmpty(t, errs)
	_, _, code = command("inspect", "--data", t.TempDir(), "--threads", "-1")
	require.Equal(t, 2, code)
}

func TestFormatsByTheirFirstBytes(t *testing.T) {
	for data, want := range map[string]string{
		"\xff\xd8\xff\xe0\x00\x04ab\xff\xc2\x00\x04": "jpeg progressive",
		"\xff\xd8\xff\xdb\x00\x04ab\xff\xc0\x00\x04": "jpeg",
		"\xff\xd8\xff\xff\xff\xc2\x00\x04":           "jpeg progressive",
		"\xff\xd8\xff\xe0":                           "jpeg",
		"\x89PNG":                                    "png",
		"GIF89a":                                     "gif",
		"MM\x00*":                                    "tiff",
		"":                                           "other",
		"text":                                       "other",
	} {
		require.Equal(t, want, formats[formatOf([]byte(data))].name, "%q", data)
	}
}

func TestPlural(t *testing.T) {
	for want, got := range map[string]string{
		"1 class": plural(1, "class"), "2 classes": plural(2, "class"), "0 classes": plural(0, "class"),
		"1 step": plural(1, "step"), "3 steps": plural(3, "step"),
	} {
		require.Equal(t, want, got)
	}
}
