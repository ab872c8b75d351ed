package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func inspect(t *testing.T, dir string) inspection {
	t.Helper()
	out, errs, code := command("inspect", "--json", "--data", dir)
	require.Zero(t, code, errs)
	require.Empty(t, errs)
	require.NotContains(t, out, "null")
	var found inspection
	require.NoError(t, json.Unmarshal([]byte(out), &found))
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
	require.EqualValues(t, 8, found.Samples)
	require.Equal(t, map[string]int64{"jpeg": 6, "png": 2}, found.Formats)
	require.Equal(t, map[string]int64{"rgb": 7, "gray": 1}, found.Channels)
	require.Equal(t, []classCount{{"ants", 3}, {"bees", 5}}, found.Classes)
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

	text, _, code := command("inspect", "--data", dir)
	require.Zero(t, code)
	for _, want := range []string{"8 samples", "formats: 2 png, 6 jpeg", "width   20 … 100", "2 classes", "3  ants", "gray.png: jpeg", "2 bad files"} {
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
