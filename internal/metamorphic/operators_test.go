package metamorphic

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/planktonml/plankton/pipeline"
	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/pipeline/ops"
	"github.com/planktonml/plankton/streams"
)

// builder adds what a definition draws to a graph: the same whenever it is built.
type builder struct {
	g      *pipeline.Graph
	d      draws
	values []pipeline.Value // that operators can read here
	depth  int              // of branches and loops
	cut    pipeline.Value   // what the definition's cut hands on, if it has one

	leaders []leading // the readers so far that have an order
	lens    []int64   // of the sources of the reader at hand
}

// any returns a value to read.
func (b *builder) any() pipeline.Value { return pick(b.d, b.values...) }

// spec draws the type and extents of an output, some of them ragged.
func (b *builder) spec() datum.Spec {
	s := datum.Spec{DType: pick(b.d, datum.Uint8, datum.Int32, datum.Int64, datum.Float32)}
	for range b.d.IntN(3) {
		s.Shape = append(s.Shape, b.d.between(1, 5))
	}
	if b.d.oneIn(2) {
		s.Shape = append(s.Shape, -1)
	}
	return s
}

// work is an operator that makes outputs of some inputs; do has a say before.
func (b *builder) work(name string, do func(c *datum.Sample, h uint64) error, out ...datum.Spec) {
	salt := b.d.Uint64()
	in := []pipeline.Value{b.any()}
	if b.d.oneIn(2) {
		in = append(in, b.any())
	}
	b.values = append(b.values, b.apply(name, salt, do, in, out...)...)
}

func (b *builder) apply(name string, salt uint64, do func(*datum.Sample, uint64) error, in []pipeline.Value, out ...datum.Spec) []pipeline.Value {
	o := ops.FuncOptions{Name: name, Outputs: out, Expensive: b.d.oneIn(2), Config: fmt.Sprint(salt)}
	return ops.Func(b.g, o, func(c *datum.Sample, in, outs []*datum.Tensor) error {
		h := digest(salt, in)
		if do != nil {
			if err := do(c, h); err != nil {
				return err
			}
		}
		for i, t := range outs {
			if err := write(t, out[i], hash(h+uint64(i))); err != nil {
				return err
			}
		}
		return nil
	}, in...)
}

// showCut makes what the cut hands on an output: a cut that no output needs is refused.
func (b *builder) showCut() {
	if b.cut.Set() {
		b.g.Output("cut", b.cut)
	}
}

// number returns a scalar from 0 to n-1 that follows from a value.
func (b *builder) number(v pipeline.Value, n uint64) pipeline.Value {
	salt := b.d.Uint64()
	return ops.Func(b.g, ops.FuncOptions{Name: "number", Outputs: []datum.Spec{{DType: datum.Int32}}}, func(_ *datum.Sample, in, out []*datum.Tensor) error {
		mem, err := out[0].Resize()
		if err == nil {
			datum.View[int32](mem)[0] = int32(digest(salt, in) % n)
		}
		return err
	}, v)[0]
}

// inside draws operators that stand in a branch or loop and returns a value of spec.
func (b *builder) inside(v pipeline.Value, spec datum.Spec) pipeline.Value {
	outside := len(b.values)
	b.depth++
	defer func() { b.values, b.depth = b.values[:outside], b.depth-1 }()
	b.values = append(b.values, v)
	for range b.d.IntN(3) {
		choose(b.d, features).do(b)
	}
	return b.apply("result", b.d.Uint64(), nil, []pipeline.Value{v, b.any()}, spec)[0]
}

// hoard is a kernel that holds memory beside its tensors.
type hoard struct {
	spec datum.Spec
	salt uint64
	held []byte
}

func (k *hoard) Run(s *datum.Sample, in, out []*datum.Tensor) error {
	h := digest(k.salt, in)
	if n := int(h % 5000); n > len(k.held) {
		if err := s.Reserve(int64(n)); err != nil {
			return err
		}
		k.held = make([]byte, n)
	}
	return write(out[0], k.spec, h)
}

func (k *hoard) Release() { k.held = nil }

// augmented draws an operator on pictures whose arguments differ from sample to sample.
func (b *builder) augmented(v pipeline.Value) pipeline.Value {
	u := b.uniform
	switch b.d.IntN(13) {
	case 0:
		return ops.Rotate(b.g, v, ops.RotateOptions{Angle: u(-180, 180), Fill: u(0, 255)})
	case 1:
		m := ops.ScaleMatrix(b.g, ops.ScaleMatrixOptions{Scale: u(0.5, 2), NDim: 2})
		return ops.WarpAffine(b.g, v, ops.WarpAffineOptions{Matrix: m, Interp: ops.Nearest})
	case 2:
		return ops.BrightnessContrast(b.g, v, ops.BrightnessContrastOptions{Brightness: u(0, 2), Contrast: u(0, 2)})
	case 3:
		return ops.GaussianBlur(b.g, v, ops.GaussianBlurOptions{Sigma: u(0.1, 4)})
	case 4:
		return ops.Paste(b.g, v, ops.PasteOptions{Ratio: u(1, 3), X: u(0, 1)})
	case 5:
		return ops.GridMask(b.g, v, ops.GridMaskOptions{Tile: ops.Constant(b.g, 3), Angle: u(0, 3)})
	case 6:
		return ops.ColorTwist(b.g, v, ops.ColorTwistOptions{Hue: u(-180, 180), Saturation: u(0, 2), Contrast: u(0.5, 2)})
	case 7:
		return ops.Equalize(b.g, v)
	case 8:
		return ops.Water(b.g, v, ops.WaterOptions{Fill: u(0, 255)})
	case 9:
		return ops.JPEGCompressionDistortion(b.g, v, u(5, 95))
	case 10:
		if v.Spec().DType == datum.Uint8 && v.Spec().Shape[2] == 3 {
			return ops.RandAugment(b.g, v, ops.RandAugmentOptions{})
		}
	case 11:
		v = ops.CropMirrorNormalize(b.g, v, ops.CropMirrorNormalizeOptions{Layout: datum.HWC, DType: v.Spec().DType, Mirror: ops.CoinFlip(b.g, 0.5)})
		return ops.RandomErasing(b.g, v, ops.RandomErasingOptions{Fill: u(0, 255)})
	}
	return v
}

// features are the operators on samples.
var features []weighted[func(*builder)]

func init() {
	features = []weighted[func(*builder)]{
		{"plain", 6, func(b *builder) { b.work("plain", nil, b.spec()) }},
		{"two outputs", 2, func(b *builder) { b.work("two", nil, b.spec(), b.spec()) }},
		{"slow", 2, func(b *builder) {
			n := uint64(b.d.between(2, 20))
			b.work("slow", func(_ *datum.Sample, h uint64) error {
				if h%n == 0 {
					time.Sleep(time.Duration(h>>32%300) * time.Microsecond)
				}
				return nil
			}, b.spec())
		}},
		{"random", 2, func(b *builder) {
			random, spec, salt := b.g.NewRandom(), b.spec(), b.d.Uint64()
			b.values = append(b.values, ops.Func(b.g, ops.FuncOptions{Name: "random", Outputs: []datum.Spec{spec}}, func(c *datum.Sample, in, out []*datum.Tensor) error {
				r := random.At(c)
				return write(out[0], spec, digest(salt, in)^r.Uint64())
			}, b.any())...)
		}},
		{"padded sequence", 1, func(b *builder) {
			v := b.any()
			s := v.Spec()
			if len(s.Shape) == 0 || slices.Contains(s.Shape[1:], -1) {
				return
			}
			values, mask, length := ops.PadSequence(b.g, v, ops.PadSequenceOptions{Length: b.d.between(1, 6), Left: b.d.oneIn(2), Truncate: true})
			b.values = append(b.values, values, mask, length)
		}},
		{"uniform", 1, func(b *builder) { b.values = append(b.values, ops.Uniform(b.g, -3, 5), ops.CoinFlip(b.g, 0.3)) }},
		{"fails", 1, func(b *builder) {
			n := uint64(b.d.between(8, 100))
			b.work("fails", func(_ *datum.Sample, h uint64) error {
				if h%n == 0 {
					return errRefused
				}
				return nil
			}, b.spec())
		}},
		{"panics", 1, func(b *builder) {
			n := uint64(b.d.between(8, 100))
			b.work("panics", func(_ *datum.Sample, h uint64) error {
				if h%n == 0 {
					panic(panics)
				}
				return nil
			}, b.spec())
		}},
		{"ends its goroutine", 1, func(b *builder) {
			n := uint64(b.d.between(8, 100))
			b.work("leaves", func(_ *datum.Sample, h uint64) error {
				if h%n == 0 {
					runtime.Goexit()
				}
				return nil
			}, b.spec())
		}},
		{"forgets", 1, func(b *builder) {
			spec, n := b.spec(), uint64(b.d.between(8, 100))
			salt, in := b.d.Uint64(), b.any()
			b.values = append(b.values, ops.Func(b.g, ops.FuncOptions{Name: "forgets", Outputs: []datum.Spec{spec}}, func(_ *datum.Sample, in, out []*datum.Tensor) error {
				if h := digest(salt, in); h%n != 0 {
					return write(out[0], spec, h)
				}
				return nil
			}, in)...)
		}},
		{"hoards", 2, func(b *builder) {
			spec, salt := b.spec(), b.d.Uint64()
			b.values = append(b.values, b.g.Add(pipeline.Op{
				Name: "hoards", Inputs: []pipeline.Value{b.any()}, Outputs: []datum.Spec{spec}, Expensive: true,
				New: func() (datum.Kernel, error) { return &hoard{spec: spec, salt: salt}, nil },
			})...)
		}},
		{"casts", 1, func(b *builder) { b.values = append(b.values, ops.Cast(b.g, b.any(), datum.Int32)) }},
		{"picture", 2, func(b *builder) {
			if len(b.values) < len(specs) || b.values[3].Spec().Layout != "HWC" {
				return // a sequence has none
			}
			v := ops.Resize(b.g, b.augmented(b.values[3]), ops.ResizeOptions{Height: float64(b.d.between(2, 9)), Width: float64(b.d.between(2, 9))})
			v = ops.CropMirrorNormalize(b.g, v, ops.CropMirrorNormalizeOptions{Mean: []float64{100}, Std: []float64{50}, Mirror: ops.CoinFlip(b.g, 0.5)})
			b.values = append(b.values, v)
		}},
		{"array", 3, (*builder).array},
		{"boxes", 1, (*builder).boxed},
		{"sound", 1, (*builder).sound},
		{"cut", 1, func(b *builder) {
			if b.depth == 0 && !b.cut.Set() {
				b.cut = ops.RemoteCut(b.g, b.any())
				b.values = append(b.values, b.cut)
			}
		}},
		{"if", 2, func(b *builder) {
			if b.depth > 2 {
				return
			}
			spec, v := b.spec(), b.any()
			branch := func() []pipeline.Value { return []pipeline.Value{b.inside(v, spec)} }
			b.values = append(b.values, b.g.If(b.number(b.any(), 2), branch, branch)...)
		}},
		{"while", 2, func(b *builder) {
			if b.depth > 2 {
				return
			}
			n, v := b.number(b.any(), 4), b.g.Varying(b.any())
			less := func(v pipeline.Value) pipeline.Value {
				return ops.Func(b.g, ops.FuncOptions{Name: "less", Outputs: []datum.Spec{{DType: datum.Int32}}}, func(_ *datum.Sample, in, out []*datum.Tensor) error {
					mem, err := out[0].Resize()
					if err == nil {
						datum.View[int32](mem)[0] = in[0].Int32s()[0] - 1
					}
					return err
				}, v)[0]
			}
			vs := b.g.While([]pipeline.Value{n, v}, func(vs []pipeline.Value) pipeline.Value { return vs[0] }, func(vs []pipeline.Value) []pipeline.Value {
				return []pipeline.Value{less(vs[0]), b.inside(vs[1], v.Spec())}
			})
			b.values = append(b.values, vs[1])
		}},
	}
}

// wholeBatches adds operators for whole batches, each of which may read what those
// before it make, and returns a result of each, so that all of them run.
func (b *builder) wholeBatches(f *definition) (made []pipeline.Value) {
	var in []pipeline.Value
	for _, v := range b.values {
		if v.Spec().Dense() {
			in = append(in, v)
		}
	}
	for i, backend := range f.wholeOps {
		op := pipeline.BatchOp{Name: fmt.Sprint("whole", i), Backend: backend, Command: b.d.IntN(3)}
		for range b.d.between(1, 2) {
			op.Inputs = append(op.Inputs, pick(b.d, in...))
		}
		for range b.d.between(1, 2) {
			op.Outputs = append(op.Outputs, datum.Spec{DType: datum.Uint8, Shape: []int{b.d.between(1, 6)}})
		}
		salt, rest := b.d.Uint64(), time.Duration(b.d.IntN(2)*b.d.IntN(500))*time.Microsecond
		bad := b.badBatches()
		op.New = func() (batchop.Kernel, error) {
			return batchop.KernelFunc(func(_ *streams.Context, in, out []batchop.Tensor) error {
				time.Sleep(rest)
				all := salt
				for row, ok := range in[0].Mask {
					if !ok {
						continue
					}
					h := salt
					for _, t := range in {
						h = digestBytes(h, rowOf(t, row))
					}
					for i, t := range out {
						scatter(rowOf(t, row), t.Spec.DType, h+uint64(i))
					}
					all = hash(all ^ h)
				}
				return bad(all)
			}), nil
		}
		vs := b.g.AddBatch(op)
		in, made = append(in, vs...), append(made, pick(b.d, vs...))
	}
	return made
}

// badBatches draws what an operator for whole batches makes of some of them: most make
// all, others refuse some or panic.
func (b *builder) badBatches() func(h uint64) error {
	n := uint64(b.d.between(10, 60))
	return pick(b.d, never, never, never, never, func(h uint64) error {
		if h%n == 0 {
			return errRefused
		}
		return nil
	}, func(h uint64) error {
		if h%n == 0 {
			panic(panics)
		}
		return nil
	})
}

func never(uint64) error { return nil }

// rowOf returns the memory of one sample.
func rowOf(t batchop.Tensor, row int) []byte {
	n := len(t.Data) / len(t.Mask)
	return t.Data[row*n : (row+1)*n]
}
