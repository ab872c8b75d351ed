//go:build !cuda

package gorgoniaplugin_test

import (
	"context"
	"fmt"
	"log"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// A classifier learns to tell points of four corners apart: 50 points in batches
// of 16, so that the last batch has 2 valid rows.
func Example() {
	if err := train(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 80 steps, 1000 points
	// 50 of 50 points are right
}

func train(ctx context.Context) error {
	points, corners := corners(50)
	p, err := pipeline.New(pipeline.Options{BatchSize: 16, Seed: 1}, func(g *pipeline.Graph) {
		v := readers.Slices(g, readers.SlicesOptions{Name: "train", Shuffle: true},
			readers.Rows(points, 2), readers.Rows(corners).WithClasses(4))
		g.Output("point", v[0])
		g.Output("corner", ops.OneHot(g, v[1], ops.OneHotOptions{}))
	})
	if err != nil {
		return err
	}
	loader, err := iterator.New(iterator.Options{ReaderName: "train"}, p)
	if err != nil {
		return err
	}
	defer loader.Close()

	graph := gorgonia.NewGraph()
	feed, err := gorgoniaplugin.New(graph, loader)
	if err != nil {
		return err
	}
	x, y, w := feed.Node("point"), feed.Node("corner"), feed.Weights()
	weights := gorgonia.NewMatrix(graph, tensor.Float32, gorgonia.WithName("layer"), gorgonia.WithShape(2, 4), gorgonia.WithInit(gorgonia.Zeroes()))
	probability := gorgonia.Must(gorgonia.SoftMax(gorgonia.Must(gorgonia.Mul(x, weights)), 1))
	hit := gorgonia.Must(gorgonia.HadamardProd(gorgonia.Must(gorgonia.Log(probability)), y))
	rowLoss := gorgonia.Must(gorgonia.Neg(gorgonia.Must(gorgonia.Sum(hit, 1))))
	cost := gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.HadamardProd(rowLoss, w))))
	if _, err := gorgonia.Grad(cost, weights); err != nil {
		return err
	}
	vm := gorgonia.NewTapeMachine(graph, gorgonia.BindDualValues(weights))
	defer vm.Close()
	if err := feed.Attach(vm); err != nil {
		return err
	}
	defer feed.Close()

	solver := gorgonia.NewVanillaSolver(gorgonia.WithLearnRate(0.5))
	steps, seen := 0, 0
	for b, err := range feed.Epochs(ctx, 20) {
		if err != nil {
			return err
		}
		if err := vm.RunAll(); err != nil {
			return err
		}
		if err := solver.Step(gorgonia.NodesToValueGrads(gorgonia.Nodes{weights})); err != nil {
			return err
		}
		vm.Reset()
		steps, seen = steps+1, seen+b.NumValid()
	}
	fmt.Printf("%d steps, %d points\n", steps, seen)

	right := 0
	for b, err := range feed.Epoch(ctx) {
		if err != nil {
			return err
		}
		if err := vm.RunAll(); err != nil {
			return err
		}
		guess := probability.Value().Data().([]float32)
		for row, valid := range b.Mask() {
			if valid && argmax(guess[row*4:][:4]) == int(corners[b.IDs()[row]]) {
				right++
			}
		}
		vm.Reset()
	}
	fmt.Printf("%d of 50 points are right\n", right)
	return nil
}

// corners returns n points near (±1, ±1) and which corner each is near.
func corners(n int) (points []float32, corner []int64) {
	for i := range n {
		c := i % 4
		off := float32(i%7)/10 - 0.3
		points = append(points, float32(c%2*2-1)+off, float32(c/2*2-1)-off)
		corner = append(corner, int64(c))
	}
	return points, corner
}

func argmax(v []float32) int {
	best := 0
	for i, x := range v {
		if x > v[best] {
			best = i
		}
	}
	return best
}

// A second feed shows the validation data to the nodes that were made for
// training.
func ExampleBind() {
	loader := func(first float32) *iterator.Loader {
		p, err := pipeline.New(pipeline.Options{BatchSize: 2}, func(g *pipeline.Graph) {
			g.Output("x", readers.Slices(g, readers.SlicesOptions{}, readers.Rows([]float32{first, first + 1, first + 2}))[0])
		})
		if err != nil {
			log.Fatal(err)
		}
		l, err := iterator.New(iterator.Options{}, p)
		if err != nil {
			log.Fatal(err)
		}
		return l
	}
	training, validation := loader(1), loader(100)
	defer training.Close()
	defer validation.Close()

	graph := gorgonia.NewGraph()
	train, err := gorgoniaplugin.New(graph, training)
	if err != nil {
		log.Fatal(err)
	}
	x, w := train.Node("x"), train.Weights()
	validate, err := gorgoniaplugin.Bind(validation, map[string]*gorgonia.Node{"x": x}, gorgoniaplugin.WithWeights(w))
	if err != nil {
		log.Fatal(err)
	}
	mean := gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.HadamardProd(x, w))))
	vm := gorgonia.NewTapeMachine(graph)
	defer vm.Close()
	for _, f := range []*gorgoniaplugin.Feed{train, validate} {
		if err := f.Attach(vm); err != nil {
			log.Fatal(err)
		}
		defer f.Close()
	}
	for _, f := range []*gorgoniaplugin.Feed{train, validate, train} {
		for _, err := range f.Epoch(context.Background()) {
			if err != nil {
				log.Fatal(err)
			}
			if err := vm.RunAll(); err != nil {
				log.Fatal(err)
			}
			fmt.Print(mean.Value(), " ")
			vm.Reset()
		}
	}
	// Output: 1.5 3 100.5 102 1.5 3
}
