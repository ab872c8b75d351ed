package datum

import "fmt"

// DType is the type of a tensor's elements.
type DType uint8

const (
	Uint8 DType = iota + 1
	Int8
	Uint16
	Int16
	Uint32
	Int32
	Uint64
	Int64
	Float16 // IEEE 754 binary16, carried as uint16
	Float32
	Float64
	Bool // one byte, 0 or 1
)

var dtypes = [...]struct {
	name string
	size int
}{
	Uint8: {"uint8", 1}, Int8: {"int8", 1}, Uint16: {"uint16", 2}, Int16: {"int16", 2},
	Uint32: {"uint32", 4}, Int32: {"int32", 4}, Uint64: {"uint64", 8}, Int64: {"int64", 8},
	Float16: {"float16", 2}, Float32: {"float32", 4}, Float64: {"float64", 8}, Bool: {"bool", 1},
}

// String returns the name that NumPy and NVIDIA DALI use: "uint8", "float32".
func (t DType) String() string {
	if t.valid() {
		return dtypes[t].name
	}
	return fmt.Sprintf("DType(%d)", uint8(t))
}

// Size returns the bytes of one element, 0 for what is no element type.
func (t DType) Size() int {
	if t.valid() {
		return dtypes[t].size
	}
	return 0
}

// IsFloat reports whether t is a floating-point type.
func (t DType) IsFloat() bool { return t == Float16 || t == Float32 || t == Float64 }

func (t DType) valid() bool { return t > 0 && int(t) < len(dtypes) }

// ParseDType returns the type of a name as String writes it.
func ParseDType(name string) (DType, error) {
	for t, d := range dtypes {
		if d.name == name && name != "" {
			return DType(t), nil
		}
	}
	return 0, fmt.Errorf("datum: there is no element type %q; the types are uint8 … int64, float16, float32, float64 and bool", name)
}

// Layout names the dimensions of a sample, one letter for each, the outermost first: "HWC"
// or "CHW" for pictures. Empty means that the dimensions have no names.
type Layout string

const (
	HWC Layout = "HWC" // rows of pixels, channels interleaved
	CHW Layout = "CHW" // one plane per channel
)
