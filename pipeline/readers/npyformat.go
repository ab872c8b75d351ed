package readers

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/planktonml/plankton/pipeline/datum"
)

// npyHeader is what a .npy file says of its array (NumPy, "NEP 1: A simple file format for
// NumPy arrays").
type npyHeader struct {
	dtype datum.DType
	swap  bool // elements are in the byte order that the machine does not have
	shape []int
	size  int64 // of the header, from the first byte of the file
}

const npyMagic = "\x93NUMPY"

// npyPrefix is the longest beginning of a file that says how long the header is.
const npyPrefix = 12

// mostNPYHeader is more than the header of any array of numbers has.
const mostNPYHeader = 1 << 16

// npyHeaderSize returns how long the header is, whose beginning is given.
func npyHeaderSize(start []byte) (int64, error) {
	if len(start) < 10 || string(start[:6]) != npyMagic {
		return 0, fmt.Errorf("no .npy file: it begins with %q; want %q", start[:min(6, len(start))], npyMagic)
	}
	n, from := int64(binary.LittleEndian.Uint16(start[8:])), int64(10)
	switch start[6] {
	case 1:
	case 2, 3:
		if len(start) < npyPrefix {
			return 0, errors.New("the header is cut off; copy or write the file again")
		}
		n, from = int64(binary.LittleEndian.Uint32(start[8:])), npyPrefix
	default:
		return 0, fmt.Errorf("the format has version %d; versions 1 to 3 are known", start[6])
	}
	if n > mostNPYHeader {
		return 0, fmt.Errorf("the header has %d bytes; that of an array of numbers has less than %d", n, mostNPYHeader)
	}
	return from + n, nil
}

// parseNPYHeader reads the whole header of an array whose first dimension counts samples.
func parseNPYHeader(head []byte) (npyHeader, error) {
	h, order, err := readNPYHeader(head)
	if err != nil {
		return h, err
	}
	return h, h.check(order)
}

// readNPYHeader reads a whole header: a literal of Python, such as
// {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 28, 28), }.
func readNPYHeader(head []byte) (h npyHeader, order string, err error) {
	if h.size, err = npyHeaderSize(head); err != nil {
		return h, "", err
	}
	if int64(len(head)) < h.size {
		return h, "", errors.New("the header is cut off; copy or write the file again")
	}
	from := 10
	if head[6] > 1 {
		from = npyPrefix
	}
	text := strings.TrimSpace(string(head[from:h.size]))
	if len(text) < 2 || text[0] != '{' || text[len(text)-1] != '}' {
		return h, "", errors.New("the header is damaged: it is no dictionary of Python")
	}
	descr, ok := npyValue(text, "descr")
	if !ok {
		return h, "", errors.New("the header is damaged: it has no descr")
	}
	if err := h.setType(descr); err != nil {
		return h, "", err
	}
	shape, ok := npyValue(text, "shape")
	if !ok || len(shape) < 2 || shape[0] != '(' {
		return h, "", errors.New("the header is damaged: it has no shape")
	}
	for _, word := range strings.Split(strings.Trim(shape, "()"), ",") {
		word = strings.TrimSuffix(strings.TrimSpace(word), "L")
		if word == "" {
			continue
		}
		d, err := strconv.Atoi(word)
		if err != nil || d < 0 {
			return h, "", fmt.Errorf("the header is damaged: the shape is %s", brief([]byte(shape)))
		}
		h.shape = append(h.shape, d)
	}
	order, _ = npyValue(text, "fortran_order")
	return h, order, nil
}

// npyValue returns the text of a value of the dictionary.
func npyValue(text, name string) (string, bool) {
	i := strings.Index(text, "'"+name+"'")
	if i < 0 {
		return "", false
	}
	rest := strings.TrimSpace(text[i+len(name)+2:])
	if !strings.HasPrefix(rest, ":") {
		return "", false
	}
	rest = strings.TrimSpace(rest[1:])
	end := strings.IndexByte(rest, ',')
	if strings.HasPrefix(rest, "(") {
		end = strings.IndexByte(rest, ')') + 1
	}
	if end <= 0 {
		end = len(rest) - 1 // before the brace
	}
	return strings.TrimSpace(rest[:end]), true
}

var npyTypes = map[string]datum.DType{
	"b1": datum.Bool, "u1": datum.Uint8, "i1": datum.Int8, "u2": datum.Uint16, "i2": datum.Int16, "u4": datum.Uint32, "i4": datum.Int32,
	"u8": datum.Uint64, "i8": datum.Int64, "f2": datum.Float16, "f4": datum.Float32, "f8": datum.Float64,
}

// setType sets the type of the elements by its name, such as '<f4'.
func (h *npyHeader) setType(descr string) error {
	name := strings.Trim(descr, "'\"")
	if len(name) < 2 || descr[0] == '[' {
		return fmt.Errorf("the array has elements of type %s; arrays of numbers can be read: save each part alone", brief([]byte(descr)))
	}
	dt, ok := npyTypes[name[1:]]
	if !ok || !strings.ContainsRune("<>|=", rune(name[0])) {
		return fmt.Errorf("the array has elements of type %s; want whole numbers, floats of at most 8 bytes, or bools: save it as one of them, by astype", brief([]byte(descr)))
	}
	h.dtype = dt
	little := binary.NativeEndian.Uint16([]byte{1, 0}) == 1
	h.swap = dt.Size() > 1 && (name[0] == '<' && !little || name[0] == '>' && little)
	return nil
}

// check refuses what cannot be read sample by sample.
func (h *npyHeader) check(order string) error {
	switch {
	case len(h.shape) == 0:
		return errors.New("the array has no dimensions; the first one counts the samples")
	case len(h.shape)-1 > datum.MaxDims:
		return fmt.Errorf("a sample has %d dimensions; at most %d are possible", len(h.shape)-1, datum.MaxDims)
	case order == "True" && len(h.shape) > 1:
		return errors.New("the array is in Fortran's order, in which a sample does not lie together; save it by numpy.save(file, numpy.ascontiguousarray(array))")
	}
	for i, d := range h.shape {
		if d == 0 {
			return fmt.Errorf("dimension %d of the array is 0", i)
		}
	}
	sample := npyHeader{dtype: h.dtype, shape: h.shape[1:]}
	if err := sample.fits(); err != nil {
		return err
	}
	if int64(h.shape[0]) > math.MaxInt64/max(1, sample.bytes()) {
		return errNPYShape
	}
	return nil
}

var errNPYShape = errors.New("the header is damaged: the shape has more elements than there can be")

// fits refuses an array that is larger than a sample can be.
func (h *npyHeader) fits() error {
	n := int64(h.dtype.Size())
	for _, d := range h.shape {
		if d > 0 && n > math.MaxInt64/int64(d) {
			return errNPYShape
		}
		n *= int64(d)
	}
	if n > maxFileBytes {
		return fmt.Errorf("a sample has %d bytes; it can have %d", n, maxFileBytes)
	}
	return nil
}

// row returns the bytes of a sample.
func (h *npyHeader) row() int64 { return h.bytes() / int64(h.shape[0]) }

// bytes returns the bytes of the array.
func (h *npyHeader) bytes() int64 {
	n := int64(h.dtype.Size())
	for _, d := range h.shape {
		n *= int64(d)
	}
	return n
}

// swapBytes reverses the bytes of every element.
func swapBytes(mem []byte, size int) {
	for ; len(mem) >= size; mem = mem[size:] {
		for i := range size / 2 {
			mem[i], mem[size-1-i] = mem[size-1-i], mem[i]
		}
	}
}
