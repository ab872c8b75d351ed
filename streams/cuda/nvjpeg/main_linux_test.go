package nvjpeg_test

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/cudatest"
	"github.com/planktonml/plankton/streams/cuda/fakedriver"
	"github.com/planktonml/plankton/streams/cuda/nvjpeg"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// file returns a declared file of h×w pixels that seed decides.
func file(t *testing.T, drv *fakedriver.Driver, h, w, seed int) fakedriver.JPEG {
	t.Helper()
	j := fakedriver.JPEG{File: []byte{0xff, 0xd8, byte(h), byte(w), byte(seed)}, H: h, W: w, Components: 3, RGB: make([]byte, h*w*3)}
	for i := range j.RGB {
		j.RGB[i] = byte(i*7 + seed)
	}
	drv.Declare(t, j)
	return j
}

// decode decodes a batch and returns the error of the stream.
func decode(t *testing.T, s streams.Stream, dec *nvjpeg.Decoder, format nvjpeg.Format, batch []nvjpeg.Picture) error {
	t.Helper()
	s.Do(cudatest.On(func(q *cuda.Queue) error { return dec.Decode(q, format, batch) }))
	return s.Synchronize(t.Context())
}

// encode makes a JPEG file, grey or 4:2:0.
func encode(t *testing.T, h, w int, grey bool) []byte {
	t.Helper()
	var m image.Image
	at := func(x, y int) color.RGBA {
		return color.RGBA{uint8(40 + 160*x/w), uint8(50 + 150*y/h), uint8(60 + 70*(x+y)/(w+h)), 255}
	}
	if grey {
		g := image.NewGray(image.Rect(0, 0, w, h))
		for i := range g.Pix {
			g.Pix[i] = at(i%w, i/w).G
		}
		m = g
	} else {
		c := image.NewRGBA(image.Rect(0, 0, w, h))
		for i := range w * h {
			c.SetRGBA(i%w, i/w, at(i%w, i/w))
		}
		m = c
	}
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, m, &jpeg.Options{Quality: 90}))
	return b.Bytes()
}
