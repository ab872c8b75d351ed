package ops

import (
	"bytes"
	"errors"
	"image"

	"github.com/planktonml/plankton/internal/entropyindex"
	"github.com/planktonml/plankton/internal/jpeg"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// FillEntropyIndex reads all of a JPEG file for pipeline.Options.EntropyIndex, as decoders do bit
// by bit while they come by, and makes no picture: so a program can make the index of its
// data before the first epoch. The output is an int64 scalar, the places that the index has
// of the file: 0 of files that are not JPEG, and of those of which none is kept.
func FillEntropyIndex(g *pipeline.Graph, encoded pipeline.Value) pipeline.Value {
	const name = "fill_entropy_index"
	o := DecodeOptions{}
	o.check(g, name, encoded)
	index := g.EntropyIndex(encoded)
	if index == nil {
		g.Fail(name, errors.New("no index is kept of this input; give the pictures of the pipeline's first reader, or of one that follows it, and leave EntropyIndex.Off out"))
	}
	return one(g, pipeline.Op{
		Name: name, Inputs: []pipeline.Value{encoded}, Outputs: []datum.Spec{{DType: datum.Int64, Shape: []int{}}},
		New:       func() (datum.Kernel, error) { return &indexer{index: index}, nil },
		Expensive: true,
	})
}

// indexer is the kernel of FillEntropyIndex.
type indexer struct {
	index  *entropyindex.Store
	jpeg   jpeg.Decoder
	planes jpeg.Planes
}

// Release gives up what the kernel keeps from sample to sample.
func (k *indexer) Release() {
	k.jpeg.Release()
	k.planes.Release()
}

func (k *indexer) Run(s *datum.Sample, in, out []*datum.Tensor) error {
	if _, err := out[0].Resize(); err != nil {
		return err
	}
	entries := &out[0].Int64s()[0]
	*entries = 0
	data := in[0].Bytes()
	if !bytes.HasPrefix(data, []byte("\xff\xd8")) {
		return nil
	}
	k.jpeg.Context = s.Context()
	h, err := k.jpeg.Header(data)
	if err != nil || h.Progressive {
		return nil // whoever decodes the file says what is wrong
	}
	whole := image.Rect(0, 0, h.Width, h.Height)
	k.jpeg.Skips = k.index.Fill(s.Index(), data, &h, whole)
	if len(k.jpeg.Skips.Entries) == 0 {
		return nil
	}
	if err := s.Reserve(k.planes.Reserved() + k.jpeg.Growth(&k.planes, &h, whole, 8)); err != nil {
		return err
	}
	if err := k.jpeg.Planes(&k.planes, data, whole, 8); s.Context().Err() != nil {
		return err
	}
	for i := range k.jpeg.Skips.Entries {
		if k.jpeg.Skips.Entries[i].Load() != 0 {
			*entries++
		}
	}
	return nil
}
