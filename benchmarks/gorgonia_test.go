package benchmarks

import (
	"path/filepath"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/internal/workload"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// step is a softmax regression on MNIST: the cheapest training step there is, so
// that what surrounds it shows.
type step struct {
	vm     gorgonia.VM
	solver gorgonia.Solver
	model  gorgonia.Nodes
}

// newStep builds the graph on nodes of 64×784 pictures and 64×10 labels.
func newStep(b *testing.B, g *gorgonia.ExprGraph, x, y *gorgonia.Node) *step {
	b.Helper()
	w := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(784, 10), gorgonia.WithName("w"), gorgonia.WithInit(gorgonia.GlorotU(1)))
	logp := gorgonia.Must(gorgonia.Log(gorgonia.Must(gorgonia.SoftMax(gorgonia.Must(gorgonia.Mul(x, w)), 1))))
	cost := gorgonia.Must(gorgonia.Neg(gorgonia.Must(gorgonia.Mean(gorgonia.Must(gorgonia.HadamardProd(logp, y))))))
	if _, err := gorgonia.Grad(cost, w); err != nil {
		b.Fatal(err)
	}
	s := &step{vm: gorgonia.NewTapeMachine(g, gorgonia.BindDualValues(w)), solver: gorgonia.NewVanillaSolver(), model: gorgonia.Nodes{w}}
	b.Cleanup(func() { s.vm.Close() })
	return s
}

func (s *step) run(b *testing.B) {
	if err := s.vm.RunAll(); err != nil {
		b.Fatal(err)
	}
	if err := s.solver.Step(gorgonia.NodesToValueGrads(s.model)); err != nil {
		b.Fatal(err)
	}
	s.vm.Reset()
}

// BenchmarkGorgonia trains on MNIST: through a feed, and in the loop of Gorgonia's
// examples, which slices tensors that hold the whole data set as float32, in
// order, without the last batch. Its preparation of the data is not counted.
func BenchmarkGorgonia(b *testing.B) {
	b.Run("feed", func(b *testing.B) {
		l := open(b, workload.Config{Name: "mnist", Data: data(b, "mnist"), Options: pipeline.Options{BatchSize: batchSize}})
		g := gorgonia.NewGraph()
		feed, err := gorgoniaplugin.New(g, l, gorgoniaplugin.Unmasked()) // the short batch's rows are zero in y
		if err != nil {
			b.Fatal(err)
		}
		x := gorgonia.Must(gorgonia.Reshape(feed.Node("image"), tensor.Shape{batchSize, 784}))
		s := newStep(b, g, x, feed.Node("label"))
		if err := feed.Attach(s.vm); err != nil {
			b.Fatal(err)
		}
		defer feed.Close()
		b.ReportAllocs()
		b.ResetTimer()
		for seen := 0; seen < b.N; {
			for batch, err := range feed.Epoch(b.Context()) {
				if err != nil {
					b.Fatal(err)
				}
				s.run(b)
				if seen += batch.NumValid(); seen >= b.N {
					break
				}
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "images/s")
	})
	b.Run("slices", func(b *testing.B) {
		xs, ys := wholeMNIST(b)
		g := gorgonia.NewGraph()
		x := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(batchSize, 784), gorgonia.WithName("x"))
		y := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(batchSize, 10), gorgonia.WithName("y"))
		s := newStep(b, g, x, y)
		n := xs.Shape()[0] / batchSize
		b.ReportAllocs()
		b.ResetTimer()
		for i := 0; i*batchSize < b.N; i++ {
			at := gorgonia.S(i%n*batchSize, i%n*batchSize+batchSize)
			xv, err := xs.Slice(at)
			if err != nil {
				b.Fatal(err)
			}
			yv, err := ys.Slice(at)
			if err != nil {
				b.Fatal(err)
			}
			if err := gorgonia.Let(x, xv); err != nil {
				b.Fatal(err)
			}
			if err := gorgonia.Let(y, yv); err != nil {
				b.Fatal(err)
			}
			s.run(b)
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "images/s")
	})
}

// wholeMNIST returns all pictures and one-hot labels as tensors.
func wholeMNIST(b *testing.B) (x, y *tensor.Dense) {
	b.Helper()
	dir := data(b, "mnist")
	p, err := pipeline.New(pipeline.Options{BatchSize: 60000, PrefetchDepth: 1}, func(g *pipeline.Graph) {
		img, label := readers.IDX(g, readers.IDXOptions{
			Images: filepath.Join(dir, "train-images-idx3-ubyte.gz"), Labels: filepath.Join(dir, "train-labels-idx1-ubyte.gz"),
		})
		g.Output("x", ops.CropMirrorNormalize(g, img, ops.CropMirrorNormalizeOptions{Std: []float64{255}}))
		g.Output("y", ops.OneHot(g, label, ops.OneHotOptions{}))
	})
	if err != nil {
		b.Fatal(err)
	}
	for batch, err := range loaderOf(b, p).Epoch(b.Context()) {
		if err != nil {
			b.Fatal(err)
		}
		x = tensor.New(tensor.WithShape(60000, 784), tensor.WithBacking(append([]float32(nil), batch.Float32s("x")...)))
		y = tensor.New(tensor.WithShape(60000, 10), tensor.WithBacking(append([]float32(nil), batch.Float32s("y")...)))
	}
	return x, y
}
