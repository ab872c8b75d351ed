package main

import (
	"context"
	"errors"
	"math/rand/v2"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/iterator"
)

const hidden = 48 // units between the spectrogram and the classes

// network is a graph whose input is shown the training set by one feed and the test set by
// another, with a machine for each: testVM stops at the logits.
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
	sound := n.train.Node("sound")
	if n.test, err = gorgoniaplugin.Bind(testSet, map[string]*gorgonia.Node{"sound": sound}, gorgoniaplugin.Unmasked()); err != nil {
		return nil, err
	}
	n.model = newModel(g)
	n.logits = forward(sound, n.model)
	cost := crossEntropy(n.logits, n.train.Node("label"), n.train.Weights())
	gorgonia.Read(cost, &n.cost)
	if _, err := gorgonia.Grad(cost, n.model...); err != nil {
		return nil, err
	}
	n.trainVM = gorgonia.NewTapeMachine(g, gorgonia.BindDualValues(n.model...))
	n.testVM = gorgonia.NewTapeMachine(g.ExactSubgraphRoots(n.logits))
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

func (n *network) fit(ctx context.Context, progress *iterator.Progress, epochs int) error {
	defer progress.Close()
	solver := gorgonia.NewAdamSolver(gorgonia.WithLearnRate(0.005))
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
		progress.Step("cost %.4f", n.cost.Data())
		n.trainVM.Reset()
	}
	return nil
}

// accuracy returns the share of the test set, in percent, whose class has the largest logit.
func (n *network) accuracy(ctx context.Context) (float64, error) {
	right, seen := 0, 0
	for b, err := range n.test.Epoch(ctx) {
		if err != nil {
			return 0, err
		}
		if err := n.testVM.RunAll(); err != nil {
			return 0, err
		}
		logits, labels := n.logits.Value().Data().([]float32), b.Float32s("label")
		for row, valid := range b.Mask() {
			if !valid {
				continue
			}
			at, best := row*classes, 0
			for c := range classes {
				if logits[at+c] > logits[at+best] {
					best = c
				}
			}
			seen++
			if labels[at+best] == 1 {
				right++
			}
		}
		n.testVM.Reset()
	}
	return 100 * float64(right) / float64(seen), nil
}

// newModel returns weights and biases of two layers, the same ones in every run.
func newModel(g *gorgonia.ExprGraph) gorgonia.Nodes {
	random := rand.New(rand.NewPCG(1, 2))
	matrix := func(name string, rows, cols int, scale float32) *gorgonia.Node {
		weights := make([]float32, rows*cols)
		for i := range weights {
			weights[i] = scale * (2*random.Float32() - 1)
		}
		return gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(rows, cols), gorgonia.WithName(name),
			gorgonia.WithValue(tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(weights))))
	}
	return gorgonia.Nodes{
		matrix("w1", length*bands, hidden, 0.05), matrix("b1", 1, hidden, 0), matrix("w2", hidden, classes, 0.2), matrix("b2", 1, classes, 0),
	}
}

// forward returns the logits of sounds, batch×4. What a graph gets wrong here is a mistake in
// the program, so it panics.
func forward(sound *gorgonia.Node, model gorgonia.Nodes) *gorgonia.Node {
	x := gorgonia.Must(gorgonia.Reshape(sound, tensor.Shape{batch, length * bands}))
	return layer(gorgonia.Must(gorgonia.Rectify(layer(x, model[0], model[1]))), model[2], model[3])
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
