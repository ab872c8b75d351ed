package main

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

const hidden = 192 // units between the picture and the classes

// parameters are the numbers that a network learns: w1, b1, w2, b2. Graphs that
// are made with the same parameters share them.
type parameters []*tensor.Dense

func newParameters() parameters {
	matrix := func(rows, cols int, init gorgonia.InitWFn) *tensor.Dense {
		return tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(init(tensor.Float32, rows, cols)))
	}
	return parameters{
		matrix(side*side, hidden, gorgonia.GlorotU(1)), matrix(1, hidden, gorgonia.Zeroes()),
		matrix(hidden, classes, gorgonia.GlorotU(1)), matrix(1, classes, gorgonia.Zeroes()),
	}
}

// nodes shows the parameters to a graph.
func (p parameters) nodes(g *gorgonia.ExprGraph) gorgonia.Nodes {
	names := []string{"w1", "b1", "w2", "b2"}
	nodes := make(gorgonia.Nodes, len(p))
	for i, dense := range p {
		nodes[i] = gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(dense.Shape()...),
			gorgonia.WithName(names[i]), gorgonia.WithValue(dense))
	}
	return nodes
}

// forward returns the logits of pictures, batch×10. What a graph gets wrong here
// is a mistake in the program, so it panics.
func forward(image *gorgonia.Node, model gorgonia.Nodes) *gorgonia.Node {
	x := gorgonia.Must(gorgonia.Reshape(image, tensor.Shape{image.Shape()[0], side * side}))
	x = gorgonia.Must(gorgonia.Rectify(layer(x, model[0], model[1])))
	return layer(x, model[2], model[3])
}

func layer(x, w, b *gorgonia.Node) *gorgonia.Node {
	return gorgonia.Must(gorgonia.BroadcastAdd(gorgonia.Must(gorgonia.Mul(x, w)), b, nil, []byte{0}))
}

// crossEntropy returns the mean cross-entropy of the rows that have a weight.
func crossEntropy(logits, label, weights *gorgonia.Node) *gorgonia.Node {
	logp := gorgonia.Must(gorgonia.Log(gorgonia.Must(gorgonia.SoftMax(logits, 1))))
	row := gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.HadamardProd(logp, label)), 1))
	return gorgonia.Must(gorgonia.Neg(gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.HadamardProd(row, weights))))))
}
