// Package workload builds the pipelines that plankton is measured with, for the
// command line and the benchmarks.
package workload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/planktonml/plankton/dataset"
	"github.com/planktonml/plankton/internal/anydata"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// Config says what to build.
type Config struct {
	Name string // train, strong, eval, decode, mnist or cifar
	Data string // what anydata.Open takes; for mnist, a folder of IDX files
	Size int    // height and width of the pictures of train, strong and eval

	Rank, World int
	Shuffle     bool
	Batchwise   bool // normalise whole batches, on Options.Device if there is one; not for strong and decode
	Cut         bool // ops.RemoteCut in front of what follows on the resized picture; not for decode and mnist
	Open        dataset.Options
	Damaged     ops.DamagedPolicy
	Options     pipeline.Options
}

// New returns the pipeline of a workload, with the outputs "image" and "label":
//
//   - train: random crop of 8 … 100 % of the area and 3/4 … 4/3 in shape, resized
//     to Size, mirrored at random, normalised to float32 CHW;
//   - strong: train with colours twisted by random brightness, contrast, saturation and
//     hue before normalisation, and half of the pictures erased in a random region after it;
//   - eval: shorter side 256/224 of Size, centre crop, normalised;
//   - decode: whole RGB pictures, ragged;
//   - mnist: pictures divided by 255 as float32, one-hot labels;
//   - cifar: 32×32 pictures, normalised.
//
// The data are closed when the program is done with the pipeline; see Open.
func New(ctx context.Context, c Config) (*pipeline.Pipeline, *Data, error) {
	data, err := Open(ctx, c.Name, c.Data, c.Open)
	if err != nil {
		return nil, nil, err
	}
	p, err := pipeline.New(c.Options, func(g *pipeline.Graph) {
		img, label := data.Read(g, pipeline.ReaderOptions{NumShards: c.World, ShardID: c.Rank, Shuffle: c.Shuffle})
		decode := ops.DecodeOptions{Damaged: c.Damaged}
		imagenet := ops.CropMirrorNormalizeOptions{Mean: ops.ImageNetMean, Std: ops.ImageNetStd}
		switch c.Name {
		case "train", "strong":
			img = ops.DecodeRandomCrop(g, img, ops.RandomCropOptions{DecodeOptions: decode})
			img = ops.Resize(g, img, ops.ResizeOptions{Height: float64(c.Size), Width: float64(c.Size)})
			img = c.cut(g, img)
			imagenet.Mirror = ops.CoinFlip(g, 0.5)
			if c.Name == "train" {
				img = c.normalize(g, img, imagenet)
				break
			}
			img = ops.ColorTwist(g, img, ops.ColorTwistOptions{
				Brightness: ops.Uniform(g, 0.6, 1.4), Contrast: ops.Uniform(g, 0.6, 1.4),
				Saturation: ops.Uniform(g, 0.6, 1.4), Hue: ops.Uniform(g, -36, 36),
			})
			img = ops.CropMirrorNormalize(g, img, imagenet)
			img = ops.RandomErasing(g, img, ops.RandomErasingOptions{})
		case "eval":
			img = ops.DecodeImage(g, img, decode)
			img = ops.Resize(g, img, ops.ResizeOptions{Shorter: float64(c.Size * 256 / 224)})
			imagenet.Height, imagenet.Width = c.Size, c.Size
			if c.Cut {
				img = ops.Crop(g, img, imagenet.CropOptions)
				imagenet.CropOptions = ops.CropOptions{}
			}
			img = c.normalize(g, c.cut(g, img), imagenet)
		case "decode":
			img = ops.DecodeImage(g, img, decode)
		case "mnist":
			img = c.normalize(g, img, ops.CropMirrorNormalizeOptions{Std: mnistStd})
			label = ops.OneHot(g, label, ops.OneHotOptions{})
		case "cifar":
			img = ops.DecodeImage(g, img, decode)
			imagenet.Height, imagenet.Width = 32, 32
			img = c.normalize(g, c.cut(g, img), imagenet)
		default:
			g.Fail("workload", fmt.Errorf("there is no workload %q; train, strong, eval, decode, mnist and cifar exist", c.Name))
		}
		if c.Cut && (c.Name == "decode" || c.Name == "mnist") {
			g.Fail("workload", fmt.Errorf("%s has nothing behind a resize that a cut could leave to the training program", c.Name))
		}
		g.Output("image", img)
		g.Output("label", label)
	})
	if err != nil {
		return nil, nil, errors.Join(err, data.Close())
	}
	return p, data, nil
}

// Data are those of a workload.
type Data struct {
	*dataset.Data // nil for those of MNIST
	read          func(g *pipeline.Graph, o pipeline.ReaderOptions) (sample, label pipeline.Value)
}

// Read adds a reader of the data.
func (d *Data) Read(g *pipeline.Graph, o pipeline.ReaderOptions) (sample, label pipeline.Value) {
	return d.read(g, o)
}

// Open opens the data of a workload: those of MNIST, or encoded pictures. Looking at them
// ends when ctx does, and so does reading from a bucket.
func Open(ctx context.Context, name, data string, o dataset.Options) (*Data, error) {
	if name != "mnist" {
		d, err := anydata.Open(ctx, data, o)
		if err != nil {
			return nil, err
		}
		return &Data{d, d.Read}, nil
	}
	if err := missing(data, mnistImages, mnistLabels); err != nil {
		return nil, err
	}
	return &Data{read: func(g *pipeline.Graph, o pipeline.ReaderOptions) (img, label pipeline.Value) {
		return readers.IDX(g, readers.IDXOptions{
			Images: firstOf(data, mnistImages), Labels: firstOf(data, mnistLabels),
			NumShards: o.NumShards, ShardID: o.ShardID, Shuffle: o.Shuffle,
		})
	}}, nil
}

// normalize adds the last operator of all workloads but decode and strong.
func (c *Config) normalize(g *pipeline.Graph, img pipeline.Value, o ops.CropMirrorNormalizeOptions) pipeline.Value {
	if !c.Batchwise {
		return ops.CropMirrorNormalize(g, img, o)
	}
	if o.Height > 0 { // a batch needs pictures of one size
		img = ops.Crop(g, img, o.CropOptions)
		o.CropOptions = ops.CropOptions{}
	}
	return ops.DeviceCropMirrorNormalize(g, ops.ToDevice(g, img), o)
}

// cut has workers elsewhere stop here, if they are to.
func (c *Config) cut(g *pipeline.Graph, img pipeline.Value) pipeline.Value {
	if !c.Cut {
		return img
	}
	return ops.RemoteCut(g, img)
}

// Normalisation returns the means and deviations, by channel or one for all, that
// the pixels of a workload's output "image" were normalised with.
func Normalisation(name string) (mean, std []float64) {
	switch name {
	case "train", "strong", "eval", "cifar":
		return ops.ImageNetMean, ops.ImageNetStd
	case "mnist":
		return nil, mnistStd
	}
	return nil, nil
}

// mnistStd makes pixels of 0 … 255 to 0 … 1.
var mnistStd = []float64{255}

// The files of MNIST, as they are or with ".gz" behind their names.
const (
	mnistImages = "train-images-idx3-ubyte"
	mnistLabels = "train-labels-idx1-ubyte"
)

// missing says which files are not in dir, compressed or not.
func missing(dir string, names ...string) error {
	for _, name := range names {
		if _, err := os.Stat(firstOf(dir, name)); err != nil {
			return fmt.Errorf("the folder %s has no file %s or %s.gz; give the folder of the IDX files of MNIST", dir, name, name)
		}
	}
	return nil
}

// firstOf returns the path of a file in dir, of the compressed one where there is one.
func firstOf(dir, name string) string {
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path + ".gz"); err == nil {
		return path + ".gz"
	}
	return path
}
