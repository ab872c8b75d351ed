package gorgoniaplugin_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/planktonml/plankton/gorgoniaplugin"
	"github.com/planktonml/plankton/iterator"
	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/pipeline/readers"
)

// The convolutional net: filters of 3×3 over pictures of one channel, tanh, a dense layer,
// and the sum of squared distances to one-hot labels.
const (
	pictureSide = 8
	filters     = 4
	window      = 3
	across      = pictureSide - window + 1
	mapped      = filters * across * across // numbers of a sample behind the filters
	pictures    = 24
	learnRate   = 1e-3
)

// convolve is an operator that slides filters over pictures.
type convolve struct {
	op     func(x, filter *gorgonia.Node, kernel tensor.Shape, pad, stride, dilation []int) (*gorgonia.Node, error)
	turned bool // it multiplies the first number of a window with the last one of a filter
}

// pictureSet are pictures with a bright stripe, whose place is the label, and some noise.
func pictureSet() (x []float32, label []int32) {
	for i := range pictures {
		of := i % classes
		for j := range pictureSide * pictureSide {
			v := math.Sin(float64(j*(i+3))) / 4
			if j%pictureSide/3 == of {
				v++
			}
			x = append(x, float32(v))
		}
		label = append(label, int32(of))
	}
	return x, label
}

// pictureBatches defines the batches of the net, on the device where there is one.
func pictureBatches(g *pipeline.Graph) {
	x, label := pictureSet()
	v := readers.Slices(g, readers.SlicesOptions{}, readers.Rows(x, 1, pictureSide, pictureSide), readers.Rows(label).WithClasses(classes))
	g.Output("x", ops.ToDevice(g, v[0]))
	g.Output("y", ops.ToDevice(g, ops.OneHot(g, v[1], ops.OneHotOptions{})))
}

// parameters of the net.
type parameters struct{ filter, dense []float32 }

func firstParameters() parameters {
	p := parameters{make([]float32, filters*window*window), make([]float32, mapped*classes)}
	for i := range p.filter {
		p.filter[i] = float32(i%7-3) / 10
	}
	for i := range p.dense {
		p.dense[i] = float32(i%11-5) / 100
	}
	return p
}

// descend takes a step down a gradient.
func (p parameters) descend(filter, dense []float64) {
	for i, d := range filter {
		p.filter[i] -= float32(learnRate * d)
	}
	for i, d := range dense {
		p.dense[i] -= float32(learnRate * d)
	}
}

// step returns the loss of a batch and its gradient, in plain Go.
func (p parameters) step(x []float32, label []int32) (loss float64, filter, dense []float64) {
	filter, dense = make([]float64, len(p.filter)), make([]float64, len(p.dense))
	tap := func(at, k int) int { // of output at and number k of a filter
		return (at/across+k/window)*pictureSide + at%across + k%window
	}
	for s, of := range label {
		picture := x[s*pictureSide*pictureSide:][:pictureSide*pictureSide]
		h := make([]float64, mapped)
		for i := range h {
			f, at := i/(across*across), i%(across*across)
			for k := range window * window {
				h[i] += float64(picture[tap(at, k)]) * float64(p.filter[f*window*window+k])
			}
			h[i] = math.Tanh(h[i])
		}
		dh := make([]float64, mapped)
		for c := range classes {
			d := 0.0
			for i, v := range h {
				d += v * float64(p.dense[i*classes+c])
			}
			if int(of) == c {
				d--
			}
			loss += d * d
			for i, v := range h {
				dense[i*classes+c] += 2 * d * v
				dh[i] += 2 * d * float64(p.dense[i*classes+c])
			}
		}
		for i, v := range h {
			f, at, d := i/(across*across), i%(across*across), dh[i]*(1-v*v)
			for k := range window * window {
				filter[f*window*window+k] += d * float64(picture[tap(at, k)])
			}
		}
	}
	return loss, filter, dense
}

// net is the net as a graph of Gorgonia's. Its parameters are on the host.
type net struct {
	parameters
	feed                 *gorgoniaplugin.Feed
	vm                   gorgonia.VM
	loss, dFilter, dense gorgonia.Value
}

// newNet returns the net with its first parameters.
func newNet(t *testing.T, l *iterator.Loader, conv convolve, machine func(*gorgonia.ExprGraph) gorgonia.VM) *net {
	t.Helper()
	n := &net{parameters: firstParameters()}
	if conv.turned {
		for at := range filters {
			slices.Reverse(n.filter[at*window*window:][:window*window])
		}
	}
	g := gorgonia.NewGraph()
	var err error
	n.feed, err = gorgoniaplugin.New(g, l)
	require.NoError(t, err)
	must := gorgonia.Must
	filter := gorgonia.NewTensor(g, tensor.Float32, 4, gorgonia.WithName("filter"), gorgonia.WithShape(filters, 1, window, window),
		gorgonia.WithValue(tensor.New(tensor.WithShape(filters, 1, window, window), tensor.WithBacking(n.filter))))
	dense := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithName("dense"), gorgonia.WithShape(mapped, classes),
		gorgonia.WithValue(tensor.New(tensor.WithShape(mapped, classes), tensor.WithBacking(n.parameters.dense))))
	h, err := conv.op(n.feed.Node("x"), filter, tensor.Shape{window, window}, []int{0, 0}, []int{1, 1}, []int{1, 1})
	require.NoError(t, err)
	h = must(gorgonia.Tanh(must(gorgonia.Reshape(h, tensor.Shape{4, mapped}))))
	loss := must(gorgonia.Sum(must(gorgonia.Square(must(gorgonia.Sub(must(gorgonia.Mul(h, dense)), n.feed.Node("y")))))))
	grads, err := gorgonia.Grad(loss, filter, dense)
	require.NoError(t, err)
	gorgonia.Read(loss, &n.loss)
	gorgonia.Read(grads[0], &n.dFilter)
	gorgonia.Read(grads[1], &n.dense)
	n.vm = machine(g)
	require.NoError(t, n.feed.Attach(n.vm))
	return n
}

// train takes steps, returns their losses and closes the feed.
func (n *net) train(t *testing.T, steps int) (losses []float64) {
	t.Helper()
	for _, err := range n.feed.Epochs(t.Context(), steps) {
		require.NoError(t, err)
		require.NoError(t, n.vm.RunAll())
		losses = append(losses, number(n.loss.Data()))
		n.descend(wide(n.dFilter), wide(n.dense))
		n.vm.Reset()
		if len(losses) == steps {
			break
		}
	}
	require.NoError(t, n.feed.Close())
	return losses
}

func number(v any) float64 {
	switch v := v.(type) {
	case float32:
		return float64(v)
	case []float32:
		return float64(v[0])
	}
	return math.NaN()
}

func wide(v gorgonia.Value) (y []float64) {
	for _, x := range v.Data().([]float32) {
		y = append(y, float64(x))
	}
	return y
}

// hostLosses are the losses of the same steps in plain Go.
func hostLosses(steps int) (losses []float64) {
	p := firstParameters()
	x, label := pictureSet()
	for i := range steps {
		from := i % (pictures / 4) * 4
		loss, filter, dense := p.step(x[from*pictureSide*pictureSide:], label[from:from+4])
		p.descend(filter, dense)
		losses = append(losses, loss)
	}
	return losses
}

// apart returns how far losses are from others at the most, as a part of them.
func apart(got, want []float64) (most float64) {
	for i, w := range want {
		most = max(most, math.Abs(got[i]-w)/math.Abs(w)) // NaN stays
	}
	return most
}
