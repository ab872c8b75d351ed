package jpeg

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// exif returns an APP1 payload whose directory has an orientation as its second entry.
func exif(order binary.AppendByteOrder, magic string, orientation uint16) []byte {
	p := append([]byte("Exif\x00\x00"), magic...)
	p = order.AppendUint32(p, 8)
	p = order.AppendUint16(p, 2)
	entry := func(tag, value uint16) {
		p = order.AppendUint16(p, tag)
		p = order.AppendUint16(p, 3)
		p = order.AppendUint32(p, 1)
		p = order.AppendUint16(p, value)
		p = order.AppendUint16(p, 0)
	}
	entry(0x0100, 9)
	entry(0x0112, orientation)
	return p
}

func TestExifOrientation(t *testing.T) {
	little := exif(binary.LittleEndian, "II*\x00", 6)
	assert.Equal(t, 6, exifOrientation(little))
	assert.Equal(t, 8, exifOrientation(exif(binary.BigEndian, "MM\x00*", 8)))
	assert.Equal(t, 0, exifOrientation(exif(binary.BigEndian, "MM\x00*", 9)))
	assert.Equal(t, 0, exifOrientation(exif(binary.BigEndian, "II*\x00", 8)))
	assert.Equal(t, 0, exifOrientation(exif(binary.BigEndian, "MM*\x00", 8)))
	for n := range len(little) - 2 {
		assert.Equal(t, 0, exifOrientation(little[:n]), "%d bytes", n)
	}
}

func TestHeader(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	data := encode(r, fileSpec{width: 300, height: 7, sampling: samplings["4:2:2"], adobe: -1, restart: 5, progressive: true})
	app1 := exif(binary.LittleEndian, "II*\x00", 3)
	data = bytes.Join([][]byte{data[:2], {0xFF, markerAPP1, 0, byte(len(app1) + 2)}, app1, data[2:]}, nil)
	h, err := new(Decoder).Header(data)
	require.NoError(t, err)
	assert.Equal(t, Header{
		Width: 300, Height: 7, Components: 3, Sampling: [4]Sampling{{2, 1}, {1, 1}, {1, 1}}, Space: YCbCr,
		Progressive: true, Orientation: 3, RestartInterval: 5,
	}, h)
}

func TestNoJPEG(t *testing.T) {
	for _, data := range [][]byte{nil, {0xFF}, {0xFF, 0xD8}, []byte("GIF89a"), []byte("this is a text file")} {
		_, err := new(Decoder).Header(data)
		var format *FormatError
		require.ErrorAs(t, err, &format)
		assert.Equal(t, 0, format.Offset)
	}
}

// TestZigzag checks the slots against the definition of the order.
func TestZigzag(t *testing.T) {
	seen := map[uint8]bool{}
	r, c, up := 0, 0, true
	for k := range blockSize {
		assert.EqualValues(t, slotOf(r, c), zigzag[k+1], "coefficient %d", k)
		seen[zigzag[k+1]] = true
		if up {
			r, c = r-1, c+1
		} else {
			r, c = r+1, c-1
		}
		switch {
		case up && c > 7:
			r, c, up = r+2, 7, false
		case up && r < 0:
			r, up = 0, false
		case !up && r > 7:
			r, c, up = 7, c+2, true
		case !up && c < 0:
			c, up = 0, true
		}
	}
	assert.Len(t, seen, blockSize)
}
