//go:build cuda

package gorgoniaplugin_test

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/streams/cuda/fakedriver"
	"github.com/planktonml/plankton/streams/cuda/nvjpeg"
)

// pictureTraining is a training on JPEG files: two dense layers behind pictures.
type pictureTraining struct {
	files               [][]byte
	batch, side, hidden int
	lasts               time.Duration // at the least, behind the first 10 steps
	steps               int           // at the least, likewise
}

// run trains and returns what the loader counted behind the first steps.
func (p *pictureTraining) run(t *testing.T, image func(g *pipeline.Graph) pipeline.Value) iterator.Stats {
	t.Helper()
	l := newLoader(t, pipeline.Options{BatchSize: p.batch, Device: gorgoniaplugin.Device()}, drop, func(g *pipeline.Graph) {
		g.Output("x", ops.DeviceCropMirrorNormalize(g, image(g), ops.CropMirrorNormalizeOptions{
			Mean: ops.ImageNetMean, Std: ops.ImageNetStd, Mirror: ops.CoinFlip(g, 0.5),
		}))
	})
	g := gorgonia.NewGraph()
	f, err := gorgoniaplugin.New(g, l)
	require.NoError(t, err)
	weights := func(name string, rows, columns int) (*gorgonia.Node, []float32) {
		w := make([]float32, rows*columns)
		for i := range w {
			w[i] = float32(i%13-6) / 1000
		}
		return gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithName(name), gorgonia.WithShape(rows, columns),
			gorgonia.WithValue(tensor.New(tensor.WithShape(rows, columns), tensor.WithBacking(w)))), w
	}
	in := 3 * p.side * p.side
	n1, w1 := weights("first", in, p.hidden)
	n2, w2 := weights("second", p.hidden, classes)
	must := gorgonia.Must
	h := must(gorgonia.Tanh(must(gorgonia.Mul(must(gorgonia.Reshape(f.Node("x"), tensor.Shape{p.batch, in})), n1))))
	loss := must(gorgonia.Sum(must(gorgonia.Square(must(gorgonia.Mul(h, n2))))))
	grads, err := gorgonia.Grad(loss, n1, n2)
	require.NoError(t, err)
	var d1, d2 gorgonia.Value
	gorgonia.Read(grads[0], &d1)
	gorgonia.Read(grads[1], &d2)
	vm := machine(t, g)
	require.NoError(t, f.Attach(vm))
	steps, began, before := 0, time.Now(), iterator.Stats{}
	for _, err := range f.Epochs(t.Context(), 1<<30) {
		require.NoError(t, err)
		require.NoError(t, vm.RunAll())
		for i, d := range d1.Data().([]float32) {
			w1[i] -= 1e-6 * d
		}
		for i, d := range d2.Data().([]float32) {
			w2[i] -= 1e-6 * d
		}
		vm.Reset()
		if steps++; steps == 10 {
			began, before = time.Now(), l.Stats()
		}
		if steps >= 10+p.steps && time.Since(began) >= p.lasts {
			break
		}
	}
	done := l.Stats().Sub(before)
	require.NoError(t, f.Close())
	return done
}

// judge compares trainings whose pictures are decoded on the host and on the device.
func (p *pictureTraining) judge(t *testing.T, decoder *nvjpeg.Decoder, noDecoder error) {
	file := func(g *pipeline.Graph) pipeline.Value {
		return readers.Slices(g, readers.SlicesOptions{Shuffle: true}, readers.Ragged(p.files))[0]
	}
	size := ops.ResizeOptions{Height: float64(p.side), Width: float64(p.side)}
	say := func(line string, s iterator.Stats) {
		on.Judge(t, line, s.Samples > 0, "%.0f images/s on %d processors, %d×%d, waited %.1f %%, JPEG files of %d bytes",
			s.Rate(), runtime.GOMAXPROCS(0), p.side, p.side, 100*s.WaitShare(), len(p.files[0]))
	}
	say("training-host", p.run(t, func(g *pipeline.Graph) pipeline.Value {
		return ops.ToDevice(g, ops.Resize(g, ops.DecodeRandomCrop(g, file(g), ops.RandomCropOptions{}), size))
	}))
	if decoder == nil {
		on.NotRun(t, "training-device", noDecoder)
		return
	}
	say("training-device", p.run(t, func(g *pipeline.Graph) pipeline.Value {
		return ops.DeviceDecodeResize(g, file(g), ops.DeviceDecodeResizeOptions{Resize: size, Decoder: decoder})
	}))
}

// judgeWaits trains on pictures in memory: the pipeline has little to do, and the loop must
// find every batch where it is read.
func (p *pictureTraining) judgeWaits(t *testing.T) {
	pixels := slices.Repeat([]byte{90}, 4*p.batch*p.side*p.side*3)
	s := p.run(t, func(g *pipeline.Graph) pipeline.Value {
		return ops.ToDevice(g, readers.Slices(g, readers.SlicesOptions{}, readers.Rows(pixels, p.side, p.side, 3))[0])
	})
	on.Judge(t, "waits", s.WaitShare() < 0.01, "%.2f %%: %v in %d steps of %v", 100*s.WaitShare(), s.Waited, s.Batches, s.Active/time.Duration(s.Batches))
}

func TestTrainingOnPictures(t *testing.T) {
	drv := fakedriver.Open(t)
	p := &pictureTraining{batch: 4, side: 6, hidden: 3, steps: 3}
	for i := range 8 {
		j := pictureOf(t, 9+i, 17-i, i)
		drv.Declare(t, j)
		p.files = append(p.files, j.File)
	}
	decoder, err := nvjpeg.New(nvjpeg.Options{Library: drv.Library})
	require.NoError(t, err)
	p.judge(t, decoder, nil)
	require.NoError(t, decoder.Close())
	p.judgeWaits(t)
}

func TestTrainingOnPicturesOnAGPU(t *testing.T) {
	onAGPU(t)
	p := &pictureTraining{batch: 64, side: 96, hidden: 32, steps: 100, lasts: 5 * time.Second}
	p.files = slices.Repeat([][]byte{pictureOf(t, 375, 500, 1).File}, 4*p.batch)
	decoder, err := nvjpeg.New(nvjpeg.Options{})
	if err != nil {
		require.ErrorIs(t, err, nvjpeg.ErrNoNVJPEG)
	}
	p.judge(t, decoder, err)
	if decoder != nil {
		require.NoError(t, decoder.Close())
	}
	p.steps = 1000
	p.judgeWaits(t)
}
