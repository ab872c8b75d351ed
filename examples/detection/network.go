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

// network is a graph whose input is shown the training set by one feed and the test set by
// another, with a machine for each: testVM stops at what the anchors say.
type network struct {
	train, test     *gorgoniaplugin.Feed
	trainVM, testVM gorgonia.VM
	model           gorgonia.Nodes
	logits, offsets *gorgonia.Node // (batch·16)×3 and ×4
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
	n.logits, n.offsets = forward(img, n.model)
	cost := loss(n.logits, n.offsets, n.train.Node("classes"), n.train.Node("offsets"), n.train.Weights())
	gorgonia.Read(cost, &n.cost)
	if _, err := gorgonia.Grad(cost, n.model...); err != nil {
		return nil, err
	}
	n.trainVM = gorgonia.NewTapeMachine(g, gorgonia.BindDualValues(n.model...))
	n.testVM = gorgonia.NewTapeMachine(g.ExactSubgraphRoots(n.logits, n.offsets))
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

// channels of the convolutions, each of which halves the picture.
var channels = []int{3, 8, 16, 24}

// newModel returns the filters of the convolutions, and the weights that make classes and offsets of
// what they see; the same ones in every run.
func newModel(g *gorgonia.ExprGraph) (model gorgonia.Nodes) {
	random := rand.New(rand.NewPCG(1, 2))
	add := func(name string, scale float32, shape ...int) {
		weights := make([]float32, tensor.Shape(shape).TotalSize())
		for i := range weights {
			weights[i] = scale * (2*random.Float32() - 1)
		}
		model = append(model, gorgonia.NewTensor(g, tensor.Float32, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(name),
			gorgonia.WithValue(tensor.New(tensor.WithShape(shape...), tensor.WithBacking(weights)))))
	}
	for i, name := range []string{"filter1", "filter2", "filter3"} {
		add(name, 0.15, channels[i+1], channels[i], 5, 5)
	}
	last := channels[len(channels)-1]
	add("classes", 0.2, last, classes)
	add("classesBias", 0, 1, classes)
	add("offsets", 0.1, last, 4)
	add("offsetsBias", 0, 1, 4)
	return model
}

// forward returns the logits of the classes and the offsets of all anchors. What a graph gets wrong
// here is a mistake in the program, so it panics.
func forward(x *gorgonia.Node, model gorgonia.Nodes) (logits, offsets *gorgonia.Node) {
	for _, filter := range model[:3] {
		x = gorgonia.Must(gorgonia.Conv2d(x, filter, tensor.Shape{5, 5}, []int{2, 2}, []int{2, 2}, []int{1, 1}))
		x = gorgonia.Must(gorgonia.Rectify(x))
	}
	x = gorgonia.Must(gorgonia.Transpose(x, 0, 2, 3, 1))
	x = gorgonia.Must(gorgonia.Reshape(x, tensor.Shape{batch * cells * cells, channels[len(channels)-1]}))
	return layer(x, model[3], model[4]), layer(x, model[5], model[6])
}

func layer(x, w, b *gorgonia.Node) *gorgonia.Node {
	return gorgonia.Must(gorgonia.BroadcastAdd(gorgonia.Must(gorgonia.Mul(x, w)), b, nil, []byte{0}))
}

// loss returns the cross-entropy of the classes and half the squared error of the offsets, which are 0 where an
// anchor has no box and count as well: the mean of the rows that have a weight.
func loss(logits, offsets, wantClasses, wantOffsets, weights *gorgonia.Node) *gorgonia.Node {
	flat := func(x, like *gorgonia.Node) *gorgonia.Node { return gorgonia.Must(gorgonia.Reshape(x, like.Shape())) }
	logp := gorgonia.Must(gorgonia.Log(gorgonia.Must(gorgonia.SoftMax(logits, 1))))
	entropy := gorgonia.Must(gorgonia.Neg(gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.HadamardProd(logp, flat(wantClasses, logits))), 1))))
	missed := gorgonia.Must(gorgonia.Square(gorgonia.Must(gorgonia.Sub(offsets, flat(wantOffsets, offsets)))))
	anchor := gorgonia.Must(gorgonia.Add(entropy, gorgonia.Must(gorgonia.Mean(missed, 1))))
	row := gorgonia.Must(gorgonia.Mean(gorgonia.Must(gorgonia.Reshape(anchor, tensor.Shape{batch, cells * cells})), 1))
	return gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.HadamardProd(row, weights))))
}
