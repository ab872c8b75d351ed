package ops

import (
	"bytes"
	"encoding/binary"
	"image"

	"github.com/planktonml/plankton/internal/accel"
	"github.com/planktonml/plankton/internal/jpeg"
	"github.com/planktonml/plankton/pipeline/batchop"
	"github.com/planktonml/plankton/pipeline/datum"
	"github.com/planktonml/plankton/streams"
)

// A row of files holds what there is of one sample, 8 bytes, and its index, 8
// bytes, and then the bytes of a file or pixels. In a row that is not valid all is
// zero, which says that there is nothing.
const (
	fileHeader = 16
	rowEmpty   = 0
	rowPixels  = -1 // else the length of a file
)

func writeFileHeader(row []byte, what int, index int64) {
	binary.LittleEndian.PutUint64(row, uint64(int64(what)))
	binary.LittleEndian.PutUint64(row[8:], uint64(index))
}

func readFileHeader(row []byte) (what int, index int64) {
	return int(int64(binary.LittleEndian.Uint64(row))), int64(binary.LittleEndian.Uint64(row[8:]))
}

// pack is the part of DeviceDecodeImage that runs on the workers.
type pack struct {
	decode
	h, w, c int
}

// Run writes a row: the file if the device can be asked to decode it, else pixels.
func (k *pack) Run(s *datum.Sample, in, out []*datum.Tensor) error {
	data := in[0].Bytes()
	if err := k.open(s, data); err != nil {
		return err
	}
	if k.file.h != k.h || k.file.w != k.w {
		return &datum.ShapeError{Got: []int{k.file.h, k.file.w, k.c}, Want: []int{k.h, k.w, k.c}}
	}
	row, err := out[0].Resize(fileHeader + k.h*k.w*k.c)
	if err != nil {
		return err
	}
	body := row[fileHeader:]
	if k.file.ordinary() && len(data) <= len(body) {
		writeFileHeader(row, len(data), s.Index())
		copy(body, data)
		return nil
	}
	writeFileHeader(row, rowPixels, s.Index())
	return k.file.pixels(s, body, image.Rect(0, 0, k.w, k.h), k.o.Type)
}

// ordinary reports whether the file is of a kind that decoders beside our own agree
// on. One without an end marker is cut short, and our own says where.
func (p *picturefile) ordinary() bool {
	return p.data != nil && p.turn == 1 && (p.header.Space == jpeg.Gray || p.header.Space == jpeg.YCbCr) &&
		bytes.LastIndex(p.data, []byte("\xff\xd9")) >= 0
}

// deviceDecode is the part of DeviceDecodeImage that works on batches.
type deviceDecode struct {
	decoder JPEGDecoder
	format  accel.JPEGFormat
	h, w, c int
	files   decode // the host's decoder

	batch  []accel.JPEG
	rows   []int // of the files in batch
	pixels []byte
}

// bytes returns the size of a picture.
func (k *deviceDecode) bytes() int { return k.h * k.w * k.c }

func (k *deviceDecode) Run(c *streams.Context, in, out []batchop.Tensor) error {
	q, size := queue(c), k.bytes()
	clear(k.batch)
	k.batch, k.rows = k.batch[:0], k.rows[:0]
	for i := range in[0].Mask {
		row, dst := k.row(in[0].Data, i), out[0].Data[i*size:][:size]
		var err error
		switch what, _ := readFileHeader(row); what {
		case rowEmpty:
			err = q.Fill(dst, 0)
		case rowPixels:
			err = q.Copy(dst, row[fileHeader:])
		default:
			k.batch = append(k.batch, accel.JPEG{File: row[fileHeader:][:what], Pixels: dst, H: k.h, W: k.w})
			k.rows = append(k.rows, i)
		}
		if err != nil {
			return err
		}
	}
	if len(k.batch) == 0 {
		return nil
	}
	if err := k.decoder.Decode(q, k.format, k.batch); err != nil {
		return err
	}
	for i := range k.batch {
		p := &k.batch[i]
		if p.Err == nil {
			continue
		}
		if err := k.onHost(q, p); err != nil {
			_, index := readFileHeader(k.row(in[0].Data, k.rows[i]))
			return &DeviceDecodeError{Op: deviceDecodeImage, Index: index, Row: k.rows[i], Device: p.Err, Host: err}
		}
	}
	return nil
}

// row returns row i of the files.
func (k *deviceDecode) row(files []byte, i int) []byte {
	size := fileHeader + k.bytes()
	return files[i*size:][:size]
}

// onHost decodes a file that the device's decoder refused. The copy from memory that
// is not page-locked waits until the memory can be used again.
func (k *deviceDecode) onHost(q accel.Queue, p *accel.JPEG) error {
	if k.pixels == nil {
		k.pixels = make([]byte, k.bytes())
	}
	var s datum.Sample // of no worker: the memory is the operator's
	if err := k.files.open(&s, p.File); err != nil {
		return err
	}
	if err := k.files.file.pixels(&s, k.pixels, image.Rect(0, 0, k.w, k.h), k.files.o.Type); err != nil {
		return err
	}
	return q.Copy(p.Pixels, k.pixels)
}
