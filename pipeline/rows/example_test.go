package rows_test

import (
	"context"
	"fmt"
	"log"

	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/readers"
	"github.com/planktonml/plankton/pipeline/rows"
)

// beside makes the rows of a run by a second pipeline of the same definition, in the same
// process. It is rows.Makers and rows.Maker.
type beside struct{ kitchen rows.Kitchen }

func (b beside) Check() error { return nil }

func (b beside) Plan() rows.Plan { return rows.Plan{Lanes: 1, Rows: 4} }

func (b beside) Open(ctx context.Context, house rows.House, _ bool) (func(), error) {
	return func() {
		_ = house.Lane(ctx, "beside", "the same process", b) // why it ended, such as the end of the run
	}, nil
}

func (b beside) Make(ctx context.Context, q *rows.Request, a rows.Answer) error {
	if err := a.From("the same process"); err != nil {
		return err
	}
	for i, key := range q.Keys {
		err := b.kitchen.Make(ctx, q.Seed, key, func(values []*datum.Tensor) error {
			row := a.Row(i)
			if row == nil {
				return nil // somebody else made it
			}
			for _, v := range values {
				to, err := row.Value(v.DType(), v.Layout(), v.Shape())
				if err != nil {
					return err
				}
				copy(to, v.Bytes())
			}
			row.End()
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Whoever makes the rows, batches are the same.
func Example() {
	define := func(g *pipeline.Graph) {
		x := readers.Slices(g, readers.SlicesOptions{}, readers.Rows([]int64{1, 2, 3, 4, 5, 6}))[0]
		g.Output("squares", g.Add(pipeline.Op{
			Name: "square", Inputs: []pipeline.Value{x}, Outputs: []datum.Spec{{DType: datum.Int64, Shape: []int{}}}, Expensive: true,
			New: func() (datum.Kernel, error) {
				return datum.KernelFunc(func(_ *datum.Sample, in, out []*datum.Tensor) error {
					b, err := out[0].Resize()
					if err == nil {
						v := in[0].Int64s()[0]
						datum.View[int64](b)[0] = v * v
					}
					return err
				}), nil
			},
		})[0])
	}
	worker, err := pipeline.New(pipeline.Options{BatchSize: 1, Workers: 1}, define)
	if err != nil {
		log.Fatal(err)
	}
	kitchen, err := worker.Engine().NewKitchen()
	if err != nil {
		log.Fatal(err)
	}
	p, err := pipeline.New(pipeline.Options{BatchSize: 3, Workers: 1, Remote: beside{kitchen}}, define)
	if err != nil {
		log.Fatal(err)
	}
	loader, err := iterator.New(iterator.Options{}, p)
	if err != nil {
		log.Fatal(err)
	}
	defer loader.Close()
	for b, err := range loader.Epoch(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(b.Int64s("squares"))
	}
	// Output:
	// [1 4 9]
	// [16 25 36]
}
