package gomlxplugin_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/loss"
	"github.com/gomlx/gomlx/ml/train/metric"
	"github.com/gomlx/gomlx/ml/train/optimizer"

	"github.com/planktonml/plankton/gomlxplugin"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/readers"
)

// A classifier learns to tell points left and right of a line: 50 points in batches of 16, so
// that the last batch has 2 valid rows.
func Example() {
	if err := learn(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 80 steps
	// 100 % of the points are right
}

func learn(ctx context.Context) error {
	backend, err := gobackend.New("")
	if err != nil {
		return err
	}
	defer backend.Finalize()
	var points []float32
	var sides []int32
	for i := range 50 {
		x, y := float32(i%10)-4.5, float32(i/10)
		points, sides = append(points, x, y), append(sides, int32(min(1, max(0, int(x+1)))))
	}
	p, err := pipeline.New(pipeline.Options{BatchSize: 16, Seed: 1, OutputMemory: gomlxplugin.NewMemory(backend, 0)}, func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{Shuffle: true}, readers.Rows(points, 2), readers.Rows(sides))
		g.Output("point", v[0])
		g.Output("side", v[1])
	})
	if err != nil {
		return err
	}
	loader, err := iterator.New(iterator.Options{}, p)
	if err != nil {
		return err
	}
	defer loader.Close()
	ds, err := gomlxplugin.New(ctx, loader, gomlxplugin.Options{Inputs: []string{"point"}, Labels: []string{"side"}, Rows: gomlxplugin.Masked})
	if err != nil {
		return err
	}

	logits := func(scope *model.Scope, _ any, in []*graph.Node) []*graph.Node {
		return []*graph.Node{layers.DenseWithBias(scope.In("model"), in[0], 2)}
	}
	trainer := train.NewTrainer(backend, model.NewStore(), logits, loss.SparseCategoricalCrossEntropyLogits,
		optimizer.Adam().LearningRate(0.1).Done(), nil, []metric.Interface{metric.NewSparseCategoricalAccuracy("Accuracy", "acc")})
	loop := train.NewLoop(trainer)
	if _, err := loop.RunEpochs(ds, 20); err != nil {
		return err
	}
	fmt.Println(loop.LoopStep, "steps")
	exact, err := gomlxplugin.New(ctx, loader, gomlxplugin.Options{Inputs: []string{"point"}, Labels: []string{"side"}, Rows: gomlxplugin.Trimmed})
	if err != nil {
		return err
	}
	results, err := trainer.Eval(exact)
	if err != nil {
		return err
	}
	fmt.Printf("%.0f %% of the points are right\n", 100*results[1].Value().(float32))
	return nil
}
