package main

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors/images"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/layers/activation"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/loss"
	"github.com/gomlx/gomlx/ml/train/metric"
	"github.com/gomlx/gomlx/ml/train/optimizer"
)

// newTrainer trains a small network: means of 4×4 pixels and two dense layers.
func newTrainer(backend compute.Backend, store *model.Store, classes int) *train.Trainer {
	logits := func(scope *model.Scope, _ any, in []*graph.Node) []*graph.Node {
		x := graph.MeanPool(in[0]).ChannelsAxis(images.ChannelsFirst).Window(4).Done()
		x = graph.Reshape(x, x.Shape().Dimensions[0], -1)
		x = activation.Relu(layers.DenseWithBias(scope.In("hidden"), x, 64))
		return []*graph.Node{layers.DenseWithBias(scope.In("classes"), x, classes)}
	}
	return train.NewTrainer(backend, store, logits, loss.SparseCategoricalCrossEntropyLogits,
		optimizer.Adam().LearningRate(0.001).Done(), nil,
		[]metric.Interface{metric.NewSparseCategoricalAccuracy("Accuracy", "acc")})
}
