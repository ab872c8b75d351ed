package main

import (
	"context"
	"errors"
	"math"
	"runtime"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/iterator"
)

const hidden = 192 // units between the picture and the classes

// network is a graph whose input is shown the training set by one feed and the
// test set by another, with a machine for each: testVM stops at the logits.
type network struct {
	train, test     *gorgoniaplugin.Feed
	trainVM, testVM gorgonia.VM
	model           gorgonia.Nodes
	logits          *gorgonia.Node
	cost            gorgonia.Value
}

func newNetwork(trainSet, testSet *iterator.Loader) (n *network, err error) {
	n = &network{}
	g := gorgonia.NewGraph()
	if n.train, err = gorgoniaplugin.New(g, trainSet); err != nil {
		return nil, err
	}
	image := n.train.Node("image")
	if n.test, err = gorgoniaplugin.Bind(testSet, map[string]*gorgonia.Node{"image": image}, gorgoniaplugin.Unmasked()); err != nil {
		return nil, err
	}

	n.model = newModel(g)
	n.logits = forward(image, n.model)
	cost := crossEntropy(n.logits, n.train.Node("label"), n.train.Weights())
	gorgonia.Read(cost, &n.cost)
	if _, err := gorgonia.Grad(cost, n.model...); err != nil {
		return nil, err
	}
	runtime.LockOSThread() // as package gorgoniaplugin wants it on a GPU
	n.trainVM = gorgonia.NewTapeMachine(g, gorgonia.BindDualValues(n.model...))
	n.testVM = gorgonia.NewTapeMachine(g.ExactSubgraphRoots(n.logits))
	runtime.UnlockOSThread()
	if err := errors.Join(n.train.Attach(n.trainVM), n.test.Attach(n.testVM)); err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

func (n *network) close() {
	n.train.Close()
	n.test.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	n.trainVM.Close()
	n.testVM.Close()
}

// fit trains the network.
func (n *network) fit(ctx context.Context, progress *iterator.Progress, epochs int) error {
	defer progress.Close()
	solver := gorgonia.NewAdamSolver()
	for b, err := range n.train.Epochs(ctx, epochs) {
		if err != nil {
			return err
		}
		if err := n.trainVM.RunAll(); err != nil {
			return err
		}
		gorgonia.WithLearnRate(learnRate * math.Pow(decay, float64(b.Epoch())))(solver)
		if err := solver.Step(gorgonia.NodesToValueGrads(n.model)); err != nil {
			return err
		}
		progress.Step("cost %.4f", n.cost.Data())
		n.trainVM.Reset()
	}
	return nil
}

// accuracy returns the share of the test set, in percent, that the network reads
// correctly.
func (n *network) accuracy(ctx context.Context) (float64, error) {
	share, err := n.test.Accuracy(ctx, n.testVM, n.logits, "label")
	return 100 * share, err
}

// newModel returns weights and biases of two layers.
func newModel(g *gorgonia.ExprGraph) gorgonia.Nodes {
	matrix := func(name string, rows, cols int, init gorgonia.InitWFn) *gorgonia.Node {
		return gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(rows, cols), gorgonia.WithName(name), gorgonia.WithInit(init))
	}
	return gorgonia.Nodes{
		matrix("w1", side*side, hidden, gorgonia.GlorotU(1)), matrix("b1", 1, hidden, gorgonia.Zeroes()),
		matrix("w2", hidden, classes, gorgonia.GlorotU(1)), matrix("b2", 1, classes, gorgonia.Zeroes()),
	}
}

// forward returns the logits of pictures, batch×10. What a graph gets wrong here
// is a mistake in the program, so it panics.
func forward(image *gorgonia.Node, model gorgonia.Nodes) *gorgonia.Node {
	x := gorgonia.Must(gorgonia.Reshape(image, tensor.Shape{batch, side * side}))
	return layer(gorgonia.Must(gorgonia.Rectify(layer(x, model[0], model[1]))), model[2], model[3])
}

func layer(x, w, b *gorgonia.Node) *gorgonia.Node {
	return gorgonia.Must(gorgonia.BroadcastAdd(gorgonia.Must(gorgonia.Mul(x, w)), b, nil, []byte{0}))
}

// crossEntropy returns the mean cross-entropy of the rows that have a weight: the
// last batch is short.
func crossEntropy(logits, label, weights *gorgonia.Node) *gorgonia.Node {
	logp := gorgonia.Must(gorgonia.Log(gorgonia.Must(gorgonia.SoftMax(logits, 1))))
	row := gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.HadamardProd(logp, label)), 1))
	return gorgonia.Must(gorgonia.Neg(gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.HadamardProd(row, weights))))))
}
