package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"gorgonia.org/gorgonia"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/solvers"
)

const (
	batch     = 96
	learnRate = 0.003
	decay     = 0.65 // of the learning rate, per epoch
)

// fit changes the parameters to fit the training set, and returns the accuracy on
// the test set after the last epoch, in percent. It goes on from a checkpoint if there is
// one, and saves one after every epoch if the file has a name.
func fit(ctx context.Context, out io.Writer, params parameters, trainSet, testSet *iterator.Loader, epochs int, file string) (accuracy float64, err error) {
	t, err := newTrainer(params, trainSet, testSet)
	if err != nil {
		return 0, err
	}
	defer t.close()
	if err := t.restore(file); err != nil {
		return 0, err
	}
	at, err := trainSet.Position()
	if err != nil {
		return 0, err
	}
	first := int(at.Epoch)
	if first >= epochs { // the checkpoint has them all
		return t.testEpoch(ctx)
	}
	progress := iterator.NewProgress(out, trainSet, epochs-first)
	defer progress.Close()
	for epoch := first; epoch < epochs; epoch++ {
		if err := t.solver.SetLearnRate(learnRate * math.Pow(decay, float64(epoch))); err != nil {
			return 0, err
		}
		if err := t.trainEpoch(ctx, progress); err != nil {
			return 0, err
		}
		if accuracy, err = t.testEpoch(ctx); err != nil {
			return 0, err
		}
		if err := t.save(file); err != nil {
			return 0, err
		}
		progress.Close()
		stats := trainSet.Stats()
		fmt.Fprintf(out, "%d images, %.0f images/s, waited for data %.1f %% of the time: accuracy %.2f\n",
			stats.Samples, stats.Rate(), 100*stats.WaitShare(), accuracy)
	}
	return accuracy, nil
}

// trainer is a graph whose input is shown the training set by one feed and the
// test set by another.
type trainer struct {
	trainSet    *iterator.Loader
	train, test *gorgoniaplugin.Feed
	params      parameters
	model       gorgonia.Nodes
	logits      *gorgonia.Node
	cost        gorgonia.Value
	solver      *solvers.Solver

	// The test runs on a machine of its own, which stops at the logits. On the
	// machine that trains, every run adds its gradients to those that the
	// solver's next step uses: the network would learn the test set.
	trainVM, testVM gorgonia.VM
}

func newTrainer(params parameters, trainSet, testSet *iterator.Loader) (t *trainer, err error) {
	t = &trainer{trainSet: trainSet, params: params}
	g := gorgonia.NewGraph()
	if t.train, err = gorgoniaplugin.New(g, trainSet, gorgoniaplugin.Outputs("image", "label")); err != nil {
		return nil, err
	}
	image := t.train.Node("image")
	if t.test, err = gorgoniaplugin.Bind(testSet, map[string]*gorgonia.Node{"image": image}, gorgoniaplugin.Unmasked()); err != nil {
		return nil, err
	}

	t.model = params.nodes(g)
	if t.solver, err = solvers.NewAdam(t.model, solvers.AdamOptions{}); err != nil {
		return nil, err
	}
	t.logits = forward(image, t.model)
	cost := crossEntropy(t.logits, t.train.Node("label"), t.train.Weights())
	gorgonia.Read(cost, &t.cost)
	if _, err := gorgonia.Grad(cost, t.model...); err != nil {
		return nil, err
	}
	t.trainVM = gorgonia.NewTapeMachine(g, gorgonia.BindDualValues(t.model...))
	t.testVM = gorgonia.NewTapeMachine(g.ExactSubgraphRoots(t.logits))
	if err := errors.Join(t.train.Attach(t.trainVM), t.test.Attach(t.testVM)); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *trainer) close() {
	t.train.Close()
	t.test.Close()
	t.trainVM.Close()
	t.testVM.Close()
}

func (t *trainer) trainEpoch(ctx context.Context, progress *iterator.Progress) error {
	for _, err := range t.train.Epoch(ctx) {
		if err != nil {
			return err
		}
		if err := t.trainVM.RunAll(); err != nil {
			return err
		}
		if err := t.solver.Step(gorgonia.NodesToValueGrads(t.model)); err != nil {
			return err
		}
		progress.Step("cost %.4f", t.cost.Data())
		t.trainVM.Reset()
	}
	return nil
}

// testEpoch returns the accuracy on the test set in percent.
func (t *trainer) testEpoch(ctx context.Context) (float64, error) {
	share, err := t.test.Accuracy(ctx, t.testVM, t.logits, "label")
	return 100 * share, err
}
