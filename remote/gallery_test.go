package remote_test

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"math/rand/v2"
	"sync"
	"testing/fstest"
	"time"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// gallery is a job of pictures in files. One file in a hundred is damaged; of another salt are
// other pictures under the same names.
func (j job) gallery(g *pipeline.Graph) {
	file, label := readers.File(g, readers.FileOptions{FS: files(j.samples, j.salt), Shuffle: true, NumShards: max(1, j.world), ShardID: j.rank})
	label = ops.Func(g, ops.FuncOptions{Name: "pause", Outputs: []datum.Spec{label.Spec()}, Expensive: true}, func(_ *datum.Sample, in, out []*datum.Tensor) error {
		time.Sleep(j.cost)
		return out[0].CopyFrom(in[0])
	}, label)[0]
	v := ops.Resize(g, ops.DecodeRandomCrop(g, file, ops.RandomCropOptions{}), ops.ResizeOptions{Height: 24, Width: 24})
	g.Output("x", ops.CropMirrorNormalize(g, v, ops.CropMirrorNormalizeOptions{Mean: ops.ImageNetMean, Std: ops.ImageNetStd, Mirror: ops.CoinFlip(g, 0.5)}))
	g.Output("label", label)
}

var galleries struct {
	sync.Mutex
	made map[string]fstest.MapFS
}

// files returns the files of a gallery.
func files(n int, salt float32) fstest.MapFS {
	galleries.Lock()
	defer galleries.Unlock()
	key := fmt.Sprint(n, salt)
	if f := galleries.made[key]; f != nil {
		return f
	}
	rng := rand.New(rand.NewPCG(1, uint64(1000*salt)))
	f := fstest.MapFS{}
	for i := range n {
		m := image.NewNRGBA(image.Rect(0, 0, 20+rng.IntN(40), 20+rng.IntN(40)))
		for k := range m.Pix {
			m.Pix[k] = byte(rng.Uint32())
		}
		var b bytes.Buffer
		if err := jpeg.Encode(&b, m, nil); err != nil {
			panic(err) // writing to memory does not fail
		}
		data := b.Bytes()
		switch i % 200 {
		case 33:
			data = data[:len(data)/2] // the end is missing
		case 133:
			data = data[:50] // all but some of the header
		}
		f[fmt.Sprintf("%c/%04d.jpg", 'a'+i%3, i)] = &fstest.MapFile{Data: data}
	}
	if galleries.made == nil {
		galleries.made = map[string]fstest.MapFS{}
	}
	galleries.made[key] = f
	return f
}
