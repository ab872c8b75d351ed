package readers

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"

	"github.com/planktonml/plankton/pipeline/datum"
)

// idxArray is the content of an IDX file.
//
// The format is described with the MNIST database: two zero bytes, a byte for
// the type, a byte for the number of dimensions, the dimensions as big-endian
// 32-bit numbers, and then the elements, big-endian, in row-major order.
type idxArray struct {
	dtype datum.DType
	dims  []int
	data  []byte // elements in the byte order of the machine
}

var idxTypes = map[byte]datum.DType{
	0x08: datum.Uint8, 0x09: datum.Int8, 0x0B: datum.Int16,
	0x0C: datum.Int32, 0x0D: datum.Float32, 0x0E: datum.Float64,
}

// firstBytes is how much memory is taken before any data have arrived.
const firstBytes = 1 << 20

// readIDX reads a file, plain or gzipped, of at most limit bytes of data. The file lies in
// a place or, without one, on the machine.
func readIDX(place fs.FS, path string, limit int64) (*idxArray, error) {
	f, err := openIn(place, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	a, err := decodeIDX(f, limit)
	if format := (*FormatError)(nil); errors.As(err, &format) {
		format.Path = path
	}
	return a, err
}

// decodeIDX reads all of r. Errors are FormatErrors without a path.
func decodeIDX(r io.Reader, limit int64) (*idxArray, error) {
	plain := bufio.NewReaderSize(r, 1<<16)
	r = plain
	// By content, not by name: the files travel under both.
	if magic, _ := plain.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(plain)
		if err != nil {
			return nil, &FormatError{Err: fmt.Errorf("gzip: %w", noEOF(err))}
		}
		r = z
	}
	a, size, err := decodeIDXHeader(r, limit)
	if err != nil {
		return nil, err
	}
	if err := a.readData(r, size); err != nil {
		return nil, err
	}
	a.swap()
	return a, nil
}

// decodeIDXHeader reads what comes before the data and returns the size of
// these.
func decodeIDXHeader(r io.Reader, limit int64) (a *idxArray, size int64, err error) {
	var word [4]byte
	if n, err := io.ReadFull(r, word[:]); err != nil {
		return nil, 0, &FormatError{Offset: int64(n), Err: fmt.Errorf("the header is cut off: %w", noEOF(err))}
	}
	dtype, ok := idxTypes[word[2]]
	if word[0] != 0 || word[1] != 0 || !ok {
		return nil, 0, &FormatError{Err: fmt.Errorf("not an IDX file: it begins with % x; want 00 00, a type (08, 09, 0b … 0e) and the number of dimensions", word)}
	}
	ndim := int(word[3])
	if ndim < 1 || ndim > datum.MaxDims+1 {
		return nil, 0, &FormatError{Offset: 3, Err: fmt.Errorf("%d dimensions; want 1 to %d", ndim, datum.MaxDims+1)}
	}
	a = &idxArray{dtype: dtype, dims: make([]int, ndim)}
	limit = min(limit, math.MaxInt)
	size = int64(dtype.Size())
	for i := range a.dims {
		at := int64(4 + 4*i)
		if n, err := io.ReadFull(r, word[:]); err != nil {
			return nil, 0, &FormatError{Offset: at + int64(n), Err: fmt.Errorf("the header is cut off: %w", noEOF(err))}
		}
		d := int64(binary.BigEndian.Uint32(word[:]))
		switch {
		case d == 0 && i == 0:
			return nil, 0, &FormatError{Offset: at, Err: errors.New("there are no samples: the first dimension is 0")}
		case d == 0:
			return nil, 0, &FormatError{Offset: at, Err: fmt.Errorf("dimension %d is 0", i)}
		case d > limit/size:
			return nil, 0, &FormatError{Offset: at, Err: fmt.Errorf("the dimensions announce more than the %d bytes allowed; raise MaxBytes if they are true", limit)}
		}
		a.dims[i] = int(d)
		size *= d
	}
	return a, size, nil
}

// readData reads size bytes, of which the header spoke, and the end.
func (a *idxArray) readData(r io.Reader, size int64) error {
	data := make([]byte, 0, min(size, firstBytes))
	for {
		n, err := io.ReadFull(r, data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err != nil {
			return &FormatError{Offset: a.header() + int64(len(data)),
				Err: fmt.Errorf("the data are cut off: %d of %d bytes: %w", len(data), size, noEOF(err))}
		}
		if int64(len(data)) == size {
			break
		}
		data = append(make([]byte, 0, min(size, 2*int64(cap(data)))), data...)
	}
	a.data = data
	// The end of a gzip stream is where its checksum is compared.
	var more [1]byte
	switch n, err := io.ReadFull(r, more[:]); {
	case n > 0:
		return &FormatError{Offset: a.header() + size, Err: fmt.Errorf("there are more data than the %d bytes that the header announces", size)}
	case err != io.EOF:
		return &FormatError{Offset: a.header() + size, Err: fmt.Errorf("after the data: %w", err)}
	}
	return nil
}

// swap turns the elements into the byte order of the machine.
func (a *idxArray) swap() {
	switch d := a.data; a.dtype.Size() {
	case 2:
		for i := 0; i < len(d); i += 2 {
			binary.NativeEndian.PutUint16(d[i:], binary.BigEndian.Uint16(d[i:]))
		}
	case 4:
		for i := 0; i < len(d); i += 4 {
			binary.NativeEndian.PutUint32(d[i:], binary.BigEndian.Uint32(d[i:]))
		}
	case 8:
		for i := 0; i < len(d); i += 8 {
			binary.NativeEndian.PutUint64(d[i:], binary.BigEndian.Uint64(d[i:]))
		}
	}
}

// header returns the size of the header.
func (a *idxArray) header() int64 { return int64(4 + 4*len(a.dims)) }

// offset returns the place of an element in the file.
func (a *idxArray) offset(i int) int64 { return a.header() + int64(i*a.dtype.Size()) }

// whole returns an element of a type of whole numbers.
func (a *idxArray) whole(i int) int64 {
	e := a.data[i*a.dtype.Size():]
	switch a.dtype {
	case datum.Uint8:
		return int64(e[0])
	case datum.Int8:
		return int64(int8(e[0]))
	case datum.Int16:
		return int64(int16(binary.NativeEndian.Uint16(e)))
	default:
		return int64(int32(binary.NativeEndian.Uint32(e)))
	}
}

// sampleSpec describes a sample; layout is for three dimensions.
func (a *idxArray) sampleSpec(layout datum.Layout) (datum.Spec, error) {
	spec := datum.Spec{DType: a.dtype, Shape: a.dims[1:]}
	switch {
	case layout != "" && (len(spec.Shape) != 3 || len(layout) != 3):
		return spec, fmt.Errorf("Layout %q is given for samples with %d dimensions; it names three", layout, len(spec.Shape))
	case len(spec.Shape) == 2:
		spec.Shape = []int{a.dims[1], a.dims[2], 1}
		spec.Layout = datum.HWC
	default:
		spec.Layout = layout
	}
	return spec, nil
}

// hash adds type, dimensions and elements.
func (a *idxArray) hash(h hash.Hash) {
	fmt.Fprint(h, a.dtype, a.dims, " ")
	h.Write(a.data)
}

// noEOF makes the end of a file where none should be io.ErrUnexpectedEOF.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
