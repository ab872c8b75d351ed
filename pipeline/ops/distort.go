package ops

import (
	"fmt"

	"github.com/planktonml/plankton/internal/jpeg"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// JPEGCompressionDistortion makes of a uint8 RGB picture what is left of it in a JPEG file
// of the given quality, 1 … 100, a number per sample; default 50. Numbers beyond that are
// taken for the nearest one. The file has chroma of half the resolution in both directions,
// and is neither written nor read.
func JPEGCompressionDistortion(g *pipeline.Graph, v pipeline.Value, quality pipeline.Value) pipeline.Value {
	const name = "jpeg_compression_distortion"
	spec := picture(g, name, v)
	if g.Err() == nil && (spec.DType != datum.Uint8 || spec.Shape[2] >= 0 && spec.Shape[2] != 3) {
		g.Fail(name, fmt.Errorf("the input is %s; uint8 pictures of three channels are wanted", spec))
	}
	a := newArgs(g, name, v)
	k := distortion{quality: a.number("quality", quality, 50)}
	return one(g, pipeline.Op{
		Name: name, Inputs: a.inputs, Outputs: []datum.Spec{spec}, Expensive: true,
		New:    func() (datum.Kernel, error) { k := k; return &k, nil },
		Config: fmt.Sprintf("%+v", k.quality),
	})
}

type distortion struct {
	quality arg
	work    jpeg.Distorter
}

// Release gives up what the kernel keeps from sample to sample.
func (k *distortion) Release() { k.work.Release() }

func (k *distortion) Run(s *datum.Sample, in, out []*datum.Tensor) error {
	h, w, c, err := shape3(in[0])
	if err != nil {
		return err
	}
	if c != 3 || h < 1 || w < 1 {
		return fmt.Errorf("the picture has %d×%d pixels of %d channels; pixels of 3 are wanted", h, w, c)
	}
	quality, err := k.quality.finite("quality", in)
	if err != nil {
		return err
	}
	if n := k.work.Growth(h, w); n > 0 {
		if err := s.Reserve(k.work.Reserved() + n); err != nil {
			return err
		}
	}
	dst, err := output(out[0], in[0], 0)
	if err != nil {
		return err
	}
	return k.work.RGB(dst, in[0].Bytes(), h, w, whole(quality))
}
