package ops

import (
	"image"
	"unsafe"

	"github.com/planktonml/plankton/internal/accel"
	"github.com/planktonml/plankton/internal/imaging"
	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/streams"
)

// regionHead is what a row of DeviceDecodeResize begins with. Behind it lie the weights of the
// resize, as accel.Resize.Weights has them, and the file; or, with what rowPixels, the result.
// All is zero in a row that is not valid, which says that there is nothing.
type regionHead struct {
	what, index int64 // as in writeFileHeader
	h, w        int32 // of the picture
	y, x        int32 // of the region
	srcH, srcW  int32
	cols, rows  int32 // weights of one output
	wide        int32 // of the rows: 0 or 1
	_           [3]int32
}

const regionHeadSize = int(unsafe.Sizeof(regionHead{}))

// headOf returns the head of a row. Rows begin at multiples of 64 bytes.
func headOf(row []byte) *regionHead {
	return (*regionHead)(unsafe.Pointer(unsafe.SliceData(row[:regionHeadSize])))
}

// row returns how many bytes a row has.
func (k *cropper) row() int { return regionHeadSize + k.body }

// open reads a file's header, draws the region and plans its resize.
func (k *cropper) open(s *datum.Sample, in []*datum.Tensor) (image.Rectangle, imaging.Plan, error) {
	if err := k.files.open(s, in[0].Bytes()); err != nil {
		return image.Rectangle{}, imaging.Plan{}, err
	}
	region, err := k.files.region(s, in)
	if err != nil {
		return region, imaging.Plan{}, err
	}
	plan, err := k.resize.Resolve(region.Dy(), region.Dx())
	return region, plan, plain(err)
}

// onHost decodes a region of the open file and resizes it.
func (k *cropper) onHost(s *datum.Sample, dst []byte, region image.Rectangle, plan imaging.Plan) error {
	src, err := k.files.pixels(s, region)
	if err != nil {
		return err
	}
	return plain(k.work.Resize(dst, k.to, &src, plan))
}

// packRegion is the part of DeviceDecodeResize that runs on the workers.
type packRegion struct {
	cropper
	scratch int
	check   bool
	weigher imaging.Weigher
}

// Run writes a row: the file if the device can be asked to decode it, else the result.
func (k *packRegion) Run(s *datum.Sample, in, out []*datum.Tensor) error {
	region, plan, err := k.open(s, in)
	if err != nil {
		return err
	}
	row, err := out[0].Resize(k.row())
	if err != nil {
		return err
	}
	file, data := &k.files.file, in[0].Bytes()
	if !file.ordinary() || taken(file.h, file.w, k.c) > k.scratch {
		return k.write(s, row, region, plan)
	}
	cols, rows, err := k.weigher.Weights(&plan, region.Dy(), region.Dx())
	if err != nil {
		return plain(err)
	}
	weights := weightBytes(k.h, k.w, cols.N, rows.N)
	if weights+len(data) > k.body {
		return k.write(s, row, region, plan)
	}
	if k.check {
		end := image.Rect(file.w-1, file.h-1, file.w, file.h)
		if _, err := k.files.pixels(s, end); err != nil {
			return err
		}
	}
	head := headOf(row)
	*head = regionHead{
		what: int64(len(data)), index: s.Index(), h: int32(file.h), w: int32(file.w),
		y: int32(region.Min.Y), x: int32(region.Min.X), srcH: int32(region.Dy()), srcW: int32(region.Dx()),
		cols: int32(cols.N), rows: int32(rows.N),
	}
	if rows.Wide {
		head.wide = 1
	}
	to := row[regionHeadSize:]
	for _, part := range [][]byte{memory(rows.First), memory(rows.Weight), memory(cols.First), memory(cols.Weight), data} {
		to = to[copy(to, part):]
	}
	return nil
}

// write decodes and resizes a picture on the host.
func (k *packRegion) write(s *datum.Sample, row []byte, region image.Rectangle, plan imaging.Plan) error {
	*headOf(row) = regionHead{what: rowPixels, index: s.Index()}
	return k.onHost(s, row[regionHeadSize:][:k.size()], region, plan)
}

// taken returns how much of the device's scratch a picture takes. Regions are read by whole rows of the
// picture, so behind the last row there is memory for one more.
func taken(h, w, c int) int { return ((h+1)*w*c + 255) &^ 255 }

// weightBytes returns the bytes of the weights of a resize to h×w.
func weightBytes(h, w, cols, rows int) int { return 4 * (w*(1+rows) + h*(1+cols)) }

// memory returns the bytes of numbers of 4 bytes.
func memory[T int32 | float32](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), 4*len(s))
}

// resizeEach is the part of DeviceDecodeResize that works on batches.
type resizeEach struct {
	cropper
	decoder JPEGDecoder
	format  accel.JPEGFormat
	scratch int

	batch   []accel.JPEG
	rows    []int  // of the files in batch
	pixels  int    // bytes of scratch that batch takes
	weights int    // bytes of weights
	host    []byte // a result that the host made
}

func (k *resizeEach) Run(c *streams.Context, in, out []batchop.Tensor) error {
	q := queue(c)
	k.reset()
	for i := range in[0].Mask {
		row, dst := k.at(in, i), k.result(out, i)
		head := headOf(row)
		var err error
		switch head.what {
		case rowEmpty:
			err = q.Fill(dst, 0)
		case rowPixels:
			err = q.Copy(dst, row[regionHeadSize:][:len(dst)])
		default:
			if k.pixels+taken(int(head.h), int(head.w), k.c) > k.scratch {
				err = k.flush(q, in, out)
			}
			k.add(row, head, i)
		}
		if err != nil {
			return err
		}
	}
	return k.flush(q, in, out)
}

// at returns row i of the files, and result that of the results.
func (k *resizeEach) at(in []batchop.Tensor, i int) []byte { return in[0].Data[i*k.row():][:k.row()] }

func (k *resizeEach) result(out []batchop.Tensor, i int) []byte {
	return out[0].Data[i*k.size():][:k.size()]
}

func (k *resizeEach) reset() {
	clear(k.batch)
	k.batch, k.rows, k.pixels, k.weights = k.batch[:0], k.rows[:0], 0, 0
}

// add appends a file to the part of the batch that is decoded next.
func (k *resizeEach) add(row []byte, head *regionHead, i int) {
	weights := k.weightsOf(head)
	k.batch = append(k.batch, accel.JPEG{File: row[regionHeadSize+weights:][:head.what], H: int(head.h), W: int(head.w)})
	k.rows = append(k.rows, i)
	k.pixels += taken(int(head.h), int(head.w), k.c)
	k.weights += weights
}

func (k *resizeEach) weightsOf(head *regionHead) int {
	return weightBytes(k.h, k.w, int(head.cols), int(head.rows))
}

// flush decodes and resizes the files of one part.
func (k *resizeEach) flush(q accel.Queue, in, out []batchop.Tensor) (err error) {
	defer k.reset()
	if len(k.batch) == 0 {
		return nil
	}
	mem, err := q.Alloc(k.pixels + k.weights)
	if err != nil {
		return err
	}
	defer func() {
		if freed := q.Free(mem); err == nil {
			err = freed
		}
	}()
	pixels, weights := mem[:k.pixels], mem[k.pixels:]
	for i := range k.batch {
		p := &k.batch[i]
		n := taken(p.H, p.W, k.c)
		p.Pixels, pixels = pixels[:n], pixels[n:]
	}
	if err := k.decoder.Decode(q, k.format, k.batch); err != nil {
		return err
	}
	for i := range k.batch {
		row, dst, p := k.at(in, k.rows[i]), k.result(out, k.rows[i]), &k.batch[i]
		head := headOf(row)
		n := k.weightsOf(head)
		switch {
		case p.Err == nil:
			err = k.resizeRow(q, dst, row, p, weights[:n])
		default:
			if host := k.again(q, dst, head, p); host != nil {
				err = &DeviceDecodeError{Op: deviceDecodeResize, Index: head.index, Row: k.rows[i], Device: p.Err, Host: host}
			}
		}
		if err != nil {
			return err
		}
		weights = weights[n:]
	}
	return nil
}

// resizeRow resizes a picture that was decoded.
func (k *resizeEach) resizeRow(q accel.Queue, dst, row []byte, p *accel.JPEG, weights []byte) error {
	head := headOf(row)
	if err := q.Copy(weights, row[regionHeadSize:][:len(weights)]); err != nil {
		return err
	}
	from := (int(head.y)*p.W + int(head.x)) * k.c
	return q.Resize(dst, p.Pixels[from:][:int(head.srcH)*p.W*k.c], &accel.Resize{
		N: 1, SrcH: int(head.srcH), SrcW: int(head.srcW), Pitch: p.W, H: k.h, W: k.w, C: k.c, Float32: k.to == datum.Float32,
		Rows: accel.Taps{N: int(head.rows), Wide: head.wide != 0}, Cols: accel.Taps{N: int(head.cols)}, Weights: weights,
	})
}

// again decodes on the host a file that the device's decoder refused. The copy from memory
// that is not page-locked waits until the memory can be used again.
func (k *resizeEach) again(q accel.Queue, dst []byte, head *regionHead, p *accel.JPEG) error {
	if k.host == nil {
		k.host = make([]byte, k.size())
	}
	var s datum.Sample // of no worker: the memory is the operator's
	if err := k.files.open(&s, p.File); err != nil {
		return err
	}
	region := image.Rect(int(head.x), int(head.y), int(head.x+head.srcW), int(head.y+head.srcH))
	plan, err := k.resize.Resolve(region.Dy(), region.Dx())
	if err != nil {
		return plain(err)
	}
	if err := k.onHost(&s, k.host, region, plan); err != nil {
		return err
	}
	return q.Copy(dst, k.host)
}
