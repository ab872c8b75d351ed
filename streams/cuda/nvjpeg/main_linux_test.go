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
	"github.com/planktonml/plankton/streams/cuda/fakedriver"
	"github.com/planktonml/plankton/streams/cuda/nvjpeg"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake opens a decoder on the fake driver. The end of the test closes both.
func fake(t *testing.T) (*fakedriver.Driver, *cuda.Device, *nvjpeg.Decoder) {
	t.Helper()
	drv := fakedriver.Open(t)
	drv.Set(fakedriver.DelayUS, 50)
	d, err := cuda.OpenWith(0, cuda.Options{Library: drv.Library})
	require.NoError(t, err)
	dec, err := nvjpeg.Open(d, nvjpeg.Options{Library: drv.Library})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, dec.Close())
		require.NoError(t, d.Close())
	})
	return drv, d, dec
}

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

// memory returns device memory that the end of the test frees.
func memory(t *testing.T, d *cuda.Device, n int) []byte {
	t.Helper()
	mem, err := d.Memory().Alloc(n)
	require.NoError(t, err)
	t.Cleanup(func() { d.Memory().Free(mem) })
	return mem
}

// stream returns a stream that the end of the test closes.
func stream(t *testing.T, d *cuda.Device) streams.Stream {
	t.Helper()
	s, err := d.NewStream()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// on issues work on a stream.
func on(s streams.Stream, work func(q *cuda.Queue) error) {
	s.Do(func(c *streams.Context) error {
		q, err := cuda.QueueOf(c)
		if err != nil {
			return err
		}
		return work(q)
	})
}

// decode decodes a batch and returns the error of the stream.
func decode(t *testing.T, s streams.Stream, dec *nvjpeg.Decoder, format nvjpeg.Format, batch []nvjpeg.Picture) error {
	t.Helper()
	on(s, func(q *cuda.Queue) error { return dec.Decode(q, format, batch) })
	return s.Synchronize(t.Context())
}

// download returns what is in device memory.
func download(t *testing.T, s streams.Stream, mem []byte) []byte {
	t.Helper()
	got := make([]byte, len(mem))
	on(s, func(q *cuda.Queue) error { return q.Copy(got, mem) })
	require.NoError(t, s.Synchronize(t.Context()))
	return got
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
