package cuda

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/planktonml/plankton/internal/accel"
	"github.com/planktonml/plankton/streams/cuda/kernels"
)

// kernelSet is the package's own kernels on a device, loaded when the first is
// launched.
type kernelSet struct {
	once   sync.Once
	byName map[string]*Kernel
	err    error
}

var kernelNames = []string{
	"crop_mirror_normalize_float32", "crop_mirror_normalize_uint8",
	"resize_rows_uint8", "resize_rows_float32", "resize_columns_uint8", "resize_columns_float32",
	"one_hot_int32", "one_hot_int64",
}

// kernel returns one of the package's kernels.
func (d *Device) kernel(name string) (*Kernel, error) {
	d.kernels.once.Do(func() {
		m, err := d.Load(kernels.PTX)
		d.kernels.err = err
		d.kernels.byName = map[string]*Kernel{}
		for _, n := range kernelNames {
			if d.kernels.err == nil {
				d.kernels.byName[n], d.kernels.err = m.Kernel("plankton_" + n)
			}
		}
	})
	return d.kernels.byName[name], d.kernels.err
}

// maxSamples is the largest batch of a kernel: the extent of a grid in y and z.
const maxSamples = 65535

// What the kernels are told. The parameters are those of package internal/accel,
// so that operators need not know this package.
type (
	Window              = accel.Window
	CropMirrorNormalize = accel.CropMirrorNormalize
	Taps                = accel.Taps
	Resize              = accel.Resize
	OneHot              = accel.OneHot
)

// CropMirrorNormalize launches the kernel. dst, src and windows, N Windows, are
// memory of the device.
func (q *Queue) CropMirrorNormalize(dst, src, windows []byte, p *CropMirrorNormalize) error {
	name, size := "crop_mirror_normalize_float32", 4
	if p.Uint8 {
		name, size = "crop_mirror_normalize_uint8", 1
	}
	if p.SrcC < 1 || p.C < p.SrcC || p.C > 4 {
		return fmt.Errorf("cuda: %s: %d channels from %d; 1 to 4 are possible, and not fewer than there are", name, p.C, p.SrcC)
	}
	if err := fits(name, p.N, [3]int{len(dst), len(src), len(windows)},
		[3]int{p.H * p.W * p.C * size, p.SrcH * p.SrcW * p.SrcC, 16}); err != nil {
		return err
	}
	k, err := q.device.kernel(name)
	if err != nil {
		return err
	}
	planar := 0
	if p.Planar {
		planar = 1
	}
	args := [...]Arg{
		Address(dst), Address(src), Address(windows), Int32(p.SrcH), Int32(p.SrcW), Int32(p.SrcC), Int32(p.H), Int32(p.W), Int32(p.C), Int32(planar),
		Float32(p.Scale[0]), Float32(p.Scale[1]), Float32(p.Scale[2]), Float32(p.Scale[3]),
		Float32(p.Bias[0]), Float32(p.Bias[1]), Float32(p.Bias[2]), Float32(p.Bias[3]),
		Float32(p.Fill[0]), Float32(p.Fill[1]), Float32(p.Fill[2]), Float32(p.Fill[3]),
	}
	block := Dim{32, 8, 1}
	return q.Launch(k, Dim{blocks(p.W, block.X), blocks(p.H, block.Y), p.N}, block, 0, args[:]...)
}

// Resize launches the kernels. dst and src are memory of the device.
func (q *Queue) Resize(dst, src []byte, p *Resize) error {
	rows, cols, from, to := "resize_rows_uint8", "resize_columns_uint8", 1, 1
	if p.SrcFloat32 {
		rows, from = "resize_rows_float32", 4
	}
	if p.Float32 {
		cols, to = "resize_columns_float32", 4
	}
	between, pitch := p.SrcH*p.W*p.C*4, p.SrcW
	if p.Pitch != 0 {
		if p.N != 1 || p.Pitch < p.SrcW {
			return fmt.Errorf("cuda: resize: %d regions of %d pixels in rows of %d; one of at most as many is possible", p.N, p.SrcW, p.Pitch)
		}
		pitch = p.Pitch
	}
	if err := fits("resize", p.N, [3]int{len(dst), len(src), p.N * between},
		[3]int{p.H * p.W * p.C * to, p.SrcH * pitch * p.C * from, between}); err != nil {
		return err
	}
	if p.SrcH > maxSamples || p.H > maxSamples {
		return fmt.Errorf("cuda: resize: from %d to %d rows; at most %d are possible", p.SrcH, p.H, maxSamples)
	}
	rowKernel, err := q.device.kernel(rows)
	if err != nil {
		return err
	}
	colKernel, err := q.device.kernel(cols)
	if err != nil {
		return err
	}
	rowFirst, rowWeight, colFirst, colWeight, err := q.weights(p)
	if err != nil {
		return err
	}
	scratch, err := q.Alloc(p.N * between)
	if err != nil {
		return err
	}
	wide := 0
	if p.Rows.Wide && !p.SrcFloat32 {
		wide = 1
	}
	line := p.W * p.C
	block := Dim{256, 1, 1}
	across := [...]Arg{
		Address(scratch), Address(src), Address(rowFirst), Address(rowWeight),
		Int32(p.Rows.N), Int32(wide), Int32(p.SrcH), Int32(pitch), Int32(p.C), Int32(p.W),
	}
	down := [...]Arg{
		Address(dst), Address(scratch), Address(colFirst), Address(colWeight),
		Int32(p.Cols.N), Int32(p.SrcH), Int32(line), Int32(p.H),
	}
	err = q.Launch(rowKernel, Dim{blocks(line, block.X), p.SrcH, p.N}, block, 0, across[:]...)
	if err == nil {
		err = q.Launch(colKernel, Dim{blocks(line, block.X), p.H, p.N}, block, 0, down[:]...)
	}
	return errors.Join(err, q.Free(scratch))
}

// weights returns the weights of both axes on the device.
func (q *Queue) weights(p *Resize) (rowFirst, rowWeight, colFirst, colWeight []byte, err error) {
	if p.Weights == nil {
		if rowFirst, rowWeight, err = q.taps(&p.Rows, p.W); err == nil {
			colFirst, colWeight, err = q.taps(&p.Cols, p.H)
		}
		return rowFirst, rowWeight, colFirst, colWeight, err
	}
	mem, sizes := p.Weights, [...]int{4 * p.W, 4 * p.W * p.Rows.N, 4 * p.H, 4 * p.H * p.Cols.N}
	if p.Rows.N < 1 || p.Cols.N < 1 || p.Rows.Wide && p.Rows.N%8 != 0 || len(mem) != sizes[0]+sizes[1]+sizes[2]+sizes[3] {
		return nil, nil, nil, nil, fmt.Errorf("cuda: resize: %d bytes of weights for %d×%d outputs of %d and %d taps", len(mem), p.H, p.W, p.Cols.N, p.Rows.N)
	}
	next := func(n int) (part []byte) { part, mem = mem[:n], mem[n:]; return part }
	return next(sizes[0]), next(sizes[1]), next(sizes[2]), next(sizes[3]), nil
}

// taps returns weights on the device, for an axis of out outputs.
func (q *Queue) taps(t *Taps, out int) (first, weight []byte, err error) {
	if t.N < 1 || len(t.First) != out || len(t.Weight) != out*t.N || t.Wide && t.N%8 != 0 {
		return nil, nil, fmt.Errorf("cuda: resize: %d first samples and %d weights for %d outputs of %d taps", len(t.First), len(t.Weight), out, t.N)
	}
	n := 4 * len(t.First)
	if mem := q.kept[t]; mem != nil {
		return mem[:n], mem[n:], nil
	}
	mem, err := q.Alloc(n + 4*len(t.Weight))
	if err != nil {
		return nil, nil, err
	}
	if err := errors.Join(q.Copy(mem[:n], bytesOf(t.First)), q.Copy(mem[n:], bytesOf(t.Weight))); err != nil {
		return nil, nil, errors.Join(err, q.Free(mem))
	}
	if q.kept == nil {
		q.kept = map[*Taps][]byte{}
	}
	q.kept[t] = mem
	return mem[:n], mem[n:], nil
}

// bytesOf returns the memory of a slice of 4-byte elements.
func bytesOf[T int32 | float32](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), 4*len(s))
}

// OneHot launches the kernel. dst, labels and valid, a byte per row that is 0
// where the row is to become zero, are memory of the device.
func (q *Queue) OneHot(dst, labels, valid []byte, p *OneHot) error {
	name, size := "one_hot_int32", 4
	if p.Int64 {
		name, size = "one_hot_int64", 8
	}
	if err := fits(name, p.N, [3]int{len(dst), len(labels), len(valid)}, [3]int{p.Labels * p.Classes * 4, p.Labels * size, 1}); err != nil {
		return err
	}
	k, err := q.device.kernel(name)
	if err != nil {
		return err
	}
	total := p.N * p.Labels * p.Classes
	block := Dim{256, 1, 1}
	args := [...]Arg{
		Address(dst), Address(labels), Address(valid), Int64(int64(total)), Int32(p.Labels), Int32(p.Classes), Float32(p.On), Float32(p.Off),
	}
	return q.Launch(k, Dim{blocks(total, block.X), 1, 1}, block, 0, args[:]...)
}

// fits checks that pieces of memory have n times the bytes of a sample.
func fits(op string, n int, have, perSample [3]int) error {
	if n < 1 || n > maxSamples {
		return fmt.Errorf("cuda: %s: %d samples; 1 to %d are possible", op, n, maxSamples)
	}
	for i, want := range perSample {
		if want < 1 || have[i] != n*want {
			return fmt.Errorf("cuda: %s: output, input and third memory have %v bytes, %d samples of %v bytes are wanted", op, have, n, perSample)
		}
	}
	return nil
}

// blocks returns how many blocks of size threads cover n.
func blocks(n, size int) int { return (n + size - 1) / size }
