package main

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// channels of the convolutions. The first one halves the picture, and so does the
// pooling behind each: sides shrink by reduction in all.
var channels = []int{3, 16, 32, 64}

const reduction = 16

// newParameters returns what the network learns, with random numbers: one filter
// bank per convolution, then the weights and the bias of the classifier.
func newParameters(size, classes int) []*tensor.Dense {
	random := func(shape ...int) *tensor.Dense {
		return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(gorgonia.GlorotN(1)(tensor.Float32, shape...)))
	}
	var params []*tensor.Dense
	for i := range channels[1:] {
		params = append(params, random(channels[i+1], channels[i], 3, 3))
	}
	side := size / reduction
	bias := tensor.New(tensor.WithShape(1, classes), tensor.Of(tensor.Float32))
	return append(params, random(channels[len(channels)-1]*side*side, classes), bias)
}

// parameterNodes shows parameters to a graph, which shares them with others.
func parameterNodes(g *gorgonia.ExprGraph, params []*tensor.Dense) gorgonia.Nodes {
	nodes := make(gorgonia.Nodes, len(params))
	for i, p := range params {
		nodes[i] = gorgonia.NewTensor(g, tensor.Float32, p.Dims(), gorgonia.WithShape(p.Shape()...),
			gorgonia.WithName(fmt.Sprint("parameter", i)), gorgonia.WithValue(p))
	}
	return nodes
}

// forward returns the logits of pictures, batch×classes. What a graph gets wrong
// here is a mistake in the program, so it panics.
func forward(x *gorgonia.Node, model gorgonia.Nodes) *gorgonia.Node {
	filters, w, b := model[:len(model)-2], model[len(model)-2], model[len(model)-1]
	for i, filter := range filters {
		stride := 1
		if i == 0 {
			stride = 2
		}
		x = gorgonia.Must(gorgonia.Conv2d(x, filter, tensor.Shape{3, 3}, []int{1, 1}, []int{stride, stride}, []int{1, 1}))
		x = gorgonia.Must(gorgonia.Rectify(x))
		x = gorgonia.Must(gorgonia.MaxPool2D(x, tensor.Shape{2, 2}, []int{0, 0}, []int{2, 2}))
	}
	x = gorgonia.Must(gorgonia.Reshape(x, tensor.Shape{x.Shape()[0], w.Shape()[0]}))
	return gorgonia.Must(gorgonia.BroadcastAdd(gorgonia.Must(gorgonia.Mul(x, w)), b, nil, []byte{0}))
}

// crossEntropy returns the mean cross-entropy of the rows that have a weight.
func crossEntropy(logits, label, weights *gorgonia.Node) *gorgonia.Node {
	logp := gorgonia.Must(gorgonia.Log(gorgonia.Must(gorgonia.SoftMax(logits, 1))))
	row := gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.HadamardProd(logp, label)), 1))
	return gorgonia.Must(gorgonia.Neg(gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.HadamardProd(row, weights))))))
}
