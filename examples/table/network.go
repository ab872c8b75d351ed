package main

import (
	"context"
	"errors"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/iterator"
)

const (
	batch     = 64
	epochs    = 150
	hidden    = 32
	learnRate = 0.01
)

// network is a graph whose input is shown the training set by one feed and the
// test set by another, with a machine for each.
type network struct {
	train, test     *gorgoniaplugin.Feed
	trainVM, testVM gorgonia.VM // the second one stops at the prediction
	model           gorgonia.Nodes
	prediction      *gorgonia.Node // a vector of batch size
	cost            gorgonia.Value
}

func newNetwork(trainSet, testSet *iterator.Loader) (n *network, err error) {
	n = &network{}
	g := gorgonia.NewGraph()
	if n.train, err = gorgoniaplugin.New(g, trainSet); err != nil {
		return nil, err
	}
	columns := n.train.Node("features")
	if n.test, err = gorgoniaplugin.Bind(testSet, map[string]*gorgonia.Node{"features": columns}, gorgoniaplugin.Unmasked()); err != nil {
		return nil, err
	}

	n.model = newModel(g)
	n.prediction = forward(columns, n.model)
	cost := squaredError(n.prediction, n.train.Node("rent"), n.train.Weights())
	gorgonia.Read(cost, &n.cost)
	if _, err := gorgonia.Grad(cost, n.model...); err != nil {
		return nil, err
	}
	n.trainVM = gorgonia.NewTapeMachine(g, gorgonia.BindDualValues(n.model...))
	n.testVM = gorgonia.NewTapeMachine(g.ExactSubgraphRoots(n.prediction))
	if err := errors.Join(n.train.Attach(n.trainVM), n.test.Attach(n.testVM)); err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

func (n *network) close() {
	n.train.Close()
	n.test.Close()
	n.trainVM.Close()
	n.testVM.Close()
}

func (n *network) fit(ctx context.Context, progress *iterator.Progress) error {
	defer progress.Close()
	solver := gorgonia.NewAdamSolver(gorgonia.WithLearnRate(learnRate))
	for _, err := range n.train.Epochs(ctx, epochs) {
		if err != nil {
			return err
		}
		if err := n.trainVM.RunAll(); err != nil {
			return err
		}
		if err := solver.Step(gorgonia.NodesToValueGrads(n.model)); err != nil {
			return err
		}
		progress.Step("cost %.5f", n.cost.Data())
		n.trainVM.Reset()
	}
	return nil
}

// errors returns the mean absolute error on the test set, and that of always
// guessing 0, both in standardized rents.
func (n *network) errors(ctx context.Context) (missed, guessed float64, err error) {
	rows := 0
	for b, err := range n.test.Epoch(ctx) {
		if err != nil {
			return 0, 0, err
		}
		if err := n.testVM.RunAll(); err != nil {
			return 0, 0, err
		}
		predicted, rents := n.prediction.Value().Data().([]float32), b.Float32s("rent")
		for row, valid := range b.Mask() {
			if valid {
				missed += math.Abs(float64(predicted[row] - rents[row]))
				guessed += math.Abs(float64(rents[row]))
			}
		}
		rows += b.NumValid()
		n.testVM.Reset()
	}
	return missed / float64(rows), guessed / float64(rows), nil
}

// newModel returns weights and biases of two layers.
func newModel(g *gorgonia.ExprGraph) gorgonia.Nodes {
	matrix := func(name string, rows, cols int, init gorgonia.InitWFn) *gorgonia.Node {
		return gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(rows, cols), gorgonia.WithName(name), gorgonia.WithInit(init))
	}
	return gorgonia.Nodes{
		matrix("w1", features, hidden, gorgonia.GlorotU(1)), matrix("b1", 1, hidden, gorgonia.Zeroes()),
		matrix("w2", hidden, 1, gorgonia.GlorotU(1)), matrix("b2", 1, 1, gorgonia.Zeroes()),
	}
}

// forward returns one number per row. What a graph gets wrong here is a mistake in
// the program, so it panics.
func forward(x *gorgonia.Node, model gorgonia.Nodes) *gorgonia.Node {
	y := gorgonia.Must(gorgonia.Tanh(layer(x, model[0], model[1])))
	return gorgonia.Must(gorgonia.Reshape(layer(y, model[2], model[3]), tensor.Shape{x.Shape()[0]}))
}

func layer(x, w, b *gorgonia.Node) *gorgonia.Node {
	return gorgonia.Must(gorgonia.BroadcastAdd(gorgonia.Must(gorgonia.Mul(x, w)), b, nil, []byte{0}))
}

// squaredError returns the mean squared error of the rows that have a weight.
func squaredError(predicted, wanted, weights *gorgonia.Node) *gorgonia.Node {
	row := gorgonia.Must(gorgonia.Square(gorgonia.Must(gorgonia.Sub(predicted, wanted))))
	return gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.HadamardProd(row, weights))))
}
