package ops

import (
	"fmt"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
)

// GridMaskOptions configures GridMask. All are numbers per sample.
type GridMaskOptions struct {
	Tile           pipeline.Value // pixels from one square to the next, a whole number; default 100
	Ratio          pipeline.Value // of a square's width to Tile; default 0.5
	Angle          pipeline.Value // radians by which the grid is rotated around the first pixel; default 0
	ShiftX, ShiftY pipeline.Value // pixels by which it is moved afterwards; default 0
}

// GridMask clears the pixels of a picture that lie in the squares of a grid (Chen et al.,
// "GridMask Data Augmentation", 2020). Type and shape, H×W×C, stay. A Tile that is no whole
// number of 1 or more is the sample's error.
func GridMask(g *pipeline.Graph, v pipeline.Value, o GridMaskOptions) pipeline.Value {
	const name = "grid_mask"
	spec := picture(g, name, v)
	a := newArgs(g, name, v)
	k := gridMask{
		tile: a.number("Tile", o.Tile, 100), ratio: a.number("Ratio", o.Ratio, 0.5), angle: a.number("Angle", o.Angle, 0),
		x: a.number("ShiftX", o.ShiftX, 0), y: a.number("ShiftY", o.ShiftY, 0),
	}
	return one(g, pipeline.Op{
		Name: name, Inputs: a.inputs, Outputs: []datum.Spec{spec}, Expensive: true,
		New:    func() (datum.Kernel, error) { k := k; return &k, nil },
		Config: fmt.Sprintf("%+v", k),
	})
}

type gridMask struct {
	tile, ratio, angle, x, y arg
	grid                     imaging.Grid
}

func (k *gridMask) Run(_ *datum.Sample, in, out []*datum.Tensor) error {
	h, w, c, err := shape3(in[0])
	if err != nil {
		return err
	}
	tile, err := k.tile.finite("Tile", in)
	if err != nil {
		return err
	}
	if k.grid.Tile = whole(tile); k.grid.Tile < 1 || float32(k.grid.Tile) != tile {
		return fmt.Errorf("Tile is %g; a whole number of 1 or more is wanted", tile)
	}
	if k.grid.Ratio, err = k.ratio.finite("Ratio", in); err != nil {
		return err
	}
	if k.grid.Angle, err = k.angle.finite("Angle", in); err != nil {
		return err
	}
	if k.grid.ShiftX, err = k.x.finite("ShiftX", in); err != nil {
		return err
	}
	if k.grid.ShiftY, err = k.y.finite("ShiftY", in); err != nil {
		return err
	}
	dst, err := output(out[0], in[0], 0)
	if err != nil {
		return err
	}
	return plain(imaging.GridMask(dst, in[0].Bytes(), h, w, c*in[0].DType().Size(), &k.grid))
}
