package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/memstats"
	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/streams"
)

// jitter adds an operator of one int32 that is told what to do with its output.
func jitter(g *Graph, spec datum.Spec, v Value, run func(i int32, out *datum.Tensor) error) Value {
	return g.Add(Op{
		Name: "jitter", Inputs: []Value{v}, Outputs: []datum.Spec{spec},
		New: func() (datum.Kernel, error) {
			return datum.KernelFunc(func(_ *datum.Sample, in, out []*datum.Tensor) error { return run(in[0].Int32s()[0], out[0]) }), nil
		},
	})[0]
}

// through adds an operator that hands its input on.
func through(g *Graph, v Value) Value {
	return g.Add(Op{
		Name: "through", Inputs: []Value{v}, Outputs: []datum.Spec{v.Spec()},
		New: func() (datum.Kernel, error) {
			return datum.KernelFunc(func(_ *datum.Sample, in, out []*datum.Tensor) error { return out[0].CopyFrom(in[0]) }), nil
		},
	})[0]
}

// rowsOf runs a pipeline of 40 samples under Skip and returns the bytes of each good
// one and the errors of the others, by sample.
func rowsOf(t *testing.T, o Options, define func(g *Graph) Value) (good map[int64]string, bad map[int64]*SampleError) {
	t.Helper()
	good, bad = map[int64]string{}, map[int64]*SampleError{}
	o.BatchSize, o.OnError = 4, Skip
	p, err := New(o, func(g *Graph) { g.Output("x", define(g)) })
	require.NoError(t, err)
	r := runner(t, p, 40)
	for {
		b, err := r.Next(t.Context())
		require.NoError(t, err)
		if b == nil {
			return good, bad
		}
		for row, id := range b.IDs() {
			if b.Mask()[row] {
				s := b.Sample("x", row)
				good[id] = fmt.Sprintf("%v %v%v %v", s.DType(), s.Layout(), s.Shape(), s.Bytes())
			} else {
				bad[id] = b.Errors()[row]
			}
		}
		b.Release()
	}
}

// What an operator does with its output, for every fourth sample in place of the
// right thing, and what comes of it.
var forgetful = []struct {
	name string
	does func(out *datum.Tensor) error
	want string // the error; "" where the sample is good
}{
	{"nothing", func(*datum.Tensor) error { return nil }, "output 0 was not written; call Resize and fill it, or return an error"},
	{"names the layout", func(out *datum.Tensor) error { out.SetLayout(datum.CHW); return nil }, "output 0 was not written; call Resize and fill it, or return an error"},
	{"looks at the shape", func(out *datum.Tensor) error { _, _ = out.Shape(), out.Len(); return nil }, "output 0 was not written; call Resize and fill it, or return an error"},
	{"reads it", func(out *datum.Tensor) error { _, err := out.Scalar(); return err }, "an output is read that was not written yet"},
	{"copies it", func(out *datum.Tensor) error { return out.CopyFrom(out) }, "an output is read that was not written yet"},
	{"drops an error", func(out *datum.Tensor) error { _, _ = out.Resize(3); return nil }, "output 0: shape [3], the output was declared "},
	{"drops an error and panics", func(out *datum.Tensor) error { mem, _ := out.Resize(3); mem[0] = 1; return nil }, "output 0: shape [3], the output was declared "},
	{"drops an error and writes", func(out *datum.Tensor) error { _, _ = out.Resize(3); out.Int32s()[0] = 1; return nil }, "output 0: shape [3], the output was declared "},
	{"drops an error of a type", func(out *datum.Tensor) error { _, _ = out.ResizeAs(datum.Float32, 1, 1); return nil }, "output 0: float32 elements, the output was declared int32"},
	{"drops an error of lending", func(out *datum.Tensor) error { _ = out.Lend(make([]byte, 5), 1, 1); return nil }, "output 0: 5 bytes for shape [1 1] of int32"},
	{"too late", func(out *datum.Tensor) error {
		if err := write(out); err != nil {
			return err
		}
		_, _ = out.Resize(3)
		return nil
	}, "output 0: shape [3], the output was declared "},
	{"lends", func(out *datum.Tensor) error { return out.Lend([]byte{7, 0, 0, 0}, 1, 1) }, ""},
	{"after an error", func(out *datum.Tensor) error { _, _ = out.Resize(3); return write(out) }, ""},
}

func write(out *datum.Tensor) error {
	if _, err := out.ResizeAs(datum.Int32, 1, 1); err != nil {
		return err
	}
	out.Int32s()[0] = 7
	return nil
}

// source is a source of a kind of its own, which does what an operator may do.
type source struct {
	numbers
	spec datum.Spec
	put  func(i int64, out *datum.Tensor) error
}

func (s source) Outputs() []datum.Spec { return []datum.Spec{s.spec} }
func (s source) Read(_ context.Context, i int64, out []*datum.Tensor) error {
	return s.put(i, out[0])
}

// sequence is the same as a sequence.
type sequence struct{ source }

func (s sequence) Samples() iter.Seq2[func([]*datum.Tensor) error, error] {
	return func(yield func(func([]*datum.Tensor) error, error) bool) {
		for i := range s.n {
			if !yield(func(out []*datum.Tensor) error { return s.put(i, out[0]) }, nil) {
				return
			}
		}
	}
}

// A row never holds what an operator or reader did not write: its sample fails with the
// operator's name, whoever makes it, and wherever in the pipeline.
func TestAnOutputThatWasNotWrittenFailsItsSample(t *testing.T) {
	dense, ragged := datum.Spec{DType: datum.Int32, Shape: []int{1, 1}}, datum.Spec{DType: datum.Int32, Shape: []int{-1, -1}}
	for _, c := range forgetful {
		for _, spec := range []datum.Spec{dense, ragged} {
			put := func(i int64, out *datum.Tensor) error {
				if i%4 == 2 {
					return c.does(out)
				}
				return write(out)
			}
			number := func(g *Graph) Value { return g.Read(ReaderOptions{}, numbers{n: 40})[0] }
			operator := func(g *Graph, v Value) Value {
				return jitter(g, spec, v, func(i int32, out *datum.Tensor) error { return put(int64(i), out) })
			}
			places := map[string]func(g *Graph) Value{
				"output": func(g *Graph) Value { return operator(g, number(g)) },
				"hidden": func(g *Graph) Value { return through(g, operator(g, number(g))) },
				"two":    func(g *Graph) Value { v := operator(g, number(g)); g.Output("again", v); return v },
				"source": func(g *Graph) Value {
					return g.Read(ReaderOptions{Name: "jitter"}, source{numbers{n: 40}, spec, put})[0]
				},
				"sequence": func(g *Graph) Value {
					return g.ReadSequence(ReaderOptions{Name: "jitter"}, sequence{source{numbers{n: 40}, spec, put}})[0]
				},
				"behind a source": func(g *Graph) Value {
					return through(g, g.Read(ReaderOptions{Name: "jitter"}, source{numbers{n: 40}, spec, put})[0])
				},
				"branch": func(g *Graph) Value {
					v := number(g)
					odd := fn(g, "half", func(_ *datum.Sample, in []int32) int32 { return in[0] / 2 % 2 }, v)
					there := func() []Value { return []Value{operator(g, v)} }
					return g.If(odd, there, there)[0]
				},
				"loop": func(g *Graph) Value {
					v := number(g)
					start := jitter(g, spec, v, func(_ int32, out *datum.Tensor) error { return write(out) })
					return g.While([]Value{start, v}, func(vars []Value) Value {
						return fn(g, "go on", func(_ *datum.Sample, in []int32) int32 { return max(0, in[0]+1) }, vars[1])
					}, func(vars []Value) []Value {
						return []Value{operator(g, vars[1]), fn(g, "end", func(*datum.Sample, []int32) int32 { return -1 }, vars[1])}
					})[0]
				},
			}
			for place, define := range places {
				t.Run(fmt.Sprint(c.name, " ", spec, " ", place), func(t *testing.T) {
					for _, workers := range []int{1, 3} {
						good, bad := rowsOf(t, Options{Workers: workers}, define)
						for i := range int64(40) {
							if i%4 == 2 && c.want != "" {
								require.Contains(t, bad, i, "%v", good[i])
								require.Equal(t, "jitter", bad[i].Op)
								require.ErrorContains(t, bad[i], c.want)
								require.NotErrorAs(t, bad[i], new(*PanicError))
								continue
							}
							require.Equal(t, "int32 [1 1] [7 0 0 0]", good[i])
						}
					}
				})
			}
		}
	}
}

// scratch returns a tensor of any shape with memory of its own.
func scratch(dt datum.DType) *datum.Tensor {
	x := new(datum.Tensor)
	if dt != 0 {
		_, _ = x.ResizeAs(dt, 0)
	}
	return x
}

// Sizes that no array has are refused, whatever becomes of the error.
func TestShapesThatNoArrayHasAreRefused(t *testing.T) {
	const long = math.MaxInt
	for _, shape := range [][]int{
		{-1, 4, -1}, {-1, -4, 3}, {4, 4, -1}, {0, -1, 1}, {1 << 32, 1 << 32, 1}, {1 << 32, 1 << 32, 0}, {long, long, 1}, {long, 2, 1}, {1 << 19, 1 << 45, 3},
	} {
		x := scratch(datum.Uint8)
		_, err := x.Resize(shape...)
		require.ErrorContains(t, err, fmt.Sprintf("shape %v of uint8; dimensions must not be negative, and an int must hold the number of bytes", shape))
		require.Equal(t, err, x.Lend(nil, shape...))
		_, err = x.ResizeAs(datum.Float64, shape...)
		require.ErrorContains(t, err, "of float64")
		for _, drop := range []bool{false, true} {
			good, bad := rowsOf(t, Options{}, func(g *Graph) Value {
				v := g.Read(ReaderOptions{}, numbers{n: 40})[0]
				return jitter(g, datum.Spec{DType: datum.Uint8, Shape: []int{-1, -1, -1}}, v, func(i int32, out *datum.Tensor) error {
					if i%2 == 0 {
						return out.Lend(nil, 5, int(i), 0)
					}
					if _, err := out.Resize(shape...); !drop {
						return err
					}
					return nil
				})
			})
			require.Len(t, good, 20)
			require.Len(t, bad, 20)
			require.ErrorContains(t, bad[7], "dimensions must not be negative")
		}
	}
	_, err := scratch(datum.Int64).Resize(math.MaxInt/64, 0, 8)
	require.NoError(t, err, "nothing times what an int holds")
	_, err = scratch(0).Resize(1)
	require.EqualError(t, err, "the type of the elements was not declared: call ResizeAs")
}

// An output of a known shape may be written without a request, whether it is a row of the
// batch or not; one of no known shape has no memory then.
func TestAnOutputOfAKnownShapeIsWrittenInPlace(t *testing.T) {
	double := func(i int32, out *datum.Tensor) error {
		for j := range out.Int32s() {
			out.Int32s()[j] = i
		}
		return nil
	}
	for _, wrap := range []func(*Graph, Value) Value{through, func(_ *Graph, v Value) Value { return v }} {
		good, bad := rowsOf(t, Options{Workers: 2}, func(g *Graph) Value {
			return wrap(g, jitter(g, datum.Spec{DType: datum.Int32, Shape: []int{2}}, g.Read(ReaderOptions{}, numbers{n: 40})[0], double))
		})
		require.Empty(t, bad)
		require.Equal(t, "int32 [2] [9 0 0 0 9 0 0 0]", good[9])
		_, bad = rowsOf(t, Options{Workers: 2}, func(g *Graph) Value {
			return wrap(g, jitter(g, datum.Spec{DType: datum.Int32, Shape: []int{-1}}, g.Read(ReaderOptions{}, numbers{n: 40})[0], double))
		})
		require.Len(t, bad, 40)
	}
}

// What a sample says of itself ends with it: type, layout and extents are those that were
// declared when the operator begins.
func TestNothingOfTheSampleBeforeIsLeft(t *testing.T) {
	specs := []datum.Spec{{Shape: []int{-1, 3}, Layout: "AB"}, {DType: datum.Int32, Shape: []int{2, 3}, Layout: "AB"}, {DType: datum.Int32, Shape: []int{-1, 3}, Layout: "AB"}}
	for _, spec := range specs {
		for _, wrap := range []func(*Graph, Value) Value{through, func(_ *Graph, v Value) Value { return v }} {
			good, bad := rowsOf(t, Options{Workers: 1}, func(g *Graph) Value {
				return wrap(g, jitter(g, spec, g.Read(ReaderOptions{}, numbers{n: 40})[0], func(i int32, out *datum.Tensor) error {
					if got := fmt.Sprint(out.DType(), out.Layout(), out.Shape()); got != fmt.Sprint(spec.DType, spec.Layout, spec.Shape) {
						return errors.New(got)
					}
					mem, err := out.ResizeAs(datum.Int32, 2, 3)
					clear(mem)
					if i%2 == 0 {
						out.SetLayout("XY")
					}
					return err
				}))
			})
			require.Empty(t, bad)
			require.Len(t, good, 40)
			if !spec.Dense() { // batches of others are one array, which has the declared layout
				require.Contains(t, good[0], "int32 XY")
			}
			require.Contains(t, good[1], "int32 AB")
		}
	}
}

// A loop's next values are all computed before one of them is set.
func TestALoopMayExchangeItsVariables(t *testing.T) {
	for _, inPlace := range []bool{false, true} {
		got := evaluate(t, 6, func(g *Graph, v Value) []Value {
			hundred := fn(g, "hundred", func(*datum.Sample, []int32) int32 { return 100 })
			minus := fn(g, "minus", func(*datum.Sample, []int32) int32 { return -1 })
			return g.While([]Value{v, hundred, minus, v}, func(vars []Value) Value {
				return vars[3]
			}, func(vars []Value) []Value {
				left := fn(g, "left", func(_ *datum.Sample, in []int32) int32 { return in[0] - 1 }, vars[3])
				if inPlace {
					vars[0], vars[1], vars[2], vars[3] = vars[1], vars[2], vars[0], left
					return vars
				}
				return []Value{vars[1], vars[2], vars[0], left}
			})
		})
		for i, xs := range got {
			want := []int32{int32(i), 100, -1}
			for range i {
				want = append(want[1:], want[0])
			}
			require.Equal(t, append(want, 0), xs)
		}
	}
}

// An operator that writes into an input is found in builds with the tag invariants.
func TestAnInputThatWasWrittenIsFound(t *testing.T) {
	if !memstats.Invariants {
		t.Skip("only builds with the tag invariants look at inputs")
	}
	for name, change := range map[string]func(in *datum.Tensor){
		"bytes":  func(in *datum.Tensor) { in.Int32s()[0]++ },
		"shape":  func(in *datum.Tensor) { _, _ = in.Resize(2, 1) },
		"layout": func(in *datum.Tensor) { in.SetLayout("ZZ") },
	} {
		_, bad := rowsOf(t, Options{Workers: 2}, func(g *Graph) Value {
			v := jitter(g, datum.Spec{DType: datum.Int32, Shape: []int{-1, -1}}, g.Read(ReaderOptions{}, numbers{n: 40})[0], func(_ int32, out *datum.Tensor) error { return write(out) })
			g.Output("before", v)
			return g.Add(Op{
				Name: "scribble", Inputs: []Value{v}, Outputs: []datum.Spec{{DType: datum.Int32, Shape: []int{1, 1}}},
				New: func() (datum.Kernel, error) {
					n := 0
					return datum.KernelFunc(func(_ *datum.Sample, in, out []*datum.Tensor) error {
						if n++; n%3 == 0 {
							change(in[0])
						}
						return write(out[0])
					}), nil
				},
			})[0]
		})
		require.NotEmpty(t, bad, name)
		for _, err := range bad {
			require.Equal(t, "scribble", err.Op)
			require.EqualError(t, err.Err, "input 0 was changed; inputs are read-only, and others read them as well: write the result into an output")
		}
	}
	require.EqualError(t, batchOf(t, 8, 1, func(in, out []batchop.Tensor) { in[0].Data[0]++; fillBatch(out, 1) }),
		`executor: node "whole#0": input 0 was changed; inputs are read-only, and others read them as well: write the result into an output`)
}

// What is not written at all shows as poison, in builds with the tag invariants.
func TestHalfWrittenRowsArePoisoned(t *testing.T) {
	if !memstats.Invariants {
		t.Skip("only builds with the tag invariants poison memory")
	}
	for _, shape := range [][]int{{8}, {-1}} {
		good, bad := rowsOf(t, Options{}, func(g *Graph) Value {
			return jitter(g, datum.Spec{DType: datum.Uint8, Shape: shape}, g.Read(ReaderOptions{}, numbers{n: 40})[0], func(_ int32, out *datum.Tensor) error {
				mem, err := out.Resize(8)
				clear(mem[:3])
				if err == nil {
					mem, err = out.Resize(8) // keeps the contents
					clear(mem[3:4])
				}
				return err
			})
		})
		require.Empty(t, bad)
		for _, row := range good {
			require.Contains(t, row, fmt.Sprint([]byte{0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF}))
		}
	}
}

// batchOf runs an operator for whole batches, whose output has rows of so many bytes,
// over a full and a short batch and returns the error of the run.
func batchOf(t *testing.T, row, last int, run func(in, out []batchop.Tensor)) error {
	t.Helper()
	p, err := New(Options{BatchSize: 4}, func(g *Graph) {
		v := square(g, g.Read(ReaderOptions{}, numbers{n: 8})[0], nil)
		g.Output("x", g.AddBatch(BatchOp{
			Name: "whole", Inputs: []Value{v}, Outputs: []datum.Spec{{DType: datum.Uint8, Shape: []int{row}}},
			New: func() (batchop.Kernel, error) {
				return batchop.KernelFunc(func(_ *streams.Context, in, out []batchop.Tensor) error { run(in, out); return nil }), nil
			},
		})[0])
	})
	require.NoError(t, err)
	r := runner(t, p, int64(4+last))
	for {
		b, err := r.Next(t.Context())
		if b == nil {
			return err
		}
		b.Release()
	}
}

// fillBatch writes every valid row.
func fillBatch(out []batchop.Tensor, x byte) {
	for r, ok := range out[0].Mask {
		if ok {
			for i := range out[0].Row(r) {
				out[0].Row(r)[i] = x
			}
		}
	}
}

// An operator for whole batches on the host that forgets an output, or a row of 16 bytes
// or more, ends the run; one that forgets fewer bytes than can be told from a result
// delivers zeros.
func TestABatchOperatorThatDoesNotWriteIsFound(t *testing.T) {
	for _, row := range []int{1, 3, 4, 5, 15, 16, 17, 100} {
		for last := 1; last <= 4; last++ {
			require.NoError(t, batchOf(t, row, last, func(_, out []batchop.Tensor) { fillBatch(out, 9) }))
			n := 0
			err := batchOf(t, row, last, func(_, out []batchop.Tensor) {
				if n++; n == 1 {
					fillBatch(out, 9)
				}
			})
			switch {
			case row >= 16:
				require.ErrorContains(t, err, "output 0 was not written in row 0; all rows that are valid must be")
			case row*last >= 16:
				require.ErrorContains(t, err, "output 0 was not written; write all rows that are valid")
			default:
				require.NoError(t, err)
			}
			if row < 16 {
				continue
			}
			err = batchOf(t, row, 4, func(_, out []batchop.Tensor) {
				one := out[0].Row(last - 1)
				before := bytes.Clone(one)
				fillBatch(out, 9)
				copy(one, before)
			})
			require.ErrorContains(t, err, fmt.Sprintf("output 0 was not written in row %d", last-1))
		}
	}
}
