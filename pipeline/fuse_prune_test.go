package pipeline

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/pipeline/datum"
)

// plus is an operator that adds a number and the other inputs to its first
// one. Two of them fuse into one that adds the sum, named after both.
func plus(g *Graph, name string, n int32, inputs ...Value) Value {
	return g.Add(plusOp(name, n, inputs))[0]
}

func plusOp(name string, n int32, inputs []Value) Op {
	return Op{
		Name: name, Inputs: inputs, Outputs: []datum.Spec{{DType: datum.Int32}}, Detail: n,
		New: func() (datum.Kernel, error) {
			return datum.KernelFunc(func(_ *datum.Sample, in, out []*datum.Tensor) error {
				if _, err := out[0].Resize(); err != nil {
					return err
				}
				sum := n
				for _, t := range in {
					sum += t.Int32s()[0]
				}
				out[0].Int32s()[0] = sum
				return nil
			}), nil
		},
		Fuse: func(p *Op) *Op {
			m, ok := p.Detail.(int32)
			if !ok {
				return nil
			}
			op := plusOp(p.Name+"+"+name, m+n, append(slices.Clone(p.Inputs), inputs[1:]...))
			return &op
		},
	}
}

// operators returns the names of the operators that p runs.
func operators(p *Pipeline) []string {
	var names []string
	for line := range strings.Lines(p.String()) {
		if name, _, ok := strings.Cut(line, " →"); ok {
			names = append(names, name)
		}
	}
	return names
}

// values runs the only batch of a pipeline over 0, 1, 2 and returns an output.
func values(t *testing.T, p *Pipeline, name string) []int32 {
	t.Helper()
	b, err := runner(t, p, 3).Next(t.Context())
	require.NoError(t, err)
	defer b.Release()
	return slices.Clone(b.Int32s(name))
}

func TestFusingAndPruning(t *testing.T) {
	for _, c := range []struct {
		name   string
		define func(g *Graph, v Value)
		run    []string
		want   []int32 // of output "x"
	}{
		{"a chain becomes one operator", func(g *Graph, v Value) {
			g.Output("x", plus(g, "c", 100, plus(g, "b", 10, plus(g, "a", 1, v))))
		}, []string{"reader", "a+b+c"}, []int32{111, 112, 113}},

		{"a value in between that is an output ends the chain", func(g *Graph, v Value) {
			b := plus(g, "b", 10, plus(g, "a", 1, v))
			g.Output("b", b)
			g.Output("x", plus(g, "d", 1000, plus(g, "c", 100, b)))
		}, []string{"reader", "a+b", "c+d"}, []int32{1111, 1112, 1113}},

		{"a value with two users ends the chain", func(g *Graph, v Value) {
			a := plus(g, "a", 1, v)
			g.Output("x", plus(g, "b", 10, a))
			g.Output("y", plus(g, "c", 100, a))
		}, []string{"reader", "a", "b", "c"}, []int32{11, 12, 13}},

		{"a value used twice by one operator ends the chain", func(g *Graph, v Value) {
			a := plus(g, "a", 1, v)
			g.Output("x", plus(g, "b", 10, a, a))
		}, []string{"reader", "a", "b"}, []int32{12, 14, 16}},

		{"inputs of both stay", func(g *Graph, v Value) {
			two := plus(g, "two", 0, v, v)
			g.Output("two", two)
			g.Output("x", plus(g, "b", 10, plus(g, "a", 1, v, two), two))
		}, []string{"reader", "two", "a+b"}, []int32{11, 16, 21}},

		{"what leads nowhere does not run, and ends no chain", func(g *Graph, v Value) {
			a := plus(g, "a", 1, v)
			plus(g, "unused", 1, plus(g, "unused too", 1, a))
			g.Output("x", plus(g, "b", 10, a))
		}, []string{"reader", "a+b"}, []int32{11, 12, 13}},

		{"a second output alone keeps an operator", func(g *Graph, v Value) {
			outs := g.Add(Op{
				Name: "split", Inputs: []Value{v}, Outputs: []datum.Spec{{DType: datum.Int32}, {DType: datum.Int32}},
				New: func() (datum.Kernel, error) {
					return datum.KernelFunc(func(_ *datum.Sample, in, out []*datum.Tensor) error {
						for i, t := range out {
							if _, err := t.Resize(); err != nil {
								return err
							}
							t.Int32s()[0] = in[0].Int32s()[0] * int32(i+2)
						}
						return nil
					}), nil
				},
			})
			g.Output("x", plus(g, "a", 1, outs[1]))
		}, []string{"reader", "split", "a"}, []int32{1, 4, 7}},

		{"readers that nobody uses stay", func(g *Graph, v Value) {
			w := g.Read(ReaderOptions{Name: "other"}, numbers{n: 1})
			plus(g, "unused", 1, w[0])
			g.Output("x", v)
		}, []string{"reader", "other"}, []int32{0, 1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := New(Options{BatchSize: 3, Workers: 1}, func(g *Graph) {
				c.define(g, g.Read(ReaderOptions{}, numbers{n: 3})[0])
			})
			require.NoError(t, err)
			require.Equal(t, c.run, operators(p))
			require.Equal(t, c.want, values(t, p, "x"))
		})
	}
}

// operator c reads its first input from an operator that comes before a random
// one: the numbers drawn do not change when operators are fused.
func TestFusingLeavesRandomNumbersAsTheyAre(t *testing.T) {
	draw := func(fused bool) []int32 {
		p, err := New(Options{BatchSize: 3, Seed: 5}, func(g *Graph) {
			v := g.Read(ReaderOptions{}, numbers{n: 3})[0]
			a := plus(g, "a", 1, v)
			r := g.NewRandom()
			number := g.Add(Op{Name: "random", Outputs: []datum.Spec{{DType: datum.Int32}}, New: func() (datum.Kernel, error) {
				return datum.KernelFunc(func(c *datum.Sample, _, out []*datum.Tensor) error {
					x := r.At(c)
					_, err := out[0].Resize()
					out[0].Int32s()[0] = int32(x.IntN(1 << 30))
					return err
				}), nil
			}})[0]
			g.Output("x", plus(g, "b", 10, a, number))
			if !fused {
				g.Output("a", a)
			}
		})
		require.NoError(t, err)
		require.Equal(t, fused, slices.Contains(operators(p), "a+b"))
		return values(t, p, "x")
	}
	require.Equal(t, draw(false), draw(true))
}
