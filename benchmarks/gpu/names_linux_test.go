package gpu

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/streams/cuda"
	"github.com/planktonml/plankton/streams/cuda/cudatest"
	"github.com/planktonml/plankton/streams/cuda/kernels/elementwise"
)

// raw returns the memory of numbers.
func raw[T any](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(*new(T))))
}

// named are results of kernels against the host's, by name: "" for those that agree.
type named struct {
	names   []string
	differs map[string]string
}

func (n *named) add(name, differs string) {
	if n.differs == nil {
		n.differs = map[string]string{}
	}
	n.names = append(n.names, name)
	if differs != "" {
		n.differs[name] = differs
	}
}

// judge judges a line, and writes what became of every kernel.
func (n *named) judge(t *testing.T, line string) {
	var list, wrong strings.Builder
	for _, name := range n.names {
		word := "equal"
		if d := n.differs[name]; d != "" {
			word = d
			fmt.Fprintf(&wrong, "; %s: %s", name, d)
		}
		fmt.Fprintf(&list, "%s: %s\n", name, word)
	}
	require.NoError(t, os.WriteFile(results(t, line+".txt"), []byte(list.String()), 0o666))
	on.Judge(t, line, len(n.differs) == 0, "%d of %d%s", len(n.names)-len(n.differs), len(n.names), wrong.String())
}

// computed returns what work makes of memory that holds zeros at first.
func computed(t *testing.T, d *cuda.Device, bytes int, work func(q *cuda.Queue, dst []byte) error) []byte {
	dst := cudatest.Memory(t, d, bytes)
	s := cudatest.Stream(t, d)
	s.Do(cudatest.On(func(q *cuda.Queue) error {
		if err := q.Fill(dst, 0); err != nil {
			return err
		}
		return work(q, dst)
	}))
	got := cudatest.Download(t, s, dst)
	require.NoError(t, s.Close())
	return got
}

// uploaded returns device memory that holds b.
func uploaded(t *testing.T, d *cuda.Device, b []byte) []byte {
	mem := cudatest.Memory(t, d, len(b))
	cudatest.Run(t, d, func(q *cuda.Queue) error { return q.Copy(mem, b) })
	return mem
}

// unlike says that bytes differ, "" if they do not.
func unlike(want, got []byte) string {
	if bytes.Equal(want, got) {
		return ""
	}
	at := 0
	for want[at] == got[at] {
		at++
	}
	return fmt.Sprintf("byte %d of %d is %d, not %d", at, len(want), got[at], want[at])
}

// TestKernelsByName compares each kernel of plankton's with the host's function, bit for bit.
func TestKernelsByName(t *testing.T) {
	d := open(t, cuda.Primary)
	rng := rand.New(rand.NewPCG(5, 5))
	var all named
	const n, h, w, c = 3, 37, 45, 3
	pictures := make([]byte, n*h*w*c)
	for i := range pictures {
		pictures[i] = byte(rng.Uint32())
	}
	floats := make([]float32, len(pictures))
	for i := range floats {
		floats[i] = rng.Float32() * 255
	}

	for name, to := range map[string]datum.DType{"crop_mirror_normalize_float32": datum.Float32, "crop_mirror_normalize_uint8": datum.Uint8} {
		p := &cuda.CropMirrorNormalize{
			N: n, SrcH: h, SrcW: w, SrcC: c, H: 30, W: 33, C: c, Planar: true, Uint8: to == datum.Uint8,
			Scale: [4]float32{0.5, 0.25, 0.75}, Bias: [4]float32{20, -3, 1.5},
		}
		spec := imaging.CMNSpec{H: p.H, W: p.W, DstCHW: true, DstC: c, Scale: 1, Fill: []float32{0}}
		for k := range c {
			spec.Mean, spec.Std = append(spec.Mean, 10*float32(k)), append(spec.Std, 1+0.5*float32(k))
			p.Scale[k] = spec.Scale / spec.Std[k]
			p.Bias[k] = -float32(spec.Mean[k] * p.Scale[k])
		}
		at, sample := make([]cuda.Window, n), p.H*p.W*c*int(to.Size())
		want := make([]byte, n*sample)
		var work imaging.CropMirrorNormalizer
		for i := range at {
			at[i] = cuda.Window{Y: int32(i), X: int32(2 * i), Mirror: int32(i % 2), Valid: 1}
			spec.Y, spec.X, spec.Mirror = i, 2*i, i%2 == 1
			src := imaging.Image{Pix: pictures[i*h*w*c:][:h*w*c], Type: datum.Uint8, H: h, W: w, C: c}
			require.NoError(t, work.Apply(want[i*sample:][:sample], to, &src, &spec))
		}
		src, windows := uploaded(t, d, pictures), uploaded(t, d, raw(at))
		all.add(name, unlike(want, computed(t, d, len(want), func(q *cuda.Queue, dst []byte) error {
			return q.CropMirrorNormalize(dst, src, windows, p)
		})))
	}

	plan, err := (&imaging.ResizeSpec{Size: [2]float64{20, 24}}).Resolve(h, w)
	require.NoError(t, err)
	cols, rows, err := plan.Weights(h, w)
	require.NoError(t, err)
	for from, to := range map[datum.DType]datum.DType{datum.Uint8: datum.Float32, datum.Float32: datum.Uint8} {
		pixels := pictures
		if from == datum.Float32 {
			pixels = raw(floats)
		}
		p := &cuda.Resize{
			N: n, SrcH: h, SrcW: w, H: 20, W: 24, C: c, Float32: to == datum.Float32, SrcFloat32: from == datum.Float32,
			Rows: cuda.Taps(rows), Cols: cuda.Taps(cols),
		}
		sample, one := p.H*p.W*c*int(to.Size()), h*w*c*int(from.Size())
		want := make([]byte, n*sample)
		var work imaging.Resampler
		for i := range n {
			src := imaging.Image{Pix: pixels[i*one:][:one], Type: from, H: h, W: w, C: c}
			require.NoError(t, work.Resize(want[i*sample:][:sample], to, &src, plan))
		}
		src := uploaded(t, d, pixels)
		differs := unlike(want, computed(t, d, len(want), func(q *cuda.Queue, dst []byte) error { return q.Resize(dst, src, p) }))
		all.add("resize_rows_"+from.String(), differs)
		all.add("resize_columns_"+to.String(), differs)
	}

	labels, want := []int64{3, -1, 0, 9, 10, 5}, make([]float32, 60)
	require.NoError(t, imaging.OneHot(want, labels, 10, 1, 1, -0.5))
	valid := uploaded(t, d, []byte{1, 1, 1, 1, 1, 1})
	short := make([]int32, len(labels))
	for i, l := range labels {
		short[i] = int32(l)
	}
	for name, mem := range map[string][]byte{"one_hot_int32": raw(short), "one_hot_int64": raw(labels)} {
		src := uploaded(t, d, mem)
		all.add(name, unlike(raw(want), computed(t, d, 240, func(q *cuda.Queue, dst []byte) error {
			return q.OneHot(dst, src, valid, &cuda.OneHot{N: 6, Labels: 1, Classes: 10, Int64: name == "one_hot_int64", On: 1, Off: -0.5})
		})))
	}
	require.Len(t, all.names, 8)
	slices.Sort(all.names)
	all.judge(t, "kernels-plankton")
}

// What Gorgonia's operators compute.
var (
	binaries = map[string]func(a, b float64) float64{
		"add": func(a, b float64) float64 { return a + b }, "sub": func(a, b float64) float64 { return a - b },
		"mul": func(a, b float64) float64 { return a * b }, "div": func(a, b float64) float64 { return a / b }, "pow": math.Pow,
		"lt": func(a, b float64) float64 { return one(a < b) }, "gt": func(a, b float64) float64 { return one(a > b) },
		"lte": func(a, b float64) float64 { return one(a <= b) }, "gte": func(a, b float64) float64 { return one(a >= b) },
		"eq": func(a, b float64) float64 { return one(a == b) }, "ne": func(a, b float64) float64 { return one(a != b) },
	}
	unaries = map[string]func(float64) float64{
		"abs": math.Abs, "ceil": math.Ceil, "floor": math.Floor, "sin": math.Sin, "cos": math.Cos, "exp": math.Exp,
		"ln": math.Log, "log2": math.Log2, "sqrt": math.Sqrt, "tanh": math.Tanh, "log1p": math.Log1p, "expm1": math.Expm1,
		"neg": func(x float64) float64 { return -x }, "square": func(x float64) float64 { return x * x },
		"cube": func(x float64) float64 { return x * x * x }, "inv": func(x float64) float64 { return 1 / x },
		"invSqrt": func(x float64) float64 { return 1 / math.Sqrt(x) }, "sigmoid": func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
		"softplus": func(x float64) float64 {
			if x > 700 {
				return x
			}
			return math.Log1p(math.Exp(x))
		},
		"sign": func(x float64) float64 {
			if x == 0 || math.IsNaN(x) {
				return x
			}
			return math.Copysign(1, x)
		},
	}
)

func one(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}

// numbers are special values and some of either sign and of every size.
func numbers() []float64 {
	xs := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1, -1, 0.5, -0.5, 2.5, -2.5, 1e-45, 1e-30, -1e-30, 1e30, -1e30}
	for x := 1e-6; x < 120; x *= 1.3 {
		xs = append(xs, x, -x)
	}
	return xs
}

// float is a type of the kernels' numbers.
type float struct {
	bytes       int
	part, least float64 // what rounding of the functions may change: of a number, and of those below the smallest normal one
}

var floatTypes = map[string]float{"f32": {4, 1e-6, 0x1p-126}, "f64": {8, 1e-14, 0x1p-1022}}

// memory returns numbers as the type has them.
func (f float) memory(xs []float64) []byte {
	if f.bytes == 8 {
		return slices.Clone(raw(xs))
	}
	short := make([]float32, len(xs))
	for i, x := range xs {
		short[i] = float32(x)
	}
	return raw(short)
}

// numbers is the inverse of memory.
func (f float) numbers(mem []byte) []float64 {
	xs := make([]float64, len(mem)/f.bytes)
	for i := range xs {
		if p := unsafe.Pointer(&mem[i*f.bytes]); f.bytes == 8 {
			xs[i] = *(*float64)(p)
		} else {
			xs[i] = float64(*(*float32)(p))
		}
	}
	return xs
}

// unlike says which result is not that of a function, "" if all are.
func (f float) unlike(as, bs, got []float64, want func(a, b float64) float64) string {
	for i, y := range got {
		a, b := as[min(i, len(as)-1)], bs[min(i, len(bs)-1)]
		w := f.numbers(f.memory([]float64{want(a, b)}))[0]
		if w == y || math.IsNaN(w) && math.IsNaN(y) || math.Abs(w-y) <= max(f.part*math.Abs(w), f.least) {
			continue
		}
		return fmt.Sprintf("%v and %v make %v, not %v", a, b, y, w)
	}
	return ""
}

// TestGorgoniasKernelsByName launches each kernel for Gorgonia's operators as Gorgonia does,
// and compares it with the function of the host.
func TestGorgoniasKernelsByName(t *testing.T) {
	d := open(t, cuda.Primary)
	for _, module := range []elementwise.Module{elementwise.Binary, elementwise.Unary} {
		m, err := d.Load(module.PTX)
		require.NoError(t, err)
		var all named
		for _, name := range module.Kernels() {
			k, err := m.Kernel(name)
			require.NoError(t, err)
			parts := strings.Split(name, "_")
			f := floatTypes[parts[len(parts)-1]]
			xs := f.numbers(f.memory(numbers()))
			as, bs := xs, []float64{0}
			want := func(a, _ float64) float64 { return unaries[parts[0]](a) }
			into := 0 // which of the inputs becomes the result
			if len(parts) == 3 {
				want = binaries[parts[0]]
				as, bs = nil, nil
				for _, x := range xs {
					for _, y := range []float64{0, 1, -1, 2, 0.5, -3, math.Inf(1), math.NaN(), 1e30, 3.25} {
						as, bs = append(as, x), append(bs, f.numbers(f.memory([]float64{y}))[0])
					}
				}
				if parts[1][0] == 's' {
					as = []float64{3}
				}
				if parts[1][1] == 's' {
					bs = []float64{2}
				}
				into = int(one(parts[1] == "sv"))
			}
			inputs := [][]byte{uploaded(t, d, f.memory(as)), uploaded(t, d, f.memory(bs))}
			args := []cuda.Arg{cuda.Address(inputs[0]), cuda.Address(inputs[1])}
			if len(parts) == 2 {
				args = args[:1]
			}
			args = append(args, cuda.Int64(int64(max(len(as), len(bs)))))
			s := cudatest.Stream(t, d)
			s.Do(cudatest.On(func(q *cuda.Queue) error {
				return q.Launch(k, cuda.Dim{X: 4, Y: 1, Z: 1}, cuda.Dim{X: 64, Y: 1, Z: 1}, 0, args...)
			}))
			got := f.numbers(cudatest.Download(t, s, inputs[into]))
			require.NoError(t, s.Close())
			all.add(name, f.unlike(as, bs, got, want))
		}
		all.judge(t, "kernels-"+module.Name)
	}
}
