package imaging

import "github.com/planktonml/plankton/pipeline/datum"

// Replace stores for each element of src, integers of type from, the entry of a table that it counts, of size bytes;
// the last entry stands for all numbers that are not below its place.
func Replace(dst, table []byte, size int, src []byte, from datum.DType) error {
	if from.Size() == 0 || from.IsFloat() || size < 1 || len(table) < size || len(dst)/size != len(src)/from.Size() {
		return badArgument("lookup_table", "%d bytes of %v and %d bytes of elements of %d bytes", len(src), from, len(dst), size)
	}
	last := uint64(len(table)/size - 1)
	switch from {
	case datum.Int8:
		replace(dst, table, size, last, datum.View[int8](src))
	case datum.Uint16:
		replace(dst, table, size, last, datum.View[uint16](src))
	case datum.Int16:
		replace(dst, table, size, last, datum.View[int16](src))
	case datum.Uint32:
		replace(dst, table, size, last, datum.View[uint32](src))
	case datum.Int32:
		replace(dst, table, size, last, datum.View[int32](src))
	case datum.Uint64:
		replace(dst, table, size, last, datum.View[uint64](src))
	case datum.Int64:
		replace(dst, table, size, last, datum.View[int64](src))
	default:
		replace(dst, table, size, last, src)
	}
	return nil
}

func replace[S number](dst, table []byte, size int, last uint64, src []S) {
	for i, v := range src {
		at := int(min(uint64(v), last)) * size // negative numbers are large ones here
		copy(dst[i*size:(i+1)*size], table[at:at+size])
	}
}
