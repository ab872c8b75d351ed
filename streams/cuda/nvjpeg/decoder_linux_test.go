package nvjpeg_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/streams"
	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/cudatest"
	"github.com/planktonml/plankton/streams/cuda/fakedriver"
	"github.com/planktonml/plankton/streams/cuda/nvjpeg"
)

// TestFormats decodes pictures of several sizes, dense and with room between their
// rows, into every format.
func TestFormats(t *testing.T) {
	drv, d, dec := cudatest.OpenNVJPEG(t)
	require.Equal(t, "nvjpeg 12.4.0", dec.Name())
	s := cudatest.Stream(t, d)
	formats := map[nvjpeg.Format]struct {
		channels int
		planes   [][]int // by plane, which channels
	}{
		nvjpeg.RGB:       {3, [][]int{{0, 1, 2}}},
		nvjpeg.BGR:       {3, [][]int{{2, 1, 0}}},
		nvjpeg.Gray:      {1, [][]int{{0}}},
		nvjpeg.PlanarRGB: {1, [][]int{{0}, {1}, {2}}},
		nvjpeg.PlanarBGR: {1, [][]int{{2}, {1}, {0}}},
	}
	files := []fakedriver.JPEG{file(t, drv, 3, 5, 1), file(t, drv, 8, 2, 2), file(t, drv, 1, 1, 3)}
	for format, layout := range formats {
		for _, gap := range []int{0, 3} {
			var batch []nvjpeg.Picture
			var want [][]byte
			for _, j := range files {
				pitch := j.W*layout.channels + gap
				p := nvjpeg.Picture{File: j.File, H: j.H, W: j.W, Pixels: cudatest.Memory(t, d, len(layout.planes)*j.H*pitch)}
				if gap > 0 {
					p.Pitch = pitch
				}
				batch = append(batch, p)
				var pixels []byte
				for _, channels := range layout.planes {
					for i := range j.H * j.W {
						for _, c := range channels {
							pixels = append(pixels, j.RGB[i*3+c])
						}
						if i%j.W == j.W-1 {
							pixels = append(pixels, make([]byte, gap)...)
						}
					}
				}
				want = append(want, pixels)
			}
			for _, p := range batch {
				s.Do(cudatest.On(func(q *cuda.Queue) error { return q.Fill(p.Pixels, 0) }))
			}
			require.NoError(t, decode(t, s, dec, format, batch))
			for i, p := range batch {
				require.NoError(t, p.Err)
				require.Equal(t, want[i], cudatest.Download(t, s, p.Pixels), "format %d, gap %d, picture %d", format, gap, i)
			}
		}
	}
}

// TestInfo reads headers without decoding.
func TestInfo(t *testing.T) {
	drv, _, dec := cudatest.OpenNVJPEG(t)
	info, err := dec.Info(file(t, drv, 3, 5, 1).File)
	require.NoError(t, err)
	require.Equal(t, nvjpeg.Info{H: 3, W: 5, Components: 3}, info)
	for _, bad := range [][]byte{nil, []byte("no JPEG")} {
		_, err = dec.Info(bad)
		require.ErrorIs(t, err, nvjpeg.ErrBadJPEG)
	}
}

// TestOrder decodes many batches on two streams, ahead of the GPU, and reads each on
// a third one behind an event. A reader without its wait is found.
func TestOrder(t *testing.T) {
	const batches, size = 12, 6 * 4 * 3
	drv, d, dec := cudatest.OpenNVJPEG(t)
	decoders := []streams.Stream{cudatest.Stream(t, d), cudatest.Stream(t, d)}
	reader := cudatest.Stream(t, d)
	all := cudatest.Memory(t, d, batches*3*size)
	got, err := d.HostMemory().Alloc(len(all))
	require.NoError(t, err)
	defer d.HostMemory().Free(got)
	var want []byte
	for i := range batches {
		batch := make([]nvjpeg.Picture, 3)
		for k := range batch {
			j := file(t, drv, 6, 4, i+k)
			batch[k] = nvjpeg.Picture{File: j.File, H: 6, W: 4, Pixels: all[(i*3+k)*size:][:size]}
			want = append(want, j.RGB...)
		}
		s := decoders[i%2]
		s.Do(cudatest.On(func(q *cuda.Queue) error { return dec.Decode(q, nvjpeg.RGB, batch) }))
		reader.Wait(s.Record())
		reader.Do(cudatest.On(func(q *cuda.Queue) error { return q.Copy(got[i*3*size:][:3*size], all[i*3*size:][:3*size]) }))
	}
	require.NoError(t, reader.Synchronize(t.Context()))
	require.Equal(t, want, slices.Clone(got))
	require.Empty(t, drv.Report())

	j := file(t, drv, 6, 4, 0)
	batch := []nvjpeg.Picture{{File: j.File, H: 6, W: 4, Pixels: all[:size]}}
	drv.Pause()
	launched := make(chan error)
	decoders[0].Do(cudatest.On(func(q *cuda.Queue) error {
		err := dec.Decode(q, nvjpeg.RGB, batch)
		launched <- err
		return err
	}))
	require.NoError(t, <-launched)
	reader.Do(cudatest.On(func(q *cuda.Queue) error { return q.Copy(got[:size], all[:size]) }))
	drv.Resume()
	require.NoError(t, reader.Synchronize(t.Context()))
	require.NoError(t, decoders[0].Synchronize(t.Context()))
	require.Contains(t, drv.Report(), "race: ")
}

// TestBadFiles names the files that cannot be decoded and decodes the others.
func TestBadFiles(t *testing.T) {
	drv, d, dec := cudatest.OpenNVJPEG(t)
	s := cudatest.Stream(t, d)
	good := file(t, drv, 4, 4, 1)
	declare := func(seed, status, inBatch int) []byte {
		j := file(t, drv, 4, 4, seed)
		j.Status, j.BatchStatus = status, inBatch
		drv.Declare(t, j)
		return j.File
	}
	var size *nvjpeg.SizeError
	for name, c := range map[string]struct {
		file []byte
		err  any // for ErrorIs or ErrorAs; nil if it is decoded
	}{
		"damaged":          {declare(100, 3, 0), nvjpeg.ErrBadJPEG},
		"cut short":        {declare(101, 10, 0), nvjpeg.ErrBadJPEG},
		"another kind":     {declare(102, 4, 0), errors.ErrUnsupported},
		"internal error":   {declare(103, 8, 0), new(*nvjpeg.Error)},
		"not for a batch":  {declare(104, 0, 4), nil},
		"no JPEG":          {[]byte("no JPEG"), nvjpeg.ErrBadJPEG},
		"empty":            {nil, nvjpeg.ErrBadJPEG},
		"another size":     {file(t, drv, 4, 5, 1).File, &size},
		"nothing is wrong": {declare(105, 0, 0), nil},
	} {
		for at := range 3 {
			batch := make([]nvjpeg.Picture, 3)
			for i := range batch {
				batch[i] = nvjpeg.Picture{File: good.File, H: 4, W: 4, Pixels: cudatest.Memory(t, d, 4*4*3), Err: errors.New("of a batch before")}
			}
			batch[at].File = c.file
			require.NoError(t, decode(t, s, dec, nvjpeg.RGB, batch), name)
			for i, p := range batch {
				if i != at {
					require.NoError(t, p.Err, name)
					require.Equal(t, good.RGB, cudatest.Download(t, s, p.Pixels), "%s at %d: picture %d", name, at, i)
					continue
				}
				switch want := c.err.(type) {
				case nil:
					require.NoError(t, p.Err, name)
				case error:
					require.ErrorIs(t, p.Err, want, name)
				default:
					require.ErrorAs(t, p.Err, want, name)
				}
			}
		}
	}
	require.Equal(t, &nvjpeg.SizeError{H: 4, W: 5, WantH: 4, WantW: 4}, size)

	// Batches are decoded as such again afterwards.
	drv.Fail("nvjpegDecode", 6, 0)
	defer drv.Fail("nvjpegDecode", 0, 0)
	for range 2 {
		require.NoError(t, decode(t, s, dec, nvjpeg.RGB, slices.Repeat([]nvjpeg.Picture{{File: good.File, H: 4, W: 4, Pixels: cudatest.Memory(t, d, 4*4*3)}}, 3)))
	}
}

// TestCloseWaits closes a decoder whose work the GPU has not begun.
func TestCloseWaits(t *testing.T) {
	drv, d, dec := cudatest.OpenNVJPEG(t)
	s := cudatest.Stream(t, d)
	j := file(t, drv, 4, 4, 1)
	batch := []nvjpeg.Picture{{File: j.File, H: 4, W: 4, Pixels: cudatest.Memory(t, d, 4*4*3)}}
	drv.Pause()
	launched, closed := make(chan error), make(chan error)
	s.Do(cudatest.On(func(q *cuda.Queue) error {
		launched <- dec.Decode(q, nvjpeg.RGB, batch)
		return nil
	}))
	require.NoError(t, <-launched)
	go func() { closed <- dec.Close() }()
	select {
	case <-closed:
		t.Error("Close has not waited")
	case <-time.After(20 * time.Millisecond): // what waits cannot be seen, so it gets the chance not to
		drv.Resume()
		require.NoError(t, <-closed)
	}
	require.Equal(t, j.RGB, cudatest.Download(t, s, batch[0].Pixels))
}

// TestFailures lets every function of the library fail once. The decoder goes on
// afterwards.
func TestFailures(t *testing.T) {
	const failed, allocator = 6, 5
	drv, d, dec := cudatest.OpenNVJPEG(t)
	s := cudatest.Stream(t, d)
	j := file(t, drv, 4, 4, 1)
	batch := []nvjpeg.Picture{{File: j.File, H: 4, W: 4, Pixels: cudatest.Memory(t, d, 4*4*3)}}
	for _, function := range []string{"nvjpegJpegStateCreate", "nvjpegGetImageInfo", "nvjpegDecodeBatchedInitialize", "nvjpegDecodeBatched", "nvjpegDecode"} {
		for status, memory := range map[int]bool{failed: false, allocator: true} {
			t.Run(fmt.Sprint(function, status), func(t *testing.T) {
				c := batch
				if function == "nvjpegDecode" { // comes after a batch that failed
					j := file(t, drv, 4, 4, 2)
					j.BatchStatus = 4
					drv.Declare(t, j)
					c = []nvjpeg.Picture{{File: j.File, H: 4, W: 4, Pixels: batch[0].Pixels}}
				}
				drv.Fail(function, status, 0)
				fresh := cudatest.Stream(t, d) // with states of its own
				err := decode(t, fresh, dec, nvjpeg.RGB, c)
				var e *nvjpeg.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, nvjpeg.Error{Call: function, Status: nvjpeg.Status(status)}, *e)
				require.Equal(t, memory, errors.Is(err, cuda.ErrMemory))
				if memory {
					require.ErrorContains(t, err, "bytes of the GPU are free")
				}
				require.NoError(t, decode(t, s, dec, nvjpeg.RGB, batch))
				require.NoError(t, batch[0].Err)
				require.Equal(t, j.RGB, cudatest.Download(t, s, batch[0].Pixels))
			})
		}
	}
	drv.Fail("nvjpegCreateEx", allocator, 0)
	_, err := nvjpeg.Open(d, nvjpeg.Options{Library: drv.Library})
	require.ErrorIs(t, err, cuda.ErrMemory)
}

// TestOutOfMemory lets the library want more than there is. What was decoded before
// stays.
func TestOutOfMemory(t *testing.T) {
	drv, d, dec := cudatest.OpenNVJPEG(t)
	s := cudatest.Stream(t, d)
	small, large := file(t, drv, 4, 4, 1), file(t, drv, 100, 100, 2)
	before := []nvjpeg.Picture{{File: small.File, H: 4, W: 4, Pixels: cudatest.Memory(t, d, 4*4*3)}}
	after := []nvjpeg.Picture{{File: large.File, H: 100, W: 100, Pixels: cudatest.Memory(t, d, 100*100*3)}}
	require.NoError(t, decode(t, s, dec, nvjpeg.RGB, before))
	drv.Set(fakedriver.HostMemory, 1000)
	require.ErrorIs(t, decode(t, s, dec, nvjpeg.RGB, after), cuda.ErrMemory)
	require.Equal(t, small.RGB, cudatest.Download(t, s, before[0].Pixels))
	drv.Set(fakedriver.HostMemory, 1<<20)
	require.NoError(t, decode(t, s, dec, nvjpeg.RGB, after))
	require.Equal(t, large.RGB, cudatest.Download(t, s, after[0].Pixels))
}

func TestMistakes(t *testing.T) {
	drv, d, dec := cudatest.OpenNVJPEG(t)
	s := cudatest.Stream(t, d)
	j := file(t, drv, 4, 4, 1)
	mem := cudatest.Memory(t, d, 4*4*3)
	for want, p := range map[string]nvjpeg.Picture{
		"picture 0 of 4×4 pixels has 47 bytes of memory": {File: j.File, H: 4, W: 4, Pixels: mem[:47]},
		"11 from row to row":                             {File: j.File, H: 4, W: 4, Pixels: mem, Pitch: 11},
		"picture 0 of 0×4 pixels":                        {File: j.File, W: 4, Pixels: mem},
	} {
		require.ErrorContains(t, decode(t, s, dec, nvjpeg.RGB, []nvjpeg.Picture{p}), want)
	}
	require.ErrorContains(t, decode(t, s, dec, nvjpeg.PlanarBGR+1, nil), "format 5")
	require.NoError(t, decode(t, s, dec, nvjpeg.RGB, nil))
	require.ErrorIs(t, dec.Decode(nil, nvjpeg.RGB, nil), cuda.ErrNotCUDA)

	other, err := cuda.OpenWith(0, cuda.Options{Library: drv.Library, Context: cuda.Own})
	require.NoError(t, err)
	foreign, err := other.NewStream()
	require.NoError(t, err)
	require.ErrorContains(t, decode(t, foreign, dec, nvjpeg.RGB, nil), "the decoder is for cuda:0 Fake 0 and was used on")
	require.NoError(t, other.Close())

	_, err = nvjpeg.Open(d, nvjpeg.Options{Library: drv.Library, Backend: 9})
	require.ErrorContains(t, err, "Options.Backend is 9")
	require.NoError(t, dec.Close())
	require.ErrorIs(t, decode(t, s, dec, nvjpeg.RGB, nil), streams.ErrClosed)
	require.NoError(t, dec.Close())
}

// TestNoLibrary says what is missing and where it was looked for.
func TestNoLibrary(t *testing.T) {
	_, d, _ := cudatest.OpenNVJPEG(t)
	_, err := nvjpeg.Open(d, nvjpeg.Options{Library: "libnvjpeg-is-not-here.so"})
	require.ErrorIs(t, err, nvjpeg.ErrNoNVJPEG)
	require.ErrorContains(t, err, "libnvjpeg-is-not-here.so cannot be opened")
	require.ErrorContains(t, err, "LD_LIBRARY_PATH")
	_, err = nvjpeg.Open(d, nvjpeg.Options{Library: "libc.so.6"})
	require.ErrorIs(t, err, nvjpeg.ErrNoNVJPEG)
	require.ErrorContains(t, err, "libc.so.6")
}

// A decoder of New works on every device that it meets. What it has there ends with the
// device, and a device that comes back is a new one.
func TestDecoderOfManyDevices(t *testing.T) {
	drv := fakedriver.Open(t)
	j := file(t, drv, 3, 5, 1)
	dec, err := nvjpeg.New(nvjpeg.Options{Library: drv.Library})
	require.NoError(t, err)
	_, err = dec.Info(j.File)
	require.ErrorContains(t, err, "Info needs the device of Open")
	one := func(d *cuda.Device) {
		pixels, err := d.Memory().Alloc(len(j.RGB))
		require.NoError(t, err)
		defer d.Memory().Free(pixels)
		s := cudatest.Stream(t, d)
		batch := []nvjpeg.Picture{{File: j.File, H: j.H, W: j.W, Pixels: pixels}}
		require.NoError(t, decode(t, s, dec, nvjpeg.RGB, batch))
		require.NoError(t, batch[0].Err)
		require.Equal(t, j.RGB, cudatest.Download(t, s, pixels))
		require.NoError(t, s.Close())
	}
	stays := cudatest.Open(t, drv, cuda.Options{})
	for range 3 {
		d, err := cuda.OpenWith(0, cuda.Options{Library: drv.Library})
		require.NoError(t, err)
		one(d)
		one(stays)
		require.NoError(t, d.Close())
	}
	one(stays)
	require.NoError(t, dec.Close())
	require.NoError(t, dec.Close())
	s := cudatest.Stream(t, stays)
	require.ErrorIs(t, decode(t, s, dec, nvjpeg.RGB, []nvjpeg.Picture{{File: j.File, H: j.H, W: j.W, Pixels: cudatest.Memory(t, stays, len(j.RGB))}}), streams.ErrClosed)
	_ = s.Close()
	require.Empty(t, drv.Report())
}
