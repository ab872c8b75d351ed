package main

import (
	"math"
	"math/rand/v2"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/planktonml/plankton/gorgoniaplugin"
)

const hidden = 16

// network is a network with one hidden layer and the graph that trains it.
type network struct {
	weights [][]float32 // of the model, shared with the graph
	model   gorgonia.Nodes
	cost    gorgonia.Value // mean over the valid rows of the batch
}

// newNetwork builds the network on the nodes of a feed. It begins with the same
// weights on every rank. What a graph gets wrong here is a mistake in the
// program, so it panics.
func newNetwork(g *gorgonia.ExprGraph, feed *gorgoniaplugin.Feed) (*network, error) {
	n := &network{}
	rnd := rand.New(rand.NewPCG(3, 4))
	matrix := func(name string, rows, cols int, scale float64) *gorgonia.Node {
		w := make([]float32, rows*cols)
		for i := range w {
			w[i] = float32(scale * rnd.NormFloat64())
		}
		node := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(rows, cols), gorgonia.WithName(name),
			gorgonia.WithValue(tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(w))))
		n.weights, n.model = append(n.weights, w), append(n.model, node)
		return node
	}
	layer := func(x *gorgonia.Node, name string, in, out int) *gorgonia.Node {
		w, b := matrix("w"+name, in, out, 1/math.Sqrt(float64(in))), matrix("b"+name, 1, out, 0)
		return gorgonia.Must(gorgonia.BroadcastAdd(gorgonia.Must(gorgonia.Mul(x, w)), b, nil, []byte{0}))
	}
	h := gorgonia.Must(gorgonia.Rectify(layer(feed.Node("x"), "1", features, hidden)))
	logp := gorgonia.Must(gorgonia.Log(gorgonia.Must(gorgonia.SoftMax(layer(h, "2", hidden, classes), 1))))
	row := gorgonia.Must(gorgonia.Neg(gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.HadamardProd(logp, feed.Node("label"))), 1))))
	cost := gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.HadamardProd(row, feed.Weights()))))
	gorgonia.Read(cost, &n.cost)
	_, err := gorgonia.Grad(cost, n.model...)
	return n, err
}

// gradients returns those of the last run, in the order of the weights.
func (n *network) gradients() ([][]float32, error) {
	var all [][]float32
	for _, node := range n.model {
		g, err := node.Grad()
		if err != nil {
			return nil, err
		}
		all = append(all, g.Data().([]float32))
	}
	return all, nil
}
