package jpeg

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// exifSegment returns an APP1 payload that holds nothing but an orientation, as a
// little-endian SHORT.
func exifSegment(orientation byte) []byte {
	p := []byte("Exif\x00\x00II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00")
	return append(p, orientation, 0, 0, 0)
}

func TestHeader(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	data := encode(r, fileSpec{width: 300, height: 7, sampling: samplings["4:2:2"], adobe: -1, restart: 5, progressive: true})
	app1 := exifSegment(3)
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
