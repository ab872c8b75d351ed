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

const hidden = 8 // channels between the two convolutions

// network is a graph whose input is shown the training set by one feed and the test set by
// another, with a machine for each: testVM stops at the logits.
type network struct {
	train, test     *gorgoniaplugin.Feed
	trainVM, testVM gorgonia.VM
	model           gorgonia.Nodes
	logits          *gorgonia.Node // (batch·24·24)×3
	cost            gorgonia.Value
}

func newNetwork(trainSet, testSet *iterator.Loader) (n *network, err error) {
	n = &network{}
	g := gorgonia.NewGraph()
	if n.train, err = gorgoniaplugin.New(g, trainSet); err != nil {
		return nil, err
	}
	img := n.train.Node("image")
	if n.test, err = gorgoniaplugin.Bind(testSet, map[string]*gorgonia.Node{"image": img}, gorgoniaplugin.Unmasked()); err != nil {
		return nil, err
	}
	n.model = newModel(g)
	n.logits = forward(img, n.model)
	cost := crossEntropy(n.logits, n.train.Node("mask"), n.train.Weights())
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
	solver := gorgonia.NewAdamSolver(gorgonia.WithLearnRate(0.01))
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

// iou returns the intersection over the union of the pixels that are of a class and that the
// network says to be, the mean of discs and squares over all of the test set.
func (n *network) iou(ctx context.Context) (float64, error) {
	var both, either [classes]float64
	for b, err := range n.test.Epoch(ctx) {
		if err != nil {
			return 0, err
		}
		if err := n.testVM.RunAll(); err != nil {
			return 0, err
		}
		logits, masks := n.logits.Value().Data().([]float32), b.Float32s("mask")
		for i := 0; i < len(masks); i += classes {
			if !b.Mask()[i/(side*side*classes)] {
				continue
			}
			is, said := largest(masks[i:i+classes]), largest(logits[i:i+classes])
			either[is]++
			if is == said {
				both[is]++
			} else {
				either[said]++
			}
		}
		n.testVM.Reset()
	}
	return (both[disc]/either[disc] + both[square]/either[square]) / 2, nil
}

// largest returns the index of the largest of some numbers.
func largest(v []float32) int {
	best := 0
	for i := range v {
		if v[i] > v[best] {
			best = i
		}
	}
	return best
}

// newModel returns the filters of two convolutions, the same ones in every run.
func newModel(g *gorgonia.ExprGraph) gorgonia.Nodes {
	random := rand.New(rand.NewPCG(1, 2))
	filter := func(name string, to, from int, scale float32) *gorgonia.Node {
		weights := make([]float32, to*from*5*5)
		for i := range weights {
			weights[i] = scale * (2*random.Float32() - 1)
		}
		return gorgonia.NewTensor(g, tensor.Float32, 4, gorgonia.WithShape(to, from, 5, 5), gorgonia.WithName(name),
			gorgonia.WithValue(tensor.New(tensor.WithShape(to, from, 5, 5), tensor.WithBacking(weights))))
	}
	return gorgonia.Nodes{filter("filter1", hidden, 3, 0.1), filter("filter2", classes, hidden, 0.1)}
}

// forward returns the logits of all pixels. What a graph gets wrong here is a mistake in the
// program, so it panics.
func forward(x *gorgonia.Node, model gorgonia.Nodes) *gorgonia.Node {
	x = gorgonia.Must(gorgonia.Rectify(convolve(x, model[0])))
	x = gorgonia.Must(gorgonia.Transpose(convolve(x, model[1]), 0, 2, 3, 1))
	return gorgonia.Must(gorgonia.Reshape(x, tensor.Shape{batch * side * side, classes}))
}

func convolve(x, filter *gorgonia.Node) *gorgonia.Node {
	return gorgonia.Must(gorgonia.Conv2d(x, filter, tensor.Shape{5, 5}, []int{2, 2}, []int{1, 1}, []int{1, 1}))
}

// crossEntropy returns the mean cross-entropy of the pixels of the rows that have a weight.
func crossEntropy(logits, mask, weights *gorgonia.Node) *gorgonia.Node {
	logp := gorgonia.Must(gorgonia.Log(gorgonia.Must(gorgonia.SoftMax(logits, 1))))
	y := gorgonia.Must(gorgonia.Reshape(mask, logits.Shape()))
	pixel := gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.HadamardProd(logp, y)), 1))
	row := gorgonia.Must(gorgonia.Mean(gorgonia.Must(gorgonia.Reshape(pixel, tensor.Shape{batch, side * side})), 1))
	return gorgonia.Must(gorgonia.Neg(gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.HadamardProd(row, weights))))))
}
