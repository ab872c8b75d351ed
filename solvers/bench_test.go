package solvers_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// BenchmarkStep measures steps on a matrix of 784×192 float32 beside Gorgonia's, in turns.
func BenchmarkStep(b *testing.B) {
	shape := tensor.Shape{784, 192}
	node := gorgonia.NewMatrix(gorgonia.NewGraph(), tensor.Float32, gorgonia.WithShape(shape...), gorgonia.WithName("w"))
	for _, c := range []struct {
		kind   kind
		theirs gorgonia.Solver
	}{
		{kinds[0], gorgonia.NewAdamSolver()},
		{kinds[4], gorgonia.NewRMSPropSolver()},
		{kinds[6], gorgonia.NewMomentum()},
		{kinds[8], gorgonia.NewVanillaSolver()},
	} {
		ours, err := c.kind.make(gorgonia.Nodes{node})
		require.NoError(b, err)
		for _, s := range []struct {
			name   string
			solver gorgonia.Solver
		}{{"plankton", ours}, {"Gorgonia", c.theirs}} {
			b.Run(c.kind.name+"/"+s.name, func(b *testing.B) {
				one := func() float64 { return 1 }
				w, g := value(tensor.Float32, shape, one), value(tensor.Float32, shape, one)
				model := []gorgonia.ValueGrad{&holder{name: "w", w: w, g: g}}
				b.ReportAllocs()
				for b.Loop() {
					g.(*tensor.Dense).Memset(float32(0.5))
					if err := s.solver.Step(model); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(shape.TotalSize()), "ns/weight")
			})
		}
	}
}
